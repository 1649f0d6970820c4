"""The search trees of G games as arrays, which all take one playout at a time together (as mctx does on an accelerator).

A playout (Silver et al. 2017, Methods) walks from the root to an edge that has not been taken yet, plays the moves, lets the
network judge the new position, expands it and backs its value up. Here each of these steps is done for all games at once, so
that one batch of the network holds the new positions of all of them. How an edge is chosen is the search's matter
(`search.py`, `gumbel.py`).

Whose view a value has. A node's own value is seen by the side to move there. The mean value of an edge is seen by the player
who chooses it, the side to move at the node that it leaves. Between the two the sign turns, in `_backup` alone. A finished
game is worth its result and the network is not asked: whoever is to move there has lost, unless it is a draw.

Of a node the arrays hold its edges side by side, in order of moves: choosing among them reads one row of each array. Rows of
all games lie in one table, the node number n of game g in row g * capacity + n. The root of every game is its node 0, and a
node has a larger number than its parent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from training.boards import Boards
from training.inference import Evaluator

NO_NODE = -1
ROOT = 0
Choose = Callable[[np.ndarray], np.ndarray]
"""rows [K] of expanded nodes -> the move to take from each [K]."""

# Array of the tree -> (type, whether it has an entry for each move of a node, what a fresh node holds).
FIELDS = {
    "child": (np.int32, True, NO_NODE),
    "prior": (np.float32, True, 0),
    "edge_visits": (np.int32, True, 0),
    "mean_value": (np.float64, True, 0),
    "parent": (np.int32, False, NO_NODE),
    "node_visits": (np.int32, False, 0),
    "node_value": (np.float32, False, 0),
    "finished": (np.bool_, False, False),
}


class Trees:
    """G search trees, all empty.

    Args:
        games: G.
        points: A, the moves of a board.
        capacity: nodes of one tree that there is room for; it grows when it is needed.

    Attributes (R = G * capacity rows):
        child: [R, A] the node that a move leads to, NO_NODE where it has not been taken.
        prior: [R, A] the network's probability of each move, as it gave it (not made to sum to 1 over legal moves).
        edge_visits, mean_value: [R, A] playouts through an edge and their mean, seen by the side to move at this node; the
            mean value of a move that is not legal is -inf, so that it is never the largest.
        parent: [R] the node above; NO_NODE for the root.
        node_visits: [R] playouts through or ending at a node.
        node_value: [R] the network's value or the result of a finished game, for the side to move.
        finished: [R] whether the game is over here.
        size: [G] nodes of each tree.
    """

    child: np.ndarray
    prior: np.ndarray
    edge_visits: np.ndarray
    mean_value: np.ndarray
    parent: np.ndarray
    node_visits: np.ndarray
    node_value: np.ndarray
    finished: np.ndarray

    def __init__(self, games: int, points: int, capacity: int) -> None:
        self.points = points
        self.capacity = capacity
        self.size = np.zeros(games, dtype=np.int64)
        for name, (dtype, of_moves, _) in FIELDS.items():
            # Memory is taken up only when a row is first written.
            setattr(self, name, np.empty((games * capacity, points) if of_moves else games * capacity, dtype))

    def __len__(self) -> int:
        return len(self.size)

    def root_rows(self, games: np.ndarray) -> np.ndarray:
        """The rows of these games' roots."""
        return games * self.capacity + ROOT

    def nbytes(self) -> int:
        """Bytes of all arrays, with room that has not been used yet."""
        return sum(getattr(self, name).nbytes for name in FIELDS)

    def clear(self, games: np.ndarray) -> None:
        """Empty the trees of these games."""
        self.size[games] = 0

    def make_room(self, nodes: int) -> None:
        """Let every tree grow by `nodes` without further notice."""
        needed = int(self.size.max(initial=0)) + nodes
        if needed <= self.capacity:
            return
        games, used = len(self), int(self.size.max(initial=0))
        old_capacity, self.capacity = self.capacity, max(needed, 2 * self.capacity)
        for name in FIELDS:
            old = getattr(self, name)
            rest = old.shape[1:]
            new = np.empty((games, self.capacity, *rest), old.dtype)
            new[:, :used] = old.reshape(games, old_capacity, *rest)[:, :used]
            setattr(self, name, new.reshape(games * self.capacity, *rest))

    # ------------------------------------------------------------------------------------------------ one playout

    def expand_roots(self, games: np.ndarray, boards: Boards, evaluate: Evaluator) -> None:
        """Give empty trees a root, which counts as the root's first visit.

        Args:
            games: [K] the empty trees.
            boards: the positions of all G games; those of `games` are not over.
        """
        self._add_nodes(games, np.full(len(games), NO_NODE), boards.take(games), evaluate)
        self.node_visits[self.root_rows(games)] = 1

    def playout(
        self, games: np.ndarray, boards: Boards, evaluate: Evaluator, choose: Choose, choose_at_root: Choose | None = None
    ) -> None:
        """One playout in the trees of these games, whose roots are expanded.

        Args:
            games: [K].
            boards: the positions at the roots of all G games, which are left as they are.
            evaluate: asked once at most, for the new positions of all games.
            choose: takes a move from each node; `choose_at_root` those from the roots, if they are chosen otherwise.
        """
        walk = _Walk(len(games))
        rows, walking = self.root_rows(games), np.arange(len(games))
        while walking.size:
            moves = (choose_at_root or choose)(rows) if walk.depth == 0 else choose(rows)
            walk.step(walking, rows, moves)
            nodes = self.child[rows, moves]
            below = rows // self.capacity * self.capacity + nodes
            onward = (nodes != NO_NODE) & ~self.finished[below]
            walking, rows = walking[onward], below[onward]
        values = self._judge_ends(games, walk, boards, evaluate)
        self._backup(walk, values)

    def _judge_ends(self, games: np.ndarray, walk: _Walk, boards: Boards, evaluate: Evaluator) -> np.ndarray:
        """Add the new nodes at the ends of the walks.

        Returns:
            [K] the value of every end for the side to move there.
        """
        rows, moves = walk.last_rows, walk.last_moves
        new = np.flatnonzero(self.child[rows, moves] == NO_NODE)
        if new.size:
            numbers = self.size[games[new]]
            leaves = boards.take(games[new])
            leaves.play_lines(walk.lines()[new], walk.lengths[new])
            self._add_nodes(games[new], rows[new] % self.capacity, leaves, evaluate)
            self.child[rows[new], moves[new]] = numbers
        ends = games * self.capacity + self.child[rows, moves]
        self.node_visits[ends] += 1
        return self.node_value[ends].astype(np.float64)

    def _add_nodes(self, games: np.ndarray, parents: np.ndarray, leaves: Boards, evaluate: Evaluator) -> None:
        """A node in each of these trees for these positions [K], without visits."""
        rows = games * self.capacity + self.size[games]
        self.size[games] += 1
        for name, (_, _, fresh) in FIELDS.items():
            getattr(self, name)[rows] = fresh
        values = np.where(leaves.winner > 0, -1.0, 0.0)
        going_on = ~leaves.over
        if going_on.any():
            asked = leaves if going_on.all() else leaves.take(going_on)
            probs, values[going_on] = evaluate(asked.feature_planes())
            self.prior[rows[going_on]] = probs
            self.mean_value[rows[going_on]] = np.where(asked.legal, 0.0, -np.inf)
        self.parent[rows] = parents
        self.finished[rows] = leaves.over
        self.node_value[rows] = values

    def _backup(self, walk: _Walk, values: np.ndarray) -> None:
        """Take the values at the ends [K] into every edge of the walks, all at once: no two of them are the same edge.

        The last edge was chosen by the opponent of the side to move at the end, so it sees the value with its sign turned,
        the edge before as it is, and so on.
        """
        who, depth, rows, moves = walk.edges()
        seen = np.where((walk.lengths[who] - depth) % 2 == 1, -values[who], values[who])
        visits = self.edge_visits[rows, moves] + 1
        mean = self.mean_value[rows, moves]
        self.edge_visits[rows, moves] = visits
        self.mean_value[rows, moves] = mean + (seen - mean) / visits
        self.node_visits[rows] += 1

    # ------------------------------------------------------------------------------------------------ after a move

    def keep_subtrees(self, games: np.ndarray, moves: np.ndarray) -> None:
        """Make the child that each game's move leads to its root, and forget all that is not below it.

        Where the move has not been taken in the search, the tree is empty afterwards.

        Args:
            games: [K] trees with a root.
            moves: [K].
        """
        new_roots = self.child[self.root_rows(games), moves]
        self.clear(games[new_roots == NO_NODE])
        games, new_roots = games[new_roots != NO_NODE], new_roots[new_roots != NO_NODE]
        if not games.size:
            return
        used = int(self.size[games].max())
        numbers = np.arange(used)
        rows = games[:, None] * self.capacity + numbers
        exists = numbers < self.size[games, None]
        parent = np.where(exists, self.parent[rows], NO_NODE)
        kept = np.zeros((len(games), used), dtype=bool)
        each = np.arange(len(games))
        kept[each, new_roots] = True
        for number in range(int(new_roots.min()) + 1, used):  # parents come before their children
            kept[:, number] |= kept[each, parent[:, number]] & (parent[:, number] != NO_NODE)
        new_number = np.where(kept, np.cumsum(kept, axis=1) - 1, NO_NODE)
        which, _ = np.nonzero(kept)
        source = rows[kept]
        target = games[which] * self.capacity + new_number[kept]
        for name in FIELDS:
            array = getattr(self, name)
            array[target] = array[source]
        child = self.child[target]
        self.child[target] = np.where(child == NO_NODE, NO_NODE, new_number[which[:, None], child])
        self.parent[target] = np.where(self.parent[target] == NO_NODE, NO_NODE, new_number[which, self.parent[target]])
        self.size[games] = kept.sum(axis=1)


