"""The walks of one playout through the trees of many games."""

from __future__ import annotations

import numpy as np


class Paths:
    """The paths from the roots to the ends of one playout in K trees.

    Attributes:
        depth: the number of moves in the longest path so far.
        lengths: [K] the number of moves in each path.
        last_rows, last_moves: [K] the last edge of each path, given by the row that it leaves and its move.
        ends: [K] the row of the node at the end of each path, filled in by `Trees.expand`.
    """

    ends: np.ndarray

    def __init__(self, count: int) -> None:
        self.depth = 0
        self.lengths = np.zeros(count, dtype=np.int64)
        self.last_rows = np.zeros(count, dtype=np.int64)
        self.last_moves = np.zeros(count, dtype=np.int64)
        self._steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def extend(self, walking: np.ndarray, rows: np.ndarray, moves: np.ndarray) -> None:
        """Extend the paths `walking` [W] from `rows` [W] by `moves` [W]."""
        self._steps.append((walking, rows, moves))
        self.depth += 1
        self.lengths[walking] += 1
        self.last_rows[walking] = rows
        self.last_moves[walking] = moves

    def lines(self) -> np.ndarray:
        """Return the moves of each path, [K, depth], padded with zeros to the length of the longest path."""
        lines = np.zeros((len(self.lengths), self.depth), dtype=np.int64)
        for depth, (walking, _, moves) in enumerate(self._steps):
            lines[walking, depth] = moves
        return lines

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return all E edges of all paths as four arrays [E]: number of the path, moves from the root, row, move."""
        path, rows, moves = (np.concatenate(parts) for parts in zip(*self._steps, strict=True))
        return path, np.repeat(np.arange(self.depth), [len(step[0]) for step in self._steps]), rows, moves
