"""Many positions of stones that live by their liberties, as arrays: what the batched forms of NoGo and Go have in common.

G is the number of games. A board lies in a row of N cells with a border around it: cell (h + 1) * S + w with S = width + 1,
where the cell after a row's last point borders this row and the next one. The neighbours of a cell are therefore always at
-1, +1, -S and +S. A chain is known by the cell of its latest stone, its root.

A chain's liberties are counted once for every stone beside them, together with the sum and the sum of squares of their cells.
Such counts change by addition alone when chains merge or stones vanish. All counted liberties are one and the same cell just
if count * squares == sum * sum, so a chain in atari is recognised without a list of its liberties.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from games.protocol import NO_MOVE, NOBODY
from games.side_by_side import SideBySide

BORDER = 3
NO_CHAIN = 0  # a cell of the border; what is added to its liberties is never read
BEFORE = np.tri(4, k=-1, dtype=bool)  # [neighbour, earlier neighbour]


class PaddedGrid:
    """Tables for one size, shared by all games on it.

    Attributes:
        width, height: the number of columns and rows.
        points: A, the number of points.
        cells: N, the number of cells with the border.
        beside: [4] the distances from a cell to its neighbours.
        cell: [A + 1] the cell of each point; one more entry stands for a pass, and is the border's cell 0.
        liberty: [N, 3] int32, what a liberty at each cell adds to the counts of a chain.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height, self.points = width, height, width * height
        stride = width + 1
        self.stride, self.cells = stride, (height + 2) * stride
        self.beside = np.array([-1, 1, -stride, stride])
        h, w = np.divmod(np.arange(self.points), width)
        self.cell = np.append((h + 1) * stride + w, 0)
        numbers = np.arange(self.cells)
        self.liberty = np.stack([np.ones_like(numbers), numbers, numbers**2], axis=1).astype(np.int32)
        self.empty_board = np.full(self.cells, BORDER, dtype=np.int8)
        self.empty_board[self.cell[:-1]] = 0

    def board(self, cells: np.ndarray) -> np.ndarray:
        """Return a view [G, height, width] of the points in an array [G, N], bottom row first."""
        stride = self.stride
        return cells[:, stride:-stride].reshape(len(cells), self.height, stride)[:, :, :-1]

    def flat(self, cells: np.ndarray) -> np.ndarray:
        """Return the points in an array [G, N] as [G, A]."""
        return self.board(cells).reshape(len(cells), self.points)

    def any_beside(self, cells: np.ndarray) -> np.ndarray:
        """Return [G, N] bool, whether one of the four neighbours is set; False on the border's first and last row."""
        stride = self.stride
        result = np.zeros_like(cells)
        middle = result[:, stride:-stride]
        np.logical_or(cells[:, stride - 1 : -stride - 1], cells[:, stride + 1 : 1 - stride], out=middle)
        middle |= cells[:, : -2 * stride]
        middle |= cells[:, 2 * stride :]
        return result

    def reach(self, start: np.ndarray, through: np.ndarray) -> np.ndarray:
        """Return the cells of `through` [G, N] that can be reached from `start` [G, N] over cells of `through` only."""
        reached = np.zeros_like(start)
        border = self.any_beside(start) & through
        while border.any():
            reached |= border
            border = self.any_beside(border) & through & ~reached
        return reached


@cache
def padded_grid(width: int, height: int) -> PaddedGrid:
    """Return the tables for this size."""
    return PaddedGrid(width, height)


