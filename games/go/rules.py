"""Go of any size behind the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from Board.symmetries import Symmetries
from games.chain_batch import padded_grid
from games.go.batch import GoBatch
from games.go.position import PLANES, GoPosition
from games.grid import Grid, grid
from games.openings import random_opening
from games.symmetries import ActionSymmetries, with_pass

PASS = "pass"


@dataclass(frozen=True)
class GoRules:
    """See `games.protocol.GameRules`; `games.go.position` states the rules.

    Attributes:
        width, height: the number of columns and rows.
        komi: what white receives; a whole number allows draws.
        superko: whether positional superko is forbidden, not only a simple ko.
        move_limit: the number of actions after which a game is over; 0 for three times the number of points.
    """

    width: int = 9
    height: int = 9
    komi: float = 7.5
    superko: bool = False
    move_limit: int = 0
    name = "go"
    planes = PLANES

    def __post_init__(self) -> None:
        grid(self.width, self.height)  # refuses sizes that do not work
        if not float(self.komi * 2).is_integer():
            raise ValueError(f"expected a komi in steps of half a point; got {self.komi}")
        if self.move_limit < 0:
            raise ValueError(f"expected a move limit of at least 1, or 0 for the usual one; got {self.move_limit}")

    @property
    def grid(self) -> Grid:
        """The tables of the board."""
        return grid(self.width, self.height)

    @property
    def pass_action(self) -> int:
        """The number of the action that is a pass: the last one."""
        return self.width * self.height

    @property
    def actions(self) -> int:
        """A + 1, one action for each point and the pass."""
        return self.pass_action + 1

    @property
    def longest_game(self) -> int:
        """The move limit."""
        return self.move_limit or 3 * self.width * self.height

    @cached_property
    def symmetries(self) -> ActionSymmetries:
        """The eight symmetries of a square board, or the four of any other; a pass remains a pass."""
        return with_pass(Symmetries(self.width, self.height))

    def position(self) -> GoPosition:
        """Return a new game."""
        return GoPosition(self.grid, self.komi, self.superko, self.longest_game)

    def batch(self, games: int) -> GoBatch:
        """Return new games side by side."""
        return GoBatch(games, padded_grid(self.width, self.height), self.komi, self.superko, self.longest_game)

    def draw_opening(self, stones: int, rng: np.random.Generator) -> list[int]:
        """Draw the moves of an opening, without a pass; UsageError if there cannot be so many."""
        return random_opening(self, stones, rng, never=self.pass_action)

    def action_name(self, action: int) -> str:
        """Return `pass` or the name of a point: a1 is at the bottom left, and there is no column i."""
        return PASS if action == self.pass_action else self.grid.point_name(action)

    def action_of(self, name: str) -> int:
        """Return the action of this name, in capitals or not; ValueError if there is none."""
        return self.pass_action if name.lower() == PASS else self.grid.point_of(name)

    def text(self, position: GoPosition) -> str:
        """Draw the stones, the last one in parentheses."""
        return self.grid.text(position.states, position.last_move)
