"""Gumbel AlphaZero (Danihelka et al. 2022, "Policy improvement by planning with Gumbel") for many games in lockstep: a search
that improves the policy even with few playouts.

At the root (section 3 and Algorithm 2) one Gumbel number g is drawn for each legal move. The m moves with the largest g + logit
are considered, and sequential halving divides the n playouts (the paper's simulations) among them. After each phase the half
with the larger

    g + logit + sigma(q)

stays in. The search plays the best of the most visited moves by the same score. There is no Dirichlet noise, since g explores;
outside self-play g = 0. Below the root (section 5) a playout takes the move with the largest

    pi'(a) - N(a) / (1 + sum_b N(b)),        pi' = softmax(logit + sigma(completed q))

and the network learns pi' of the root (section 4). The completed q of a visited move is its mean value. For all other moves it
is the mixed value of equation 33, which combines the network's value of the node with the values of the visited moves, weighted
by their priors. With q scaled to [0, 1] between the smallest and the largest q at a node,

    sigma(q) = (50 + max_b N(b)) * 0.1 * q

as in section 7.3 and in mctx. For Go and chess the paper has a factor of 1 instead of 0.1, and (q + 1) / 2 instead of the
scaled q (appendix F). No gain was found with that: docs/training.md, "The scale of q in Gumbel search".

All q are for the side to move at the node. Each move is searched with a new tree, so that the root's moves have n visits
after n playouts.

In a round, every move still considered is visited once, whatever the others' values turn out to be. What happens below a move
depends on nothing outside its subtree. The playouts of a round therefore give the same tree one after the other or together,
and with few games, several of them share a batch (`STATES_AT_ONCE`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import ceil, log2

import numpy as np

from games.protocol import PositionBatch
from training.inference.evaluators import Evaluator
from training.search.puct import Decisions, expect_at_least_one
from training.search.steps import StepsMaker, steps_of
from training.search.tree import Trees

VISIT_OFFSET = 50
VALUE_SCALE = 0.1
STATES_AT_ONCE = 64  # the most states in a batch of fewer games; larger batches gain little
SMALLEST = np.finfo(np.float32).tiny  # replaces a float32 prior of 0, since the logit of a legal move must be finite


@dataclass(frozen=True)
class GumbelSettings:
    """Settings of Gumbel search.

    Attributes:
        playouts: n, the number of playouts for each move, in addition to the evaluation of the position itself.
        considered: m, the number of moves considered at the root; all legal moves if there are fewer.
        search_depth: see `training.search.puct.PuctSettings`.
    """

    playouts: int = 32
    considered: int = 16
    search_depth: int = 0

    def __post_init__(self) -> None:
        expect_at_least_one(playouts=self.playouts, considered=self.considered)


@cache
def halving_schedule(considered: int, playouts: int) -> tuple[tuple[int, int], ...]:
    """Return for each playout: (number of moves still considered, visits so far of the move to visit next).

    Each of the ceil(log2 m) phases gives every remaining move the same number of visits, at least one. Playouts left
    over after the last phase go to the last two moves.
    """
    phases = max(1, ceil(log2(considered)))
    schedule: list[tuple[int, int]] = []
    left, visits = considered, 0
    while len(schedule) < playouts:
        for _ in range(max(1, playouts // (phases * left))):
            schedule += [(left, visits)] * left
            visits += 1
        left = max(min(2, considered), left // 2)
    return tuple(schedule[:playouts])


def playouts_at_once(games: int, considered: int) -> int:
    """Return the largest number of playouts in each of `games` trees whose new nodes form one batch for the network."""
    return max(1, min(considered, STATES_AT_ONCE // games))


@dataclass(frozen=True)
class Nodes:
    """The edges of K nodes in the form that the formulas need.

    Attributes:
        legal: [K, A] bool.
        prior: [K, A] float64, positive on legal moves and 0 elsewhere.
        visits: [K, A].
        mean_value: [K, A] 0 for moves without visits; for the side to move.
        value: [K] the network's value, for the side to move.
    """

    legal: np.ndarray
    prior: np.ndarray
    visits: np.ndarray
    mean_value: np.ndarray
    value: np.ndarray

    def completed(self) -> np.ndarray:
        """Return the completed q, [K, A]: the mean value of each visited move, and the mixed value for all others."""
        visited = self.visits > 0
        total = self.visits.sum(axis=1)
        weight = np.where(visited, self.prior, 0.0)
        weighted = (weight * self.mean_value).sum(axis=1) / np.maximum(weight.sum(axis=1), SMALLEST)
        mixed_value = (self.value + total * weighted) / (1 + total)
        return np.where(visited, self.mean_value, mixed_value[:, None])

    def sigma(self) -> np.ndarray:
        """Return sigma(completed q), [K, A], 0 for illegal moves."""
        completed = self.completed()
        smallest = np.where(self.legal, completed, np.inf).min(axis=1, keepdims=True)
        largest = np.where(self.legal, completed, -np.inf).max(axis=1, keepdims=True)
        scaled = (completed - smallest) / np.maximum(largest - smallest, 1e-8)
        scale = VALUE_SCALE * (VISIT_OFFSET + self.visits.max(axis=1, keepdims=True))
        return np.where(self.legal, scale * scaled, 0.0)

    def improved_policy(self) -> np.ndarray:
        """Return pi', [K, A], 0 for illegal moves."""
        sigma = self.sigma()
        policy = self.prior * np.exp(sigma - sigma.max(axis=1, keepdims=True))
        return policy / policy.sum(axis=1, keepdims=True)


