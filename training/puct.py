"""PUCT search for many games in lockstep, after AlphaZero (Silver et al. 2017, Methods; Silver et al. 2018).

At each node a playout takes the move with the largest

    Q + c_puct * P * sqrt(N_parent) / (1 + N)

where N_parent is the number of visits of the node itself, including the visit that expanded it. Ties go to the lowest move
number. Q is seen by the player who chooses. In self-play, the tree is kept from move to move, Dirichlet noise is mixed into the
priors of the root's legal moves, and the first moves of a game are drawn in proportion to their visits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from training.boards import Boards
from training.inference import StateEvaluator
from training.tree import Trees

DIRICHLET_ALPHA = 0.3
DIRICHLET_EPSILON = 0.25
LOW_TEMPERATURE = 1e-3


@dataclass(frozen=True)
class Decisions:
    """The result of searching G positions.

    Attributes:
        moves: [G] the move to play.
        policies: [G, A] float64, the policy for the network to learn; 0 on taken points; each row sums to 1.
        visits: [G, A] the number of playouts through each move of the root.
        values: [G] the value that the search gives the position, seen by the side to move.
    """

    moves: np.ndarray
    policies: np.ndarray
    visits: np.ndarray
    values: np.ndarray


class LockstepSearch(Protocol):
    """A search for G games in lockstep; the games may be at different moves."""

    def decide(self, boards: Boards, is_selfplay: bool) -> Decisions:
        """Search these positions; no game is over, and `boards` is not changed."""

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
    """

    playouts: int = 400
    c_puct: float = 5.0
    first_n_moves: int = 12


class PuctSearch:
    """PUCT search for G games in lockstep.

    Args:
        games: G, the number of games.
        points: A, the number of points on the board.
        evaluate: the network.
        settings: the search settings.
        rng: draws the noise and the moves.
    """

    def __init__(
        self, games: int, points: int, evaluate: StateEvaluator, settings: PuctSettings, rng: np.random.Generator
    ) -> None:
        self.trees = Trees(games, points, capacity=2 * settings.playouts + 1)
        self._evaluate = evaluate
        self._settings = settings
        self._rng = rng
        self._games = np.arange(games)

    def decide(self, boards: Boards, is_selfplay: bool) -> Decisions:
        """See LockstepSearch. Self-play adds noise at the roots, and draws the first moves at temperature 1.

        The policies are always the visit shares, regardless of the temperature at which the moves are drawn.
        """
        self.run(boards, is_selfplay)
        visits = self.root_visits()
        early = is_selfplay & (boards.length < self._settings.first_n_moves)
        chances = visit_policies(visits, boards.legal, np.where(early, 1.0, LOW_TEMPERATURE))
        policies = visit_policies(visits, boards.legal, np.ones(len(visits)))
        rows = self.trees.root_rows(self._games)
        means = np.where(visits > 0, self.trees.mean_value[rows], 0.0)
        values = (visits * means).sum(axis=1) / np.maximum(1, visits.sum(axis=1))
        return Decisions(draw_moves(chances, self._rng), policies, visits, values)

    def run(self, boards: Boards, is_selfplay: bool) -> None:
        """Run the playouts in every tree; in an empty tree, the expansion of the root counts as the first."""
        trees, playouts = self.trees, self._settings.playouts
        trees.make_room(playouts)
        empty = trees.size == 0
        if empty.any():
            trees.expand_roots(self._games[empty], boards, self._evaluate)
        if is_selfplay:
            self._add_noise(boards.legal)
        for number in range(playouts):
            games = self._games[~empty] if number == playouts - 1 else self._games
            if games.size:
                trees.playout(games, boards, self._evaluate, self._choose)

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        """Return the move with the largest selection value at each node."""
        trees = self.trees
        # The same order of operations and the same precision as in the handout's search, so that the trees are identical.
        bonus = np.multiply(trees.prior[rows], self._settings.c_puct, dtype=np.float64)
        bonus *= np.sqrt(trees.node_visits[rows])[:, None]
        bonus /= 1 + trees.edge_visits[rows]
        bonus += trees.mean_value[rows]
        return bonus.argmax(axis=1)

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
        """See LockstepSearch; the subtree below each move is kept."""
        self.trees.keep_subtrees(self._games, moves)

    def restart(self, games: np.ndarray) -> None:
        """See LockstepSearch."""
        self.trees.clear(games)


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


def draw_moves(policies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a move [G] from each policy [G, A]; a move of probability 0 is never drawn."""
    cumulative = policies.cumsum(axis=1)
    drawn = rng.random(len(policies)) * cumulative[:, -1]
    return (cumulative > drawn[:, None]).argmax(axis=1)
