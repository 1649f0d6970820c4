"""The search trees of G games as arrays; the playouts of all games run in lockstep (as in mctx on an accelerator).

A playout (Silver et al. 2017, Methods) has four steps, each performed for all games at once (`Trees.playouts`):

    select      walk from the root to an edge that has not been taken yet
    expand      add a node at its end
    evaluate    learn what is there; the new nodes of all games form one batch for the network
    backup      average the value into the edges of the walk

With few games, several playouts of each can share a batch. The nodes at their ends then wait for their values, and until these
are known, the walks to them count as visits in N but not in Q, so that the next walks go elsewhere (WU-UCT, Liu et al. 2020).

The search (`puct.py`, `gumbel.py`) decides which edge to take at a node. What lies behind an edge is the business of the steps
(`steps.py`): the rules of a game, or a learnt model of one. The tree is the same for both.

Views of values. A node's own value is for the side to move there. The mean value of an edge is for the player who
chooses it, the side to move at the node that the edge leaves. Signs are flipped between the two only in `backup`.

The arrays hold the edges of a node side by side, in order of moves, so that choosing among them reads one row of each array.
The rows of all games form one table: node n of game g is in row g * capacity + n. The root of every game is node 0, and every
node has a larger number than its parent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from training.search.paths import Paths, Ways
from training.search.steps import Expansion, Steps

NO_NODE = -1
ROOT = 0
Choose = Callable[[np.ndarray], np.ndarray]
"""rows [W] of expanded nodes -> [W] the move to take from each."""

# Name of an array -> (dtype, whether it has an entry for each move of a node, the value in a new node).
FIELDS = {
    "child": (np.int32, True, NO_NODE),
    "prior": (np.float32, True, 0),
    "edge_visits": (np.int32, True, 0),
    "mean_value": (np.float64, True, 0),
    "parent": (np.int32, False, NO_NODE),
    "node_visits": (np.int32, False, 0),
    "node_value": (np.float32, False, 0),
    "finished": (np.bool_, False, False),
    "waiting": (np.bool_, False, True),
}


class Trees:
    """G search trees, all empty.

    Args:
        games: G, the number of games.
        actions: A, the number of actions of the game.
        capacity: the number of nodes for which each tree has room; `make_room` increases it.

    Attributes (R = G * capacity rows):
        child: [R, A] the node that a move leads to, NO_NODE where it has not been taken.
        prior: [R, A] the network's probability of each move, not normalised over the legal moves.
        edge_visits, mean_value: [R, A] the number of playouts through an edge and the mean of their values, for the side
            to move at this node; the mean value of an illegal move is -inf, so that it is never the largest.
        parent: [R] the number of the parent node; NO_NODE for the root.
        node_visits: [R] the number of playouts that pass through a node or end there.
        node_value: [R] the network's value or the result of a finished game, for the side to move.
        finished: [R] whether the game is over.
        waiting: [R] whether a node has not been evaluated yet.
        size: [G] the number of nodes in each tree.
    """

    child: np.ndarray
    prior: np.ndarray
    edge_visits: np.ndarray
    mean_value: np.ndarray
    parent: np.ndarray
    node_visits: np.ndarray
    node_value: np.ndarray
    finished: np.ndarray
    waiting: np.ndarray

    def __init__(self, games: int, actions: int, capacity: int) -> None:
        self.capacity = capacity
        self.size = np.zeros(games, dtype=np.int64)
        for name, (dtype, of_moves, _) in FIELDS.items():
            # np.empty takes up memory only where a row is written.
            setattr(self, name, np.empty((games * capacity, actions) if of_moves else games * capacity, dtype))

    def __len__(self) -> int:
        return len(self.size)

    def root_rows(self, games: np.ndarray) -> np.ndarray:
        """Return the rows [K] of the roots of these games [K]."""
        return games * self.capacity + ROOT

    def nbytes(self) -> int:
        """Return the size of all arrays in bytes, including room that is not used yet."""
        return sum(getattr(self, name).nbytes for name in FIELDS)

    def clear(self, games: np.ndarray) -> None:
        """Empty the trees of these games."""
        self.size[games] = 0

    def make_room(self, nodes: int) -> None:
        """Make sure that every tree has room for this many more nodes."""
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

    # ------------------------------------------------------------------------------------------------ playouts

    def playouts(
        self,
        games: np.ndarray,
        steps: Steps,
        choose: Choose,
        choose_at_root: Choose | None = None,
        wanted: np.ndarray | None = None,
    ) -> list[Paths]:
        """Run playouts in K trees whose roots are expanded, and evaluate all new nodes in one batch.

        Args:
            games: [K] the trees, in ascending order. A tree may occur several times if `choose_at_root` returns another move
                each time; these playouts do not meet, and no playouts are `wanted`.
            steps: leads to the new nodes and evaluates them.
            choose: chooses the move to take from each node below the root.
            choose_at_root: the same for the roots; None to treat them like every other node.
            wanted: [K] the number of playouts in each tree, at least 1; None for one each.

        Returns:
            The paths of all playouts; each item has at most one path of each tree. A tree in which a walk comes to a waiting
            node has no more playouts in this batch: it has fewer than wanted, but at least one.
        """
        left = np.ones(len(games), dtype=np.int64) if wanted is None else wanted.copy()
        walks: list[Paths] = []
        added: list[tuple[np.ndarray, np.ndarray, Ways]] = []
        counted = 0
        while (left > len(walks)).any():
            if walks:
                self._count(walks[-1], 1)
                counted += 1
            walkers = np.flatnonzero(left > len(walks))
            paths = self.select(games[walkers], choose, choose_at_root or choose)
            new, rows = self.expand(games[walkers], paths)
            added.append((games[walkers[new]], rows, paths.ways(new)))
            in_vain = self.waiting[paths.ends]
            in_vain[new] = False
            left[walkers[in_vain]] = 0
            if not in_vain.all():
                walks.append(paths.only(~in_vain) if in_vain.any() else paths)
        for paths in walks[:counted]:
            self._count(paths, -1)
        of_games, of_rows, ways = zip(*added, strict=True)
        rows = np.concatenate(of_rows)
        self.evaluate(rows, steps.behind_edges(np.concatenate(of_games), rows, Ways.joined(ways)))
        for paths in walks:
            self.backup(paths)
        return walks

    def _count(self, paths: Paths, change: int) -> None:
        """Change the visits of the edges of these paths and of the nodes that they leave."""
        _, _, rows, moves = paths.edges()
        self.edge_visits[rows, moves] += change
        self.node_visits[rows] += change

    def select(self, games: np.ndarray, choose: Choose, choose_at_root: Choose) -> Paths:
        """Walk from the roots of K games down to edges that lead to no node yet, to a waiting node, or to a finished game.

        Returns:
            The K paths; their `ends` are not filled in yet.
        """
        paths = Paths(len(games))
        rows, walking = self.root_rows(games), np.arange(len(games))
        while walking.size:
            moves = choose_at_root(rows) if paths.depth == 0 else choose(rows)
            paths.extend(walking, rows, moves)
            children = self.child[rows, moves]
            below = rows // self.capacity * self.capacity + children
            onward = (children != NO_NODE) & ~self.finished[below] & ~self.waiting[below]
            walking, rows = walking[onward], below[onward]
        return paths

    def expand(self, games: np.ndarray, paths: Paths) -> tuple[np.ndarray, np.ndarray]:
        """Add a node at the end of each path that leads to no node yet, and fill in the `ends` of all K paths.

        Returns:
            The numbers [M] of these paths and the rows [M] of the new nodes, M <= K.
        """
        rows, moves = paths.last_rows, paths.last_moves
        new = np.flatnonzero(self.child[rows, moves] == NO_NODE)
        new_rows = self._add_nodes(games[new], parents=rows[new] % self.capacity)
        self.child[rows[new], moves[new]] = new_rows % self.capacity
        paths.ends = games * self.capacity + self.child[rows, moves]
        return new, new_rows

    def evaluate(self, rows: np.ndarray, found: Expansion) -> None:
        """Give new nodes, by their rows [M], their values and priors."""
        if found.probs is not None:
            open_rows = rows[~found.over]
            self.prior[open_rows] = found.probs
            self.mean_value[open_rows] = 0.0 if found.legal is None else np.where(found.legal, 0.0, -np.inf)
        self.finished[rows] = found.over
        self.waiting[rows] = False
        self.node_value[rows] = found.values

    def backup(self, paths: Paths) -> None:
        """Average the value at the end of each path into every edge of that path.

        The last edge was chosen by the opponent of the side to move at the end, so its value has the opposite sign. The
        value of the edge before it has the same sign, and so on. All edges can be updated at once, since no two are the same.
        """
        values = self.node_value[paths.ends].astype(np.float64)  # [K], for the side to move at each end
        path, depth, rows, moves = paths.edges()  # [E] each
        chooser_is_opponent = (paths.lengths[path] - depth) % 2 == 1
        edge_values = np.where(chooser_is_opponent, -values[path], values[path])
        visits = self.edge_visits[rows, moves] + 1
        mean = self.mean_value[rows, moves]
        self.edge_visits[rows, moves] = visits
        self.mean_value[rows, moves] = mean + (edge_values - mean) / visits
        np.add.at(self.node_visits, rows, 1)  # several paths may leave one root
        self.node_visits[paths.ends] += 1

    def expand_roots(self, games: np.ndarray, steps: Steps) -> None:
        """Expand and evaluate the roots of empty trees; this counts as the first visit to each root.

        Args:
            games: [K] the empty trees; their games are not over.
            steps: evaluates the K roots in one batch.
        """
        rows = self._add_nodes(games, parents=np.full(len(games), NO_NODE))
        self.evaluate(rows, steps.at_roots(games, rows))
        self.node_visits[rows] = 1

    def _add_nodes(self, games: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """Add a node without visits to each of these M trees, in ascending order, and return the rows [M] of the new nodes."""
        earlier = np.arange(len(games)) - np.searchsorted(games, games)  # nodes of the same tree before this one
        rows = games * self.capacity + self.size[games] + earlier
        self.size += np.bincount(games, minlength=len(self.size))
        for name, (_, _, fresh) in FIELDS.items():
            getattr(self, name)[rows] = fresh
        self.parent[rows] = parents
        return rows

    # ------------------------------------------------------------------------------------------------ after a move

    def keep_subtrees(self, games: np.ndarray, moves: np.ndarray) -> None:
        """Make the child below each game's move the new root, and drop every node that is not below it.

        A tree in which the move has never been taken becomes empty.

        Args:
            games: [K] trees with a root.
            moves: [K] the moves that were played.
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
