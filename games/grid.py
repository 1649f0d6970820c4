"""A rectangular board whose sets of points are bit masks: bit m stands for point m = h * width + w."""

from __future__ import annotations

from functools import cache
from itertools import compress

import numpy as np

# Go boards leave out i, which is easily taken for l.
COLUMNS = "abcdefghjklmnopqrstuvwxyz"
STONES = {1: "X", 2: "O"}


class Grid:
    """Tables for one size. Boards of a size share them: call `grid`.

    Attributes:
        width, height: the number of columns and rows.
        points: A, the number of points.
        all: the mask of all points.
        neighbours: [A] the mask of the points beside each point.
    """

    def __init__(self, width: int, height: int) -> None:
        if not (1 <= width <= len(COLUMNS) and height >= 1):
            raise ValueError(
                f"expected a board of 1 to {len(COLUMNS)} columns and at least one row; got width {width}, height {height}"
            )
        self.width, self.height, self.points = width, height, width * height
        self.all = (1 << self.points) - 1
        self._moves = tuple(range(self.points))
        self._bytes = (self.points + 7) // 8
        first_column = sum(1 << h * width for h in range(height))
        self._not_first, self._not_last = self.all & ~first_column, self.all & ~(first_column << width - 1)
        self._names = {self.point_name(move): move for move in self._moves}
        self.neighbours = tuple(self.beside(1 << move) for move in self._moves)

    def beside(self, mask: int) -> int:
        """Return the neighbours of the points of the mask."""
        sideways = (mask & self._not_last) << 1 | (mask & self._not_first) >> 1
        return (sideways | mask << self.width | mask >> self.width) & self.all

    def reach(self, mask: int, through: int) -> int:
        """Return the points of `through` that can be reached from the mask over points of `through` only."""
        reached = 0
        border = self.beside(mask) & through
        while border:
            reached |= border
            border = self.beside(border) & through & ~reached
        return reached

    def moves(self, mask: int) -> list[int]:
        """Return the points of a mask in ascending order."""
        return list(compress(self._moves, map("1".__eq__, reversed(f"{mask:0{self.points}b}"))))

    def plane(self, mask: int) -> np.ndarray:
        """Return a mask as a picture [height, width] uint8 of ones and zeros, top row first."""
        packed = np.frombuffer(mask.to_bytes(self._bytes, "little"), dtype=np.uint8)
        return np.unpackbits(packed, count=self.points, bitorder="little").reshape(self.height, self.width)[::-1]

    def point_name(self, point: int) -> str:
        """Return a point as people write it: a letter for the column (without i) and the row from 1 at the bottom."""
        return f"{COLUMNS[point % self.width]}{point // self.width + 1}"

    def point_of(self, name: str) -> int:
        """Return the point of this name; ValueError if there is none."""
        if name.lower() in self._names:
            return self._names[name.lower()]
        raise ValueError(f"expected a point from a1 to {self.point_name(self.points - 1)}, without the column i; got {name!r}")

    def text(self, stones: dict[int, int], last_move: int) -> str:
        """Draw stones: X for player 1, O for player 2, the last move in parentheses.

        Args:
            stones: point -> player.
            last_move: a point, or a number that is none.
        """
        lines = []
        for h in reversed(range(self.height)):
            cells = []
            for w in range(self.width):
                move = h * self.width + w
                stone = STONES.get(stones.get(move, 0), ".")
                cells.append(f"({stone})" if move == last_move else f" {stone} ")
            lines.append(f"{h + 1:3} {''.join(cells)}".rstrip())
        lines.append("    " + "".join(f" {letter} " for letter in COLUMNS[: self.width]).rstrip())
        return "\n".join(lines)


@cache
def grid(width: int, height: int) -> Grid:
    """Return the tables for this size."""
    return Grid(width, height)