class ChainBatch(SideBySide):
    """See `games.protocol.PositionBatch`. A game adds `_legal_cells` and `_close`, and what it keeps besides the stones.

    Args:
        games: G, the number of games.
        grid: the tables of the board.

    Attributes:
        grid: see above.
        stones: [G, N] int8, 0 for an empty cell, otherwise the player or BORDER.
        chain: [G, N] int16, the root of the chain of each stone; NO_CHAIN elsewhere.
        liberties: [G, N, 3] int32, the counts of each chain in the row of its root; other rows mean nothing.
        last_move: [G] the last action, NO_MOVE at the start.
        length, winner, over: see PositionBatch.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ("stones", "chain", "liberties", "last_move", "length", "winner", "over")

    def __init__(self, games: int, grid: PaddedGrid) -> None:
        self.grid = grid
        self.stones = np.empty((games, grid.cells), dtype=np.int8)
        self.chain = np.empty((games, grid.cells), dtype=np.int16)
        self.liberties = np.zeros((games, grid.cells, 3), dtype=np.int32)
        self.last_move = np.empty(games, dtype=np.int64)
        self.length = np.empty(games, dtype=np.int64)
        self.winner = np.empty(games, dtype=np.int8)
        self.over = np.empty(games, dtype=bool)
        self._legal: np.ndarray | None = None

    @property
    def legal(self) -> np.ndarray:
        """The legal actions, [G, actions] bool."""
        if self._legal is None:
            self._legal = self._find_legal()
        return self._legal

    def _find_legal(self) -> np.ndarray:
        return self.grid.flat(self._legal_cells(self.side_to_move))

    def _legal_cells(self, side: np.ndarray) -> np.ndarray:
        """Return [G, N] bool, where a stone of `side` [G] is legal."""
        raise NotImplementedError

    def _close(self) -> None:
        """Set `over` and `winner` after the last action."""
        raise NotImplementedError

    def in_atari(self) -> np.ndarray:
        """Return [G, N] bool, the stones whose chain has a single liberty."""
        count, total, squares = np.moveaxis(self.liberties, 2, 0)
        single = np.multiply(count, squares, dtype=np.int64) == np.multiply(total, total, dtype=np.int64)
        return np.take_along_axis(single, self.chain, axis=1) & (self.chain != NO_CHAIN)

    def take(self, games: Any) -> Self:
        """See PositionBatch."""
        some = self.__class__.__new__(self.__class__)
        some.__dict__.update(self.__dict__)
        for name in self.FIELDS:
            setattr(some, name, getattr(self, name)[games].copy())
        some._legal = None if self._legal is None else self._legal[games].copy()
        return some

    def for_search(self, depth_limit: int) -> Self:
        """Return a copy; searches play by the same rules."""
        return self.take(slice(None))

    def restart(self, games: Any) -> None:
        """See PositionBatch."""
        self.stones[games] = self.grid.empty_board
        self.chain[games] = NO_CHAIN
        self.last_move[games] = NO_MOVE
        self.length[games] = 0
        self.winner[games] = NOBODY
        self.over[games] = False
        self._legal = None

    def put(self, games: Any, others: Self) -> None:
        """See PositionBatch."""
        super().put(games, others)
        self._legal = None

    def play(self, actions: Any) -> None:
        """See PositionBatch."""
        actions = np.asarray(actions)
        legal = self.legal
        for wrong, what in (
            (self.over, "a game that is not over"),
            ((actions < 0) | (actions >= legal.shape[1]), f"an action among 0..{legal.shape[1] - 1}"),
            (~legal[np.arange(len(self)), actions.clip(0, legal.shape[1] - 1)], "a legal action"),
        ):
            if wrong.any():
                game = int(wrong.argmax())
                raise ValueError(f"expected {what}; got action {actions[game]} in game {game}")
        self.play_lines(actions[:, None], np.ones(len(self), dtype=np.int64))

    def play_lines(self, lines: np.ndarray, lengths: np.ndarray) -> None:
        """See PositionBatch."""
        for depth in range(int(lengths.max(initial=0))):
            games = np.flatnonzero(lengths > depth)
            self._act(games, lines[games, depth])
            self.last_move[games] = lines[games, depth]
            self.length[games] += 1
        self._legal = None
        self._close()

    def _act(self, games: np.ndarray, actions: np.ndarray) -> None:
        """Play an action [K] in each of these K games, apart from what holds for every action."""
        self._place(games, self.grid.cell[actions])

    def _place(self, games: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put stones of the sides to move on empty cells [K] of K games.

        Returns:
            The numbers [M], among the K games, of those with captures, and the stones that were taken off there, [M, N] bool.
        """
        grid, row = self.grid, games[:, None]
        players = (1 + self.length[games] % 2)[:, None]
        beside = cells[:, None] + grid.beside  # [K, 4]
        neighbours, roots = self.stones[row, beside], self.chain[row, beside]
        # Neighbours of one chain appear up to four times; each writes the same result.
        same = roots[:, :, None] == roots[:, None, :]
        around = self.liberties[row, roots] - same.sum(axis=2)[:, :, None] * grid.liberty[cells][:, None]
        self.liberties[row, roots] = around
        own = neighbours == players
        first = ~(same & BEFORE).any(axis=2)  # [K, 4] whether no earlier neighbour is of the same chain
        gained = np.where((neighbours == 0)[:, :, None], grid.liberty[beside], 0)
        gained += np.where((own & first)[:, :, None], around, 0)
        self.stones[games, cells] = players[:, 0]
        self.liberties[games, cells] = gained.sum(axis=1)
        merged = np.where(own, roots, -1)
        joined = self.chain[games]
        belongs = joined == merged[:, :1]
        for neighbour in range(1, 4):
            belongs |= joined == merged[:, neighbour : neighbour + 1]
        joined[belongs] = np.broadcast_to(cells[:, None], belongs.shape)[belongs]
        self.chain[games] = joined
        self.chain[games, cells] = cells
        dead = np.where((neighbours == 3 - players) & (around[:, :, 0] == 0), roots, -1)
        capturing = np.flatnonzero((dead >= 0).any(axis=1))
        captured = (joined[capturing, :, None] == dead[capturing, None, :]).any(axis=2)
        if capturing.size:
            self._take_off(games[capturing], captured)
        return capturing, captured

    def _take_off(self, games: np.ndarray, captured: np.ndarray) -> None:
        """Empty cells [K, N] of K games; they become liberties of the chains beside them."""
        which, cells = np.nonzero(captured)
        which = games[which]
        self.stones[which, cells] = 0
        self.chain[which, cells] = NO_CHAIN
        for distance in self.grid.beside:
            np.add.at(self.liberties, (which, self.chain[which, cells + distance]), self.grid.liberty[cells])

    def _top_row_first(self, cells: np.ndarray) -> np.ndarray:
        """Return the points in an array [G, N] as pictures [G, height, width]."""
        return self.grid.board(cells)[:, ::-1]

    def _last_move_cells(self) -> np.ndarray:
        """Return [G, N] bool, the last move of each game; nothing where it is a pass or there is none."""
        result = np.zeros(self.stones.shape, dtype=bool)
        cells = self.grid.cell[np.where(self.last_move < 0, self.grid.points, self.last_move)]
        result[np.arange(len(self)), cells] = cells != 0
        return result
