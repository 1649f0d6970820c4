"""What the template draws as a board: size, stones, marks. Points are (x, y) from the lower left corner, as for engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.engine.gtp import COLUMNS
from arena.rules import FIVE, Action

if TYPE_CHECKING:  # games/ is not in the kit of a lab whose students write rules
    from games.protocol import Position

DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
BLACK, WHITE = "b", "w"


@dataclass(frozen=True)
class Stone:
    """A stone on a drawn board.

    Attributes:
        colour: BLACK or WHITE.
        number: what is written on it; 0 for nothing.
    """

    colour: str
    x: int
    y: int
    number: int = 0


@dataclass(frozen=True)
class Mark:
    """A point that the picture points out.

    Attributes:
        kind: "expected" (a ring), "played" (a cross), "heat" (a square whose strength is `share`), or "area b" and "area w" (a
            small square: the point counts for black or white).
        share: in [0, 1].
        text: a short text in the square.
    """

    kind: str
    x: int
    y: int
    share: float = 1.0
    text: str = ""


@dataclass(frozen=True)
class DrawnBoard:
    """A board with a caption; `label` says in words what the picture shows, for readers who do not see it.

    Attributes:
        line: the stones that won, as points.
        has_letters: whether columns have letters and rows count from 1, as in Go.
        commands: programs that go on from this position.
    """

    width: int
    height: int
    stones: tuple[Stone, ...] = ()
    marks: tuple[Mark, ...] = ()
    line: tuple[Action, ...] = ()
    caption: str = ""
    label: str = ""
    has_letters: bool = False
    commands: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns from the left."""
        return [COLUMNS[x] if self.has_letters else str(x) for x in range(self.width)]

    @property
    def rows(self) -> list[str]:
        """The names of the rows from the bottom."""
        return [str(y + self.has_letters) for y in range(self.height)]

    @property
    def stars(self) -> list[Action]:
        """The points that are marked with a dot: the middle, and on large boards four more."""
        if self.width < 9 or self.height < 9:
            return []
        middle = [(self.width // 2, self.height // 2)] if self.width % 2 and self.height % 2 else []
        return [(x, y) for x in (3, self.width - 4) for y in (3, self.height - 4)] + middle


def point_of(move: int, width: int) -> Action:
    """Return the point (x, y) of a move of `Board`, which counts h * width + w."""
    return move % width, move // width


def winning_line(stones: dict[Action, str], last: Action, n_in_row: int = FIVE) -> tuple[Action, ...]:
    """Return the unbroken row of at least `n_in_row` stones through the last one, or nothing."""
    for dx, dy in DIRECTIONS:
        row = [last]
        for sign in (1, -1):
            x, y = last[0] + sign * dx, last[1] + sign * dy
            while stones.get((x, y)) == stones[last]:
                row.append((x, y))
                x, y = x + sign * dx, y + sign * dy
        if len(row) >= n_in_row:
            return tuple(sorted(row))
    return ()


def drawn_position(
    position: Position, marks: tuple[Mark, ...] = (), *, caption: str = "", label: str = "", has_letters: bool = False
) -> DrawnBoard:
    """Return the picture of a position of any game; the others are as in DrawnBoard."""
    width, first = position.width, position.players[0]
    stones = (Stone(BLACK if player == first else WHITE, *point_of(at, width)) for at, player in position.states.items())
    return DrawnBoard(width, position.height, tuple(stones), marks, caption=caption, label=label, has_letters=has_letters)


def numbered_stones(moves: Sequence[int], width: int) -> tuple[Stone, ...]:
    """Return the stones of a game without a swap, black first, with the numbers of their moves."""
    found = []
    for number, move in enumerate(moves, 1):
        x, y = point_of(move, width)
        found.append(Stone(BLACK if number % 2 else WHITE, x, y, number))
    return tuple(found)
