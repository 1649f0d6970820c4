"""Many games of NoGo side by side; the rules and the feature planes are those of `games.nogo.position`."""

from __future__ import annotations

import numpy as np

from games.chain_batch import ChainBatch, PaddedGrid
from games.nogo.position import PLANES


class NoGoBatch(ChainBatch):
    """See `games.protocol.PositionBatch`; made by `NoGoRules.batch`."""

    def __init__(self, games: int, grid: PaddedGrid) -> None:
        super().__init__(games, grid)
        self.restart(slice(None))

    def restart(self, games: slice | np.ndarray) -> None:
        """See PositionBatch."""
        super().restart(games)
        if self.grid.points == 1:
            self._close()  # no move is legal

    def _legal_cells(self, side: np.ndarray) -> np.ndarray:
        """A stone needs an empty point beside it or joins a chain with another liberty, and takes no last liberty."""
        stones, in_atari = self.stones, self.in_atari()
        empty = stones == 0
        breathing = self.grid.any_beside(empty | (stones == side[:, None]) & ~in_atari)
        fatal = self.grid.any_beside((stones == 3 - side[:, None]) & in_atari)
        return empty & breathing & ~fatal

    def _close(self) -> None:
        self.over[:] = ~self.legal.any(axis=1)
        self.winner[self.over] = 3 - self.side_to_move[self.over]

    def feature_planes(self) -> np.ndarray:
        """Return `NoGoPosition.current_state` of each game, [G, 4, H, W] float32."""
        grid, side = self.grid, self.side_to_move[:, None]
        planes = np.empty((len(self), PLANES, grid.height, grid.width), dtype=np.float32)
        planes[:, 0] = self._top_row_first(self.stones == side)
        planes[:, 1] = self._top_row_first(self.stones == 3 - side)
        planes[:, 2] = self._top_row_first(self._last_move_cells())
        planes[:, 3] = (self.length % 2 == 0)[:, None, None]
        return planes
