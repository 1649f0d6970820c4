"""Gomoku of any size behind the protocol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from Board.game_board import Board
from common.errors import UsageError
from games.gomoku.batch import PLANES, GomokuBatch
from games.placing import PlacingRules

OPENING_REACH = 2  # largest distance of opening stones from the middle point, in rows and in columns


@dataclass(frozen=True)
class GomokuRules(PlacingRules):
    """See `games.protocol.GameRules`.

    Attributes:
        width, height: the number of columns and rows.
        n_in_row: how many stones in a row win.
    """

    width: int = 11
    height: int = 11
    n_in_row: int = 5
    name = "gomoku"
    planes = PLANES

    def __post_init__(self) -> None:
        Board(self.width, self.height, self.n_in_row).init_board()  # refuses sizes that do not work

    def position(self) -> Board:
        """Return a new game."""
        return Board(self.width, self.height, self.n_in_row)

    def batch(self, games: int) -> GomokuBatch:
        """Return new games side by side."""
        return GomokuBatch(games, self.width, self.height, self.n_in_row)

    def draw_opening(self, stones: int, rng: np.random.Generator) -> list[int]:
        """Draw the moves of an opening, near the middle of the board.

        Raises:
            UsageError: there are too few points near the middle, or so many stones could already form a row.
        """
        width, height, n_in_row = self.width, self.height, self.n_in_row
        h, w = np.divmod(np.arange(width * height), width)
        near = np.flatnonzero((abs(h - height // 2) <= OPENING_REACH) & (abs(w - width // 2) <= OPENING_REACH))
        most = min(2 * n_in_row - 2, len(near) - 1)
        if not 0 <= stones <= most:
            raise UsageError(
                f"expected openings of 0 to {most} stones on {width}x{height} with {n_in_row} in a row; got {stones}"
            )
        return [int(point) for point in rng.choice(near, size=stones, replace=False)]
