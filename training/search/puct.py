"""PUCT search for many games in lockstep, after AlphaZero (Silver et al. 2017, Methods; Silver et al. 2018).

At each node a playout takes the move with the largest

    Q + c_puct * P * sqrt(N_parent) / (1 + N)

where N_parent is the number of visits of the node itself, including the visit that expanded it. Ties go to the lowest move
number. Q is for the player who chooses. In self-play, the tree is kept from move to move, Dirichlet noise is mixed into the
priors of the root's legal moves, and the first moves of a game are drawn in proportion to their visits.

MuZero (Schrittwieser et al. 2020, equations 2 and 5) uses the same formula with Q scaled to [0, 1] (`q_scale`), and 0 for moves
without visits:

    tree        between the smallest and the largest Q in the tree so far, as the paper has it
    siblings    between the smallest and the largest of the node's own mean value and the Q of its visited moves, as mctx has it

KataGo (Wu 2019, section 3.2) explores further below moves that the noise has brought up (`forced_playouts_k`). In self-play, a
playout at the root first goes to a move c that has visits, but fewer than

    n_forced(c) = sqrt(k * P(c) * sum_b N(b))

with the P that contains the noise. Before the network learns the visits, playouts that the formula above would not have chosen
are taken away again (`pruned_visits`). The move is drawn from what is left, as in KataGo, where a move's chance follows the
pruned visits (appendix D): a bad move that was only visited by force is no more likely to be played than to be learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from common.errors import UsageError
from games.protocol import PositionBatch
from training.inference.evaluators import Evaluator
from training.search.paths import Paths
from training.search.steps import StepsMaker, steps_of
from training.search.tree import Trees

DIRICHLET_ALPHA = 0.3
DIRICHLET_EPSILON = 0.25
LOW_TEMPERATURE = 1e-3


@dataclass(frozen=True)
class Decisions:
    """The result of searching G positions.

    Attributes:
        moves: [G] the move to play.
        policies: [G, A] float64, the policy for the network to learn; 0 for illegal moves; each row sums to 1.
        visits: [G, A] the number of playouts through each move of the root.
        values: [G] the value that the search gives the position, for the side to move.
    """

    moves: np.ndarray
    policies: np.ndarray
    visits: np.ndarray
    values: np.ndarray


class LockstepSearch(Protocol):
    """A search for G games in lockstep; the games may be at different moves."""

    def decide(self, boards: PositionBatch, is_selfplay: bool, fast_playouts: int | None = None) -> Decisions:
        """Search these positions.

        Args:
            boards: the positions, which are not changed; no game is over.
            is_selfplay: whether to explore.
            fast_playouts: a number of playouts in place of the settings', for a search without noise, whose policies the
                network does not learn (Wu 2019, "Accelerating self-play learning in Go", section 3.1).
        """
        ...

    def advance(self, moves: np.ndarray) -> None:
        """Follow the move that was played in each game, `moves` [G]."""

    def restart(self, games: np.ndarray) -> None:
        """Forget these games, because they have been restarted or a move was played without `advance`."""


@dataclass(frozen=True)
class PuctSettings:
    """Settings of PUCT search.

    Attributes:
        playouts: the number of playouts for each move, in addition to those already in a tree that was kept.
        c_puct: the weight of the exploration bonus.
        first_n_moves: the number of moves at the start of a self-play game that are drawn at temperature 1.
        cooling_moves: the number of moves after these over which the temperature falls evenly to (almost) 0.
        q_scale: how Q is scaled; see above.
        search_depth: Go only: the depth limit of a search that plays on after two passes (`games.go.position`); 0 for a search
            whose games end as real ones do.
        forced_playouts_k: k of the forced playouts; 0 to force none.
        sharpened_targets: whether the policies of self-play are the distributions that the moves are drawn from, almost one-hot
            at a low temperature, as many solutions of the course return them. Otherwise they are the visit shares.
        leaves: the number of playouts in each tree whose new nodes form one batch for the network. More than 1 is faster with
            few games (`training.search.tree`), and each of these playouts is chosen without the values of the others.
    """

    playouts: int = 400
    c_puct: float = 5.0
    first_n_moves: int = 12
    cooling_moves: int = 0
    q_scale: Literal["none", "tree", "siblings"] = "none"
    search_depth: int = 0
    forced_playouts_k: float = 0.0
    sharpened_targets: bool = False
    leaves: int = 1

    def __post_init__(self) -> None:
        expect_at_least_one(playouts=self.playouts, leaves=self.leaves)


def expect_at_least_one(**numbers: int) -> None:
    """Raise UsageError unless each of these settings of a search is at least 1."""
    for name, number in numbers.items():
        if number < 1:
            raise UsageError(f"expected {name} of at least 1 for a search; got {number}")


class PuctSearch:
    """PUCT search for G games in lockstep.

    Args:
        games: G, the number of games.
        actions: A, the number of actions of the game.
        model: a network that evaluates positions, or a learnt model.
        settings: the search settings.
        rng: draws the noise and the moves.
    """

    def __init__(
        self, games: int, actions: int, model: Evaluator | StepsMaker, settings: PuctSettings, rng: np.random.Generator
    ) -> None:
        self._steps = steps_of(model, settings.search_depth)
        self.trees = Trees(games, actions, capacity=(2 if self._steps.keeps_trees else 1) * settings.playouts + 1)
        self._settings = settings
        self._rng = rng
        self._games = np.arange(games)
        # The smallest and the largest Q that each tree has had, for q_scale "tree".
        self._lowest, self._highest = np.full(games, np.inf), np.full(games, -np.inf)

    def decide(self, boards: PositionBatch, is_selfplay: bool, fast_playouts: int | None = None) -> Decisions:
        """See LockstepSearch. Self-play adds noise at the roots, and draws moves at the temperature of their number.

        The policies are the visit shares, regardless of the temperature at which the moves are drawn, unless the settings ask
        for sharpened targets. Where playouts were forced, both come from the pruned visits.
        """
        explores = is_selfplay and fast_playouts is None
        self.run(boards, explores, fast_playouts)
        visits, rows = self.root_visits(), self.trees.root_rows(self._games)
        learnt = self._pruned(rows) if explores and self._settings.forced_playouts_k else visits
        chances = visit_policies(learnt, boards.legal, self._temperature(boards.length, is_selfplay))
        sharpened = is_selfplay and self._settings.sharpened_targets
        policies = chances if sharpened else visit_policies(learnt, boards.legal, np.ones(len(visits)))
        means = np.where(visits > 0, self.trees.mean_value[rows], 0.0)
        values = (visits * means).sum(axis=1) / np.maximum(1, visits.sum(axis=1))
        return Decisions(draw_moves(chances, self._rng), policies, visits, values)

    def _temperature(self, length: np.ndarray, is_selfplay: bool) -> np.ndarray:
        """Return the temperature [G] at which moves are drawn in games of this length [G]."""
        if not is_selfplay:
            return np.full(len(length), LOW_TEMPERATURE)
        later = length - self._settings.first_n_moves + 1
        return np.clip(1 - later / (self._settings.cooling_moves + 1), LOW_TEMPERATURE, 1.0)

    def run(self, boards: PositionBatch, is_selfplay: bool, playouts: int | None = None) -> None:
        """Run the playouts in every tree; in an empty tree, the expansion of the root counts as the first.

        Args:
            boards: the positions at the roots.
            is_selfplay: whether to mix noise into the priors of the roots, and to force playouts if the settings say so.
            playouts: the number of playouts; None for that of the settings.
        """
        trees, steps = self.trees, self._steps
        if playouts is None:
            playouts = self._settings.playouts
        expect_at_least_one(playouts=playouts)
        if not steps.keeps_trees:
            self.restart(self._games)
        trees.make_room(playouts)
        steps.begin(boards, len(trees) * trees.capacity)
        empty = trees.size == 0
        if empty.any():
            trees.expand_roots(self._games[empty], steps)
        choose_at_root = self._choose
        if is_selfplay:
            self._add_noise(boards.legal)
            if self._settings.forced_playouts_k:
                choose_at_root = self._choose_forced
        left = np.where(empty, playouts - 1, playouts)
        while (games := np.flatnonzero(left)).size:
            wanted = np.minimum(left[games], self._settings.leaves)
            for paths in trees.playouts(games, steps, self._choose, choose_at_root, wanted):
                left[paths.ends // trees.capacity] -= 1
                if self._settings.q_scale == "tree":
                    self._widen_range(paths)

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        """Return the move with the largest selection value at each node."""
        return self._selection_values(rows).argmax(axis=1)

    def _choose_forced(self, rows: np.ndarray) -> np.ndarray:
        """Return a move with too few forced playouts at each root, or else the one with the largest selection value."""
        visits, values = self.trees.edge_visits[rows], self._selection_values(rows)
        values[(visits > 0) & (visits < self._forced(rows))] = np.inf
        return values.argmax(axis=1)

    def _forced(self, rows: np.ndarray) -> np.ndarray:
        """Return n_forced of the moves of these roots, [W, A]."""
        forced = np.multiply(self.trees.prior[rows], self._settings.forced_playouts_k, dtype=np.float64)
        forced *= self.trees.edge_visits[rows].sum(axis=1, keepdims=True)
        return np.sqrt(forced, out=forced)

    def _pruned(self, rows: np.ndarray) -> np.ndarray:
        """Return the visits of the moves of these roots without forced playouts; see `pruned_visits`."""
        return pruned_visits(self.trees.edge_visits[rows], self._forced(rows), self._q(rows), self._bonus(rows))

    def _selection_values(self, rows: np.ndarray) -> np.ndarray:
        # The same order of operations and the same precision as in the handout's search, so that the trees are identical.
        values = self._bonus(rows)
        values /= 1 + self.trees.edge_visits[rows]
        values += self._q(rows)
        return values

    def _bonus(self, rows: np.ndarray) -> np.ndarray:
        """Return c_puct * P * sqrt(N_parent) of the moves at these nodes, [W, A]."""
        bonus = np.multiply(self.trees.prior[rows], self._settings.c_puct, dtype=np.float64)
        bonus *= np.sqrt(self.trees.node_visits[rows])[:, None]
        return bonus

    def _q(self, rows: np.ndarray) -> np.ndarray:
        """Return Q of the moves at these nodes as the settings scale it, [W, A]; -inf for illegal moves."""
        return self.trees.mean_value[rows] if self._settings.q_scale == "none" else self._scaled(rows)

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        """Return Q scaled to [0, 1] at these nodes, [W, A]: 0 for moves without visits, -inf for illegal ones."""
        trees = self.trees
        mean_value, visits = trees.mean_value[rows], trees.edge_visits[rows]
        visited, illegal = visits > 0, mean_value == -np.inf
        if self._settings.q_scale == "tree":
            games = rows // trees.capacity
            lowest, highest = self._lowest[games], self._highest[games]
        else:
            value_sum = (visits * np.where(visited, mean_value, 0.0)).sum(axis=1)
            own = (trees.node_value[rows] + value_sum) / (1 + visits.sum(axis=1))
            lowest = np.minimum(own, np.where(visited, mean_value, np.inf).min(axis=1))
            highest = np.maximum(own, np.where(visited, mean_value, -np.inf).max(axis=1))
        mean_value, width = np.where(visited, mean_value, 0.0), (highest - lowest)[:, None]
        # Nothing can be scaled between equal ends: the paper leaves such values as they are, and mctx takes 0.
        unscaled = mean_value if self._settings.q_scale == "tree" else 0.0
        scaled = np.where(width > 0, (mean_value - lowest[:, None]) / np.where(width > 0, width, 1.0), unscaled)
        return np.where(visited, scaled, np.where(illegal, -np.inf, 0.0))

    def _widen_range(self, paths: Paths) -> None:
        _, _, rows, moves = paths.edges()
        games, mean_value = rows // self.trees.capacity, self.trees.mean_value[rows, moves]
        np.minimum.at(self._lowest, games, mean_value)
        np.maximum.at(self._highest, games, mean_value)

    def _add_noise(self, legal: np.ndarray) -> None:
        """Set P = 0.75 p + 0.25 eta at the roots, with eta ~ Dirichlet(0.3) over the legal moves."""
        noise = np.zeros(legal.shape)
        noise[legal] = self._rng.standard_gamma(DIRICHLET_ALPHA, size=int(legal.sum()))
        noise /= noise.sum(axis=1, keepdims=True)
        rows = self.trees.root_rows(self._games)
        prior = (1 - DIRICHLET_EPSILON) * self.trees.prior[rows] + DIRICHLET_EPSILON * noise
        self.trees.prior[rows] = np.where(legal, prior, self.trees.prior[rows])

    def root_visits(self) -> np.ndarray:
        """Return the visit counts of each root's moves, [G, A]."""
        return self.trees.edge_visits[self.trees.root_rows(self._games)]

    def advance(self, moves: np.ndarray) -> None:
        """See LockstepSearch; the subtree below each move is kept if the steps allow it."""
        if self._steps.keeps_trees:
            self.trees.keep_subtrees(self._games, moves)

    def restart(self, games: np.ndarray) -> None:
        """See LockstepSearch."""
        self.trees.clear(games)
        self._lowest[games], self._highest[games] = np.inf, -np.inf


