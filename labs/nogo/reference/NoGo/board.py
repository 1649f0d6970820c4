"""The rules of NoGo (handout section 2).

Two players, 1 and 2, place stones in turn. A *chain* is a set of stones of one player that are connected along the lines of
the board. The empty points beside a chain are its *liberties*. Nobody may take the last liberty of a chain: neither that of
an opposing chain (a capture) nor that of the player's own (suicide). There is no pass, and a player who has no legal move left
has lost.

Point (row h from the bottom, column w from the left) is the number `h * width + w`.
"""

import numpy as np


class Chain:
    """The connected stones of one player (provided; you may use it or not).

    Attributes:
        player: 1 or 2.
        stones: set of points.
        liberties: set of the empty points beside the stones.
    """

    def __init__(self, player, stones, liberties):
        self.player = player
        self.stones = stones
        self.liberties = liberties

    def copy(self):
        """Return an independent chain."""
        return Chain(self.player, set(self.stones), set(self.liberties))


class Board:
    """A game of NoGo.

    Args:
        width, height: the number of columns and rows, at least 2 each.

    Attributes:
        width, height: see above.
        players: [1, 2].
        states: dict point -> player, with an entry for each stone.
        availables: list of the legal moves of the side to move, in ascending order; empty when the game is over.
        current_player: the player to move.
        last_move: the last move; -1 before the first one.
    """

    def __init__(self, width=9, height=9):
        self.width = width
        self.height = height
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        """Begin a new game; `start_player` is the index in `players` of the player who moves first."""
        self.current_player = self.players[start_player]
        self.last_move = -1
        self.states = {}
        ### BEGIN SOLUTION 2.1
        self._chains = {}  # point -> the chain of the stone there
        self.availables = self._legal_moves()
        ### END SOLUTION

    def do_move(self, move):
        """Place a stone of the side to move, and pass the turn.

        Raises:
            ValueError: the move is not legal; the board stays as it was.
        """
        ### BEGIN SOLUTION 2.1
        if move not in self.availables:
            raise ValueError(f"expected a legal move; got {move}")
        player = self.current_player
        stones, liberties = {move}, set()
        for point in self._beside(move):
            chain = self._chains.get(point)
            if chain is None:
                liberties.add(point)
            elif chain.player == player:
                stones |= chain.stones
                liberties |= chain.liberties
            else:
                chain.liberties.discard(move)
        liberties.discard(move)
        joined = Chain(player, stones, liberties)
        for point in stones:
            self._chains[point] = joined
        self.states[move] = player
        self.last_move = move
        self.current_player = 3 - player
        self.availables = self._legal_moves()
        ### END SOLUTION

    def game_end(self):
        """Return (whether the game is over, the winner); the winner is -1 while the game goes on.

        The game is over when the side to move has no legal move. That player has lost.
        """
        ### BEGIN SOLUTION 2.2
        if self.availables:
            return False, -1
        return True, 3 - self.current_player
        ### END SOLUTION

    def has_a_winner(self):
        """Return (True, player) if a player has won, otherwise (False, -1) (provided)."""
        return self.game_end()

    def get_current_player(self):
        """Return the player to move (provided)."""
        return self.current_player

    def current_state(self):
        """Return the feature planes [4, height, width], from the point of view of the side to move.

        Plane 0 holds the stones of the side to move, plane 1 those of the opponent, plane 2 the last move, and plane 3 is all
        ones if the player who began is to move, otherwise all zeros. Row 0 of a plane is the top row of the board.
        """
        planes = np.zeros((4, self.height, self.width), dtype=np.float32)
        ### BEGIN SOLUTION 2.3
        for point, player in self.states.items():
            plane = 0 if player == self.current_player else 1
            planes[plane, self.height - 1 - point // self.width, point % self.width] = 1.0
        if self.last_move != -1:
            planes[2, self.height - 1 - self.last_move // self.width, self.last_move % self.width] = 1.0
        planes[3] = len(self.states) % 2 == 0
        ### END SOLUTION
        return planes

    def copy(self):
        """Return a board that is independent of this one: moves on one do not show on the other."""
        ### BEGIN SOLUTION 2.4
        twin = Board.__new__(Board)
        twin.width, twin.height, twin.players = self.width, self.height, self.players
        twin.current_player, twin.last_move = self.current_player, self.last_move
        twin.states, twin.availables = dict(self.states), list(self.availables)
        twin._chains = {}
        for chain in self._chains.values():
            if not any(point in twin._chains for point in chain.stones):
                own = chain.copy()
                twin._chains.update((point, own) for point in own.stones)
        return twin
        ### END SOLUTION

    def _beside(self, point):
        """Return the points beside a point (provided)."""
        h, w = divmod(point, self.width)
        near = [(h - 1, w), (h + 1, w), (h, w - 1), (h, w + 1)]
        return [y * self.width + x for y, x in near if 0 <= y < self.height and 0 <= x < self.width]

    def _legal_moves(self):
        """Return the legal moves of the side to move, in ascending order."""
        ### BEGIN SOLUTION 2.1
        return [point for point in range(self.width * self.height) if point not in self.states and self._is_legal(point)]
        ### END SOLUTION

    def _is_legal(self, move):
        """Return whether a stone of the side to move on this empty point leaves every chain a liberty."""
        ### BEGIN SOLUTION 2.1
        breathes = False
        for point in self._beside(move):
            chain = self._chains.get(point)
            if chain is None:
                breathes = True
            elif chain.player == self.current_player:
                breathes = breathes or len(chain.liberties) > 1
            elif len(chain.liberties) == 1:
                return False  # a capture
        return breathes
        ### END SOLUTION