class GumbelSearch:
    """Gumbel AlphaZero search of G games in lockstep.

    Args:
        games: G, the number of games.
        actions: A, the number of actions of the game.
        model: a network that evaluates positions, or a learnt model.
        settings: the search settings.
        rng: draws the Gumbel numbers.
    """

    def __init__(
        self, games: int, actions: int, model: Evaluator | StepsMaker, settings: GumbelSettings, rng: np.random.Generator
    ) -> None:
        self.trees = Trees(games, actions, capacity=settings.playouts + 1)
        self._steps = steps_of(model, settings.search_depth)
        self._settings = settings
        self._rng = rng
        self._games = np.arange(games)

    def decide(self, boards: PositionBatch, is_selfplay: bool, fast_playouts: int | None = None) -> Decisions:
        """See LockstepSearch. In self-play, g is drawn for every position; otherwise, and in a fast search, it is 0."""
        trees, games, legal, steps = self.trees, self._games, boards.legal, self._steps
        settings = self._settings if fast_playouts is None else replace(self._settings, playouts=fast_playouts)
        steps.begin(boards, len(trees) * trees.capacity)
        trees.clear(games)
        trees.expand_roots(games, steps)
        rows = trees.root_rows(games)
        gumbel = np.zeros(legal.shape)
        if is_selfplay and fast_playouts is None:
            gumbel[legal] = self._rng.gumbel(size=int(legal.sum()))
        halving = _Halving(gumbel, self._nodes(rows), settings)
        most, number = playouts_at_once(len(games), settings.considered), 0
        while number < settings.playouts:
            moves = halving.choose(number, self._nodes(rows), most)
            count = moves.shape[1]
            trees.playouts(np.repeat(games, count), steps, self._choose, lambda _, moves=moves: moves.ravel())  # type: ignore[misc]
            number += count
        nodes = self._nodes(rows)
        policies = nodes.improved_policy()
        # The value of playing pi'. The mean over the visits is lower: halving visits every considered move, good or bad.
        values = (policies * nodes.completed()).sum(axis=1)
        return Decisions(halving.best(nodes), policies, nodes.visits, values)

    def _nodes(self, rows: np.ndarray) -> Nodes:
        trees = self.trees
        mean_value, visits = trees.mean_value[rows], trees.edge_visits[rows]
        legal = mean_value != -np.inf
        prior = np.where(legal, np.maximum(trees.prior[rows].astype(np.float64), SMALLEST), 0.0)
        return Nodes(legal, prior, visits, np.where(visits > 0, mean_value, 0.0), trees.node_value[rows])

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        """Return the move to take from each node below the root."""
        nodes = self._nodes(rows)
        share = nodes.visits / (1 + nodes.visits.sum(axis=1, keepdims=True))
        return np.where(nodes.legal, nodes.improved_policy() - share, -np.inf).argmax(axis=1)

    def advance(self, moves: np.ndarray) -> None:
        """See LockstepSearch; no tree is kept."""

    def restart(self, games: np.ndarray) -> None:
        """See LockstepSearch; there is no tree to forget."""


class _Halving:
    """Sequential halving at K roots, which may differ in their number of considered moves.

    Args:
        gumbel: [K, A] g.
        nodes: the roots, without visits.
        settings: provides n and m.
    """

    def __init__(self, gumbel: np.ndarray, nodes: Nodes, settings: GumbelSettings) -> None:
        self._fixed = np.where(nodes.legal, gumbel + np.log(np.where(nodes.legal, nodes.prior, 1.0)), -np.inf)
        considered = np.minimum(settings.considered, nodes.legal.sum(axis=1))
        # [K, n, 2]: moves left and visits so far, for each playout.
        self._schedule = np.array([halving_schedule(int(m), settings.playouts) for m in considered])
        self._left = considered
        self._considered = _largest(self._fixed, considered)

    def choose(self, number: int, nodes: Nodes, most: int) -> np.ndarray:
        """Return the moves of the playouts from `number` on, [K, C]: the best of the moves still to be visited in this round.

        C is at most `most`, and at most what is left of the round of any root. It is 1 in a round that the number of playouts
        cuts short: there each value decides which move is next.
        """
        left, visits = self._schedule[:, number].T
        scores = self._fixed + nodes.sigma()
        if (left < self._left).any():
            self._considered &= _largest(np.where(self._considered, scores, -np.inf), left)
            self._left = left
        due = self._considered & (nodes.visits == visits[:, None])
        due_scores = np.where(due, scores, -np.inf)
        if most > 1 and (unvisited := due.sum(axis=1)).max() <= self._schedule.shape[1] - number:
            return np.argsort(-due_scores, axis=1, kind="stable")[:, : min(most, unvisited.min())]
        return due_scores.argmax(axis=1)[:, None]

    def best(self, nodes: Nodes) -> np.ndarray:
        """Return the best of the most visited moves of each root, [K]."""
        most = nodes.visits == nodes.visits.max(axis=1, keepdims=True)
        return np.where(most, self._fixed + nodes.sigma(), -np.inf).argmax(axis=1)


def _largest(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return [K, A] bool, which marks the `counts` [K] largest of the scores [K, A] in each row; ties go to the first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(scores.shape[1])[None, :], axis=1)
    return rank < counts[:, None]
