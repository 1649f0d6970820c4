"""A chain of stones, with its liberties counted as it grows."""


class Group:
    def __init__(self, player, stones, liberties):
        self.player = player
        self.stones = set(stones)
        self.liberties = set(liberties)
