"""Positions with few empty points, searched to the end of the game: their result is exact, and so is a better move."""

from __future__ import annotations

from arena.rules import Action
from arena.view.opinions import PROVEN, Opinion, in_turn
from Board.game_board import Board

MOST_EMPTY = 9
"""All of tic-tac-toe, and the end of a game on a larger board: about 6000 positions at most."""
WON, DRAWN, LOST = 1, 0, -1


class EveryReply:
    """Judges positions of one board; what was searched once is remembered.

    Args:
        width, height, n_in_row: the board.
    """

    def __init__(self, width: int, height: int, n_in_row: int) -> None:
        self._empty = Board(width=width, height=height, n_in_row=n_in_row)
        self._results: dict[frozenset[tuple[int, int]], int] = {}

    def opinion(self, own: list[Action], other: list[Action]) -> Opinion | None:
        """Return the best move and whether it wins or loses by force; None if too many points are empty.

        Args:
            own: the stones of the side to move.
            other: the stones of its opponent, as many as `own` or one more.
        """
        board = self._empty.copy()
        for x, y in in_turn(own, other)[1]:
            board.do_move(y * board.width + x)
        if not 0 < len(board.availables) <= MOST_EMPTY or board.game_end()[0]:
            return None
        result, move = max((-self._result(_after(board, move)), -move) for move in board.availables)
        y, x = divmod(-move, board.width)
        return Opinion((x, y), result * (PROVEN + 1))

    def _result(self, board: Board) -> int:
        """Return the result with best play, for the side to move."""
        ended, winner = board.game_end()
        if ended:
            return DRAWN if winner == -1 else LOST  # only the side that has just moved can have completed a row
        key = frozenset(board.states.items())
        if key not in self._results:
            result = LOST
            for move in board.availables:
                result = max(result, -self._result(_after(board, move)))
                if result == WON:
                    break
            self._results[key] = result
        return self._results[key]


def _after(board: Board, move: int) -> Board:
    after = board.copy()
    after.do_move(move)
    return after