class _Walk:
    """The ways from the roots to the ends of one playout in K trees.

    Attributes:
        depth: moves of the longest walk so far.
        lengths: [K] moves of each walk.
        last_rows, last_moves: [K] the last edge of each walk.
    """

    def __init__(self, count: int) -> None:
        self.depth = 0
        self.lengths = np.zeros(count, dtype=np.int64)
        self.last_rows = np.zeros(count, dtype=np.int64)
        self.last_moves = np.zeros(count, dtype=np.int64)
        self._steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def step(self, walking: np.ndarray, rows: np.ndarray, moves: np.ndarray) -> None:
        """Walks number `walking` take `moves` from `rows`."""
        self._steps.append((walking, rows, moves))
        self.depth += 1
        self.lengths[walking] += 1
        self.last_rows[walking] = rows
        self.last_moves[walking] = moves

    def lines(self) -> np.ndarray:
        """[K, depth] the moves; after the end of a walk zeros."""
        lines = np.zeros((len(self.lengths), self.depth), dtype=np.int64)
        for depth, (walking, _, moves) in enumerate(self._steps):
            lines[walking, depth] = moves
        return lines

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All edges of all walks: the walk, how many moves from the root, the row, the move."""
        who, rows, moves = (np.concatenate(parts) for parts in zip(*self._steps, strict=True))
        return who, np.repeat(np.arange(self.depth), [len(step[0]) for step in self._steps]), rows, moves
