"""NoGo of any size behind the protocol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from games.chain_batch import padded_grid
from games.grid import grid
from games.nogo.batch import NoGoBatch
from games.nogo.position import PLANES, NoGoPosition
from games.openings import random_opening
from games.placing import PlacingRules


@dataclass(frozen=True)
class NoGoRules(PlacingRules):
    """See `games.protocol.GameRules`.

    Attributes:
        width, height: the number of columns and rows.
    """

    width: int = 9
    height: int = 9
    name = "nogo"
    planes = PLANES

    def __post_init__(self) -> None:
        grid(self.width, self.height)  # refuses sizes that do not work

    def position(self) -> NoGoPosition:
        """Return a new game."""
        return NoGoPosition(self.grid)

    def batch(self, games: int) -> NoGoBatch:
        """Return new games side by side."""
        return NoGoBatch(games, padded_grid(self.width, self.height))

    def draw_opening(self, stones: int, rng: np.random.Generator) -> list[int]:
        """Draw the moves of an opening; UsageError if there cannot be so many."""
        return random_opening(self, stones, rng)
