"""One position of stones that live by their liberties: what NoGo and Go have in common.

A chain is a pair of masks, its stones and its liberties. Each player's chains are a list; `do_move` merges the chains beside
the new stone, which are those that have its point among their liberties. All masks are Python integers, so a position is
copied in about a microsecond at any size.
"""

from __future__ import annotations

from typing import Any, Self

from Board.rules import Board, as_integer
from games.grid import Grid
from games.protocol import NO_MOVE

Chain = tuple[int, int]
"""(stones, liberties)"""


class ChainPosition:
    """The stones, and the methods that students' players know. A game adds `_find_legal`, `_after_stone` and its end.

    Args:
        grid: the tables of the board.

    Attributes:
        width, height, players, states, current_player, last_move: see `games.protocol.Position`.
        moves: all actions so far.
    """

    SWAP = Board.SWAP  # the course's game loop compares every action with it; no action of these games is equal to it

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.width, self.height = grid.width, grid.height
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player: int = 0) -> None:
        """See `games.protocol.Position`."""
        if start_player not in (0, 1):
            raise ValueError(f"expected start_player 0 or 1; got {start_player!r}")
        self.current_player = self.first_player = self.players[start_player]
        self.last_move = NO_MOVE
        self.moves: list[int] = []
        self.states: dict[int, int] = {}
        self._chains: dict[int, list[Chain]] = {player: [] for player in self.players}
        self._empty = self.grid.all
        self._legal: int | None = None
        self._listed: list[int] | None = None

    @property
    def availables(self) -> list[int]:
        """The legal actions as a list, in ascending order; empty when the game is over."""
        if self._listed is None:
            self._listed = self._list_actions()
        return self._listed

    def _list_actions(self) -> list[int]:
        return self.grid.moves(self.legal_points())

    def legal_points(self) -> int:
        """Return the mask of the points where the side to move may play."""
        if self._legal is None:
            self._legal = self._find_legal()
        return self._legal

    def _find_legal(self) -> int:
        raise NotImplementedError

    def _after_stone(self, move: int, captured: int) -> None:
        """Note what a game keeps besides the stones; `captured` is the mask of the stones that were taken off."""

    def do_move(self, move: Any) -> None:
        """See `games.protocol.Position`."""
        self._play(as_integer(move))

    def _play(self, move: int) -> None:
        points = self.grid.points
        if not (0 <= move < points and self.legal_points() >> move & 1):
            if not 0 <= move < points:
                what = f"is not among 0..{points - 1}"
            else:
                what = "is taken" if move in self.states else "is not legal here"
            raise ValueError(f"expected a legal move; got move {move}, which {what}")
        captured = self._place(move)
        self._after_stone(move, captured)
        self._pass_turn(move)

    def play(self, action: Any) -> None:
        """Play an action; the course's game loop calls this."""
        self.do_move(action)

    def _place(self, move: int) -> int:
        """Put a stone of the side to move on an empty point; return the mask of the stones that it captures."""
        player = self.current_player
        bit = 1 << move
        self.states[move] = player
        self._empty &= ~bit
        stones, liberties = bit, self.grid.neighbours[move] & self._empty
        own = []
        for chain in self._chains[player]:
            if chain[1] & bit:
                stones |= chain[0]
                liberties |= chain[1]
            else:
                own.append(chain)
        own.append((stones, liberties & ~bit))  # the new stone's chain is the last one
        self._chains[player] = own
        captured = 0
        others = []
        for other in self._chains[3 - player]:
            if other[1] == bit:
                captured |= other[0]
            else:
                others.append((other[0], other[1] & ~bit))
        self._chains[3 - player] = others
        if captured:
            self._take_off(captured, player)
        return captured

    def captured_by(self, move: int) -> int:
        """Return the mask of the stones that lose their last liberty to a stone of the side to move on an empty point."""
        captured = 0
        for stones, liberties in self._chains[3 - self.current_player]:
            if liberties == 1 << move:
                captured |= stones
        return captured

    def _take_off(self, captured: int, player: int) -> None:
        """Empty the captured points, which become liberties of the chains of `player` beside them."""
        for point in self.grid.moves(captured):
            del self.states[point]
        self._empty |= captured
        beside = self.grid.beside
        self._chains[player] = [(stones, liberties | beside(stones) & captured) for stones, liberties in self._chains[player]]

    def _pass_turn(self, action: int) -> None:
        self.moves.append(action)
        self.last_move = action
        self.current_player = 3 - self.current_player
        self._legal = self._listed = None

    def stones(self, player: int) -> int:
        """Return the mask of a player's stones."""
        result = 0
        for stones, _ in self._chains[player]:
            result |= stones
        return result

    def game_end(self) -> tuple[bool, int]:
        """See `games.protocol.Position`."""
        raise NotImplementedError

    def has_a_winner(self) -> tuple[bool, int]:
        """See `games.protocol.Position`."""
        over, winner = self.game_end()
        return over and winner in self.players, winner

    def get_current_player(self) -> int:
        """Return the player to move."""
        return self.current_player

    def copy(self) -> Self:
        """Return an independent position."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update(self.__dict__)
        twin.players = self.players[:]
        twin.moves = self.moves[:]
        twin.states = self.states.copy()
        twin._chains = self._chains.copy()  # the lists in it are replaced, never changed
        twin._listed = None if self._listed is None else self._listed[:]
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()
