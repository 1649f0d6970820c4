"""One position of NoGo.

A stone that takes the last liberty of any chain, its own included, is illegal here rather than a loss: the two are the same
game, since nobody need play such a stone while another move is left. Whoever is to move and has no legal move has lost. There
is no pass and no draw; a referee counts a pass or an illegal move as a loss.
"""

from __future__ import annotations

import numpy as np

from games.chains import ChainPosition
from games.protocol import NOBODY

PLANES = 4


class NoGoPosition(ChainPosition):
    """See `games.protocol.Position`; made by `NoGoRules.position`."""

    def _find_legal(self) -> int:
        """A stone needs an empty point beside it or joins a chain with another liberty, and takes no last liberty."""
        empty, player = self._empty, self.current_player
        breathing = self.grid.beside(empty)
        for _, liberties in self._chains[player]:
            if liberties & liberties - 1:
                breathing |= liberties
        fatal = 0
        for _, liberties in self._chains[3 - player]:
            if not liberties & liberties - 1:
                fatal |= liberties
        return empty & breathing & ~fatal

    def game_end(self) -> tuple[bool, int]:
        """Return (True, the player who moved last) if the side to move has no legal move, otherwise (False, NOBODY)."""
        if self.legal_points():
            return False, NOBODY
        return True, 3 - self.current_player

    def current_state(self) -> np.ndarray:
        """Return the feature planes [4, height, width] float32.

        Plane 0 holds the stones of the side to move, plane 1 those of the opponent, plane 2 the last move, and plane 3 is all
        ones if the player who began is to move, otherwise all zeros.
        """
        grid, player = self.grid, self.current_player
        planes = np.zeros((PLANES, self.height, self.width), dtype=np.float32)
        planes[0] = grid.plane(self.stones(player))
        planes[1] = grid.plane(self.stones(3 - player))
        if self.moves:
            planes[2] = grid.plane(1 << self.last_move)
        planes[3] = len(self.moves) % 2 == 0
        return planes
