"""One object for each chain; a board's `owner` maps a stone to its chain."""


class Group:
    def __init__(self, colour, stones, breath):
        self.colour, self.stones, self.breath = colour, stones, breath

    def clone(self):
        return Group(self.colour, list(self.stones), set(self.breath))

    def swallow(self, other):
        self.stones.extend(other.stones)
        self.breath.update(other.breath)