def visit_policies(visits: np.ndarray, legal: np.ndarray, temperature: np.ndarray) -> np.ndarray:
    """Return softmax(log(visits + 1e-10) / temperature) over the legal moves.

    Args:
        visits, legal: [G, A].
        temperature: [G].

    Returns:
        [G, A] float64, 0 for illegal moves.
    """
    logits = np.where(legal, np.log(visits + 1e-10), -np.inf) / temperature[:, None]
    policies = np.exp(logits - logits.max(axis=1, keepdims=True))
    return policies / policies.sum(axis=1, keepdims=True)


def pruned_visits(visits: np.ndarray, forced: np.ndarray, q: np.ndarray, bonus: np.ndarray) -> np.ndarray:
    """Take forced playouts away from all moves but the most visited one (Wu 2019, section 3.2).

    Up to n_forced playouts are taken away from a move, as long as its selection value stays below that of the most visited
    move; Q and N_parent stay as they are. A move that is left with a single playout loses that one, too.

    Args:
        visits: [G, A] the number of playouts N through each move of the roots.
        forced: [G, A] n_forced.
        q: [G, A] Q in the selection value.
        bonus: [G, A] c_puct * P * sqrt(N_parent).

    Returns:
        [G, A]; moves from which nothing could be taken away, and the most visited one, keep their number.
    """
    games = np.arange(len(visits))
    best = visits.argmax(axis=1)
    to_beat = (q + bonus / (1 + visits))[games, best]
    most = np.minimum(visits, np.floor(forced))
    most[games, best] = 0
    left = visits.copy()
    for taken in range(1, int(most.max(initial=0)) + 1):
        fewer = visits - taken
        is_worse = q + bonus / (1 + np.maximum(fewer, 0)) < to_beat[:, None]
        left = np.where((taken <= most) & is_worse, fewer, left)
    return np.where((left == 1) & (left < visits), 0, left)


def draw_moves(policies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a move [G] from each policy [G, A]; a move of probability 0 is never drawn."""
    cumulative = policies.cumsum(axis=1)
    drawn = rng.random(len(policies)) * cumulative[:, -1]
    return (cumulative > drawn[:, None]).argmax(axis=1)
