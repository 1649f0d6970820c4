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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

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
    """

    playouts: int = 400
    c_puct: float = 5.0
    first_n_moves: int = 12
    cooling_moves: int = 0
    q_scale: Literal["none", "tree", "siblings"] = "none"
    search_depth: int = 0


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

        The policies are always the visit shares, regardless of the temperature at which the moves are drawn.
        """
        self.run(boards, is_selfplay and fast_playouts is None, fast_playouts)
        visits = self.root_visits()
        chances = visit_policies(visits, boards.legal, self._temperature(boards.length, is_selfplay))
        policies = visit_policies(visits, boards.legal, np.ones(len(visits)))
        rows = self.trees.root_rows(self._games)
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
            is_selfplay: whether to mix noise into the priors of the roots.
            playouts: the number of playouts; None for that of the settings.
        """
        trees, steps = self.trees, self._steps
        playouts = playouts or self._settings.playouts
        if not steps.keeps_trees:
            self.restart(self._games)
        trees.make_room(playouts)
        steps.begin(boards, len(trees) * trees.capacity)
        empty = trees.size == 0
        if empty.any():
            trees.expand_roots(self._games[empty], steps)
        if is_selfplay:
            self._add_noise(boards.legal)
        for number in range(playouts):
            games = self._games[~empty] if number == playouts - 1 else self._games
            if games.size:
                paths = trees.playout(games, steps, self._choose)
                if self._settings.q_scale == "tree":
                    self._widen_range(paths)

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        """Return the move with the largest selection value at each node."""
        trees = self.trees
        # The same order of operations and the same precision as in the handout's search, so that the trees are identical.
        bonus = np.multiply(trees.prior[rows], self._settings.c_puct, dtype=np.float64)
        bonus *= np.sqrt(trees.node_visits[rows])[:, None]
        bonus /= 1 + trees.edge_visits[rows]
        bonus += trees.mean_value[rows] if self._settings.q_scale == "none" else self._scaled(rows)
        return bonus.argmax(axis=1)

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


def draw_moves(policies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a move [G] from each policy [G, A]; a move of probability 0 is never drawn."""
    cumulative = policies.cumsum(axis=1)
    drawn = rng.random(len(policies)) * cumulative[:, -1]
    return (cumulative > drawn[:, None]).argmax(axis=1)
