"""What the rules of games share in which every action places a stone on an empty point of a rectangular board."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from Board.symmetries import Symmetries
from games.grid import Grid, grid


class Stones(Protocol):
    """The parts of a position that are drawn: move -> player, and the last move."""

    @property
    def states(self) -> dict[int, int]: ...

    @property
    def last_move(self) -> int: ...


class PlacingRules:
    """The part of `games.protocol.GameRules` that follows from the size of the board."""

    width: int
    height: int

    @property
    def grid(self) -> Grid:
        """The tables of the board."""
        return grid(self.width, self.height)

    @property
    def actions(self) -> int:
        """A, one action for each point."""
        return self.width * self.height

    @property
    def longest_game(self) -> int:
        """Every action fills a point."""
        return self.actions

    @cached_property
    def symmetries(self) -> Symmetries:
        """The eight symmetries of a square board, or the four of any other."""
        return Symmetries(self.width, self.height)

    def action_name(self, action: int) -> str:
        """Return the name of a point: a1 is at the bottom left, and there is no column i."""
        return self.grid.point_name(action)

    def action_of(self, name: str) -> int:
        """Return the point of this name; ValueError if there is none."""
        return self.grid.point_of(name)

    def text(self, position: Stones) -> str:
        """Draw the stones, the last one in parentheses."""
        return self.grid.text(position.states, position.last_move)
