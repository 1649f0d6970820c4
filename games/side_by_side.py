"""What games that are kept side by side as arrays share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from games.protocol import NO_MOVE


class SideBySide:
    """G games in which the players move in turn, player 1 first. FIELDS names the arrays with a row for each game.

    Attributes:
        length: [G] the number of actions so far.
    """

    FIELDS: ClassVar[tuple[str, ...]]
    length: np.ndarray

    @property
    def pass_action(self) -> int:
        """The action that is a pass; NO_MOVE, as most games have none."""
        return NO_MOVE

    def __len__(self) -> int:
        return len(self.length)

    @property
    def side_to_move(self) -> np.ndarray:
        """The player to move in each game, [G] int8, 1 or 2."""
        return (1 + self.length % 2).astype(np.int8)

    def put(self, games: Any, others: Self) -> None:
        """See PositionBatch."""
        for name in self.FIELDS:
            getattr(self, name)[games] = getattr(others, name)
