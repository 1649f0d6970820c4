"""The walks of one playout through the trees of many games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ways:
    """How M new nodes are reached.

    Attributes:
        parents: [M] the row of the node above each one.
        moves: [M] the move that leads from there to the new node.
        lines: [M, depth] all moves from the root, padded with zeros.
        lengths: [M] the number of these moves.
    """

    parents: np.ndarray
    moves: np.ndarray
    lines: np.ndarray
    lengths: np.ndarray

    @classmethod
    def joined(cls, ways: Sequence[Ways]) -> Ways:
        """Return the ways one after another."""
        if len(ways) == 1:
            return ways[0]
        depth = max(each.lines.shape[1] for each in ways)
        lines = [np.pad(each.lines, ((0, 0), (0, depth - each.lines.shape[1]))) for each in ways]
        parents, moves, lengths = (
            np.concatenate([getattr(each, name) for each in ways]) for name in ("parents", "moves", "lengths")
        )
        return cls(parents, moves, np.concatenate(lines), lengths)


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

    def ways(self, which: np.ndarray) -> Ways:
        """Return the ways to the ends of these M paths."""
        lines = np.zeros((len(self.lengths), self.depth), dtype=np.int64)
        for depth, (walking, _, moves) in enumerate(self._steps):
            lines[walking, depth] = moves
        return Ways(self.last_rows[which], self.last_moves[which], lines[which], self.lengths[which])

    def only(self, kept: np.ndarray) -> Paths:
        """Return the paths for which `kept` [K] holds, in the same order."""
        numbers = np.cumsum(kept) - 1
        paths = Paths(int(kept.sum()))
        for name in ("lengths", "last_rows", "last_moves", "ends"):
            setattr(paths, name, getattr(self, name)[kept])
        paths.depth = int(paths.lengths.max(initial=0))
        for walking, rows, moves in self._steps[: paths.depth]:
            on = kept[walking]
            paths._steps.append((numbers[walking[on]], rows[on], moves[on]))
        return paths

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return all E edges of all paths as four arrays [E]: number of the path, moves from the root, row, move."""
        path, rows, moves = (np.concatenate(parts) for parts in zip(*self._steps, strict=True))
        return path, np.repeat(np.arange(self.depth), [len(step[0]) for step in self._steps]), rows, moves
