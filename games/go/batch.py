"""Many games of Go side by side; the rules and the feature planes are those of `games.go.position`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from games.chain_batch import BEFORE, NO_CHAIN, ChainBatch, PaddedGrid
from games.go.position import PLANES
from games.protocol import NOBODY

NO_KO = 0  # a cell of the border


class GoBatch(ChainBatch):
    """See `games.protocol.PositionBatch`; made by `GoRules.batch`. Black is player 1.

    Args:
        games: G, the number of games.
        grid: the tables of the board.
        komi, superko, move_limit: see `games.go.position.GoPosition`.

    Attributes:
        passes: [G] int8, the number of passes in a row.
        ko, ko_before_passes: [G] the cell where a ko may not be taken back, NO_KO if there is none.
        depth_limit: of the search to which this batch belongs; 0 for real games.
        search_begin: [G] the length at which the search began.
        earlier: [G, move_limit + 1] uint64, a hash of each earlier arrangement of stones; without superko, no columns.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (*ChainBatch.FIELDS, "passes", "ko", "ko_before_passes", "search_begin", "earlier")

    def __init__(self, games: int, grid: PaddedGrid, komi: float, superko: bool, move_limit: int) -> None:
        super().__init__(games, grid)
        self.komi, self.superko, self.move_limit, self.depth_limit = komi, superko, move_limit, 0
        self.passes = np.empty(games, dtype=np.int8)
        self.ko = np.empty(games, dtype=np.int64)
        self.ko_before_passes = np.empty(games, dtype=np.int64)
        self.search_begin = np.empty(games, dtype=np.int64)
        self.earlier = np.empty((games, move_limit + 1 if superko else 0), dtype=np.uint64)
        # [3, N] a number for each player's stone on each cell; those of an arrangement are combined by exclusive or.
        self._keys = np.random.default_rng(1).integers(1, 2**64, (3, grid.cells), dtype=np.uint64)
        self._keys[0] = 0
        self.restart(slice(None))

    @property
    def pass_action(self) -> int:
        """The number of the action that is a pass: the last one."""
        return self.grid.points

    def restart(self, games: Any) -> None:
        """See PositionBatch."""
        super().restart(games)
        self.passes[games] = 0
        self.ko[games] = self.ko_before_passes[games] = NO_KO
        self.search_begin[games] = 0
        self.earlier[games] = 0  # the empty board, which no stone can bring back

    def for_search(self, depth_limit: int) -> Self:
        """See PositionBatch and `games.go.position`."""
        twin = self.take(slice(None))
        twin.depth_limit = depth_limit
        twin.search_begin[:] = self.length
        twin._close()
        return twin

    def _find_legal(self) -> np.ndarray:
        points = super()._find_legal()
        return np.concatenate([points, np.ones((len(self), 1), dtype=bool)], axis=1)

    def _legal_cells(self, side: np.ndarray) -> np.ndarray:
        in_atari = self.in_atari()
        legal = self._may_play(side, in_atari)
        legal[np.arange(len(self)), self.ko] = False
        if self.superko:
            self._forbid_repetitions(legal, side, in_atari)
        return legal

    def _may_play(self, side: np.ndarray, in_atari: np.ndarray) -> np.ndarray:
        """Return [G, N] bool, the empty cells where a stone of `side` [G] has a liberty, ko or not."""
        stones, own = self.stones, self.stones == side[:, None]
        empty = stones == 0
        others_in_atari = (stones == 3 - side[:, None]) & in_atari
        return empty & self.grid.any_beside(empty | own & ~in_atari | others_in_atari)

    def _forbid_repetitions(self, legal: np.ndarray, side: np.ndarray, in_atari: np.ndarray) -> None:
        """Clear the cells of `legal` [G, N] where a stone would repeat an earlier arrangement of the stones."""
        games, cells = np.nonzero(legal)
        row = games[:, None]
        keys = np.zeros(self.stones.shape, dtype=np.uint64)  # of whole chains, at their roots
        of_stones = self._hashes()
        np.bitwise_xor.at(keys, (np.arange(len(self))[:, None], self.chain), of_stones)
        beside = cells[:, None] + self.grid.beside
        roots = self.chain[row, beside]
        captured = (self.stones[row, beside] == 3 - side[row]) & in_atari[row, beside]
        same = (roots[:, :, None] == roots[:, None, :]) & BEFORE
        taken_off = np.where(captured & ~same.any(axis=2), keys[row, roots], 0)
        after = np.bitwise_xor.reduce(of_stones, axis=1)[games] ^ self._keys[side[games], cells]
        after ^= np.bitwise_xor.reduce(taken_off, axis=1)
        known = self.earlier[:, : int(self.length.max(initial=0)) + 1]
        repeated = (known[games] == after[:, None]).any(axis=1)
        legal[games[repeated], cells[repeated]] = False

    def _hashes(self) -> np.ndarray:
        """Return the numbers [G, N] uint64 of the stones on all cells, 0 where there is none."""
        stones = np.where(self.chain == NO_CHAIN, 0, self.stones)
        return self._keys[stones, np.arange(self.grid.cells)]

    def _act(self, games: np.ndarray, actions: np.ndarray) -> None:
        is_pass = actions == self.pass_action
        passing, placing = games[is_pass], games[~is_pass]
        first = passing[self.passes[passing] == 0]
        self.ko_before_passes[first] = self.ko[first]
        self.ko[passing] = NO_KO
        self.passes[passing] += 1
        if placing.size:
            self._place_stones(placing, self.grid.cell[actions[~is_pass]])
        if self.superko:
            self.earlier[games, self.length[games] + 1] = np.bitwise_xor.reduce(self._hashes()[games], axis=1)
        if self.depth_limit:
            self._take_passes_back(passing[self.passes[passing] == 2])

    def _place_stones(self, games: np.ndarray, cells: np.ndarray) -> None:
        self.passes[games] = 0
        self.ko[games] = NO_KO
        capturing, captured = self._place(games, cells)
        if capturing.size:
            games, cells = games[capturing], cells[capturing]
            # A new stone that is alone and has a single liberty could be taken back at once.
            alone = (self.chain[games] == cells[:, None]).sum(axis=1) == 1
            ko = alone & (self.liberties[games, cells, 0] == 1) & (captured.sum(axis=1) == 1)
            self.ko[games[ko]] = captured[ko].argmax(axis=1)

    def _take_passes_back(self, games: np.ndarray) -> None:
        """Undo two passes in those of these games where a point is worth playing."""
        if not games.size:
            return
        some = self.take(games)
        in_atari = some.in_atari()
        black, white = some.areas()
        playable = np.zeros(some.stones.shape, dtype=bool)
        for player in (1, 2):
            playable |= some._may_play(np.full(len(some), player, dtype=np.int8), in_atari)
        games = games[(playable & ~(black | white)).any(axis=1)]
        self.passes[games] = 0
        self.ko[games] = self.ko_before_passes[games]

    def areas(self) -> tuple[np.ndarray, np.ndarray]:
        """Return black's and white's areas, [G, N] bool: their stones, and the empty cells that reach only these."""
        black, white, empty = self.stones == 1, self.stones == 2, self.stones == 0
        near_black, near_white = self.grid.reach(black, empty), self.grid.reach(white, empty)
        return black | near_black & ~near_white, white | near_white & ~near_black

    def scores(self) -> np.ndarray:
        """Return black's area minus white's area and the komi, [G]."""
        black, white = self.areas()
        return black.sum(axis=1) - white.sum(axis=1) - self.komi

    def _close(self) -> None:
        counted = (self.passes == 2) | (self.length >= self.move_limit)
        if counted.any():
            scores = self.take(counted).scores()
            self.winner[counted] = np.select([scores > 0, scores < 0], [1, 2], NOBODY)
        self.over = counted
        if self.depth_limit:
            self.over = counted | (self.length - self.search_begin >= self.depth_limit)

    def feature_planes(self) -> np.ndarray:
        """Return `GoPosition.current_state` of each game, [G, 8, H, W] float32."""
        grid, side = self.grid, self.side_to_move[:, None]
        in_atari, passed = self.in_atari(), self.last_move == grid.points
        planes = np.empty((len(self), PLANES, grid.height, grid.width), dtype=np.float32)
        others, own = self.stones == 3 - side, self.stones == side
        cells = (others, own, others & in_atari, own & in_atari)
        for plane, mask in enumerate(cells):
            planes[:, plane] = self._top_row_first(mask)
        legal = self.legal[:, :-1].reshape(len(self), grid.height, grid.width)
        planes[:, 4] = self._top_row_first(self.stones == 0) & ~legal[:, ::-1]
        planes[:, 5] = self._top_row_first(self._last_move_cells())
        planes[:, 6] = passed[:, None, None]
        planes[:, 7] = (side == 1)[:, :, None]
        return planes
