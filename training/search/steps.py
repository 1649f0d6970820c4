"""What the edges of a search tree lead to. This is all that the searches know of a game or of a model of one.

The tree (`tree.py`) asks for the roots once and then for the nodes behind new edges. There are two answers:

    RulesSteps    the rules of a game lead to a position, and a network evaluates it (AlphaZero; here)
    LatentSteps   a learnt model leads to a latent state and evaluates it (MuZero; `latent.py`)

All values are for the side to move at the node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from games.protocol import PositionBatch, results_for_side_to_move
from training.inference.evaluators import Evaluator, evaluate_positions
from training.search.paths import Ways


@dataclass(frozen=True)
class Expansion:
    """What is known of M new nodes, L of which can be searched further.

    Attributes:
        values: [M] the model's value, or the result where the game is over.
        over: [M] bool, whether the game is over; the other L nodes can be searched further.
        probs: [L, A] float32, the probability of each move.
        legal: [L, A] bool, the moves that the search may take; None for all of them.
    """

    values: np.ndarray
    over: np.ndarray
    probs: np.ndarray | None = None
    legal: np.ndarray | None = None


class Steps(ABC):
    """The nodes of the trees of one search.

    Attributes:
        keeps_trees: whether a tree stays valid after a move was played; otherwise every move is searched with a new tree.
    """

    keeps_trees: bool

    @abstractmethod
    def begin(self, boards: PositionBatch, rows: int) -> None:
        """Take the positions at the roots of all G games, before any other call; the trees have room for `rows` nodes."""

    @abstractmethod
    def at_roots(self, games: np.ndarray, rows: np.ndarray) -> Expansion:
        """Return what is known of the roots of these games [M], whose nodes have the rows [M]."""

    @abstractmethod
    def behind_edges(self, games: np.ndarray, rows: np.ndarray, ways: Ways) -> Expansion:
        """Return what is known of new nodes.

        Args:
            games: [M] the game of each node; several nodes may be of one game.
            rows: [M] its row.
            ways: the ways to the M nodes.
        """


@runtime_checkable
class StepsMaker(Protocol):
    """A model that brings its own steps, in place of an evaluator of positions."""

    def new_steps(self) -> Steps:
        """Return the steps for one search."""
        ...


class RulesSteps(Steps):
    """The rules of a game, and a network for the positions to which they lead.

    The value of a finished game is its result by the rules, without a call of the network.

    Args:
        network: evaluates positions of games that are not over, all new ones in one batch.
        depth_limit: see `games.protocol.PositionBatch.for_search`. A depth is counted from the root, so a game that is cut off
            below one root goes on below the next, and no tree is kept.
    """

    def __init__(self, network: Evaluator, depth_limit: int = 0) -> None:
        self._network, self._depth_limit = network, depth_limit
        self.keeps_trees = depth_limit == 0
        self._boards: PositionBatch

    def begin(self, boards: PositionBatch, rows: int) -> None:
        """See Steps."""
        self._boards = boards.for_search(self._depth_limit)

    def at_roots(self, games: np.ndarray, rows: np.ndarray) -> Expansion:
        """See Steps."""
        return self._evaluate(self._boards.take(games))

    def behind_edges(self, games: np.ndarray, rows: np.ndarray, ways: Ways) -> Expansion:
        """See Steps."""
        positions = self._boards.take(games)
        positions.play_lines(ways.lines, ways.lengths)
        return self._evaluate(positions)

    def _evaluate(self, positions: PositionBatch) -> Expansion:
        values, over = results_for_side_to_move(positions), positions.over
        open_games = ~over
        if not open_games.any():
            return Expansion(values, over)
        leaves = positions if open_games.all() else positions.take(open_games)
        probs, values[open_games] = evaluate_positions(self._network, leaves)
        return Expansion(values, over, probs, leaves.legal)


def steps_of(model: Evaluator | StepsMaker, depth_limit: int) -> Steps:
    """Return the steps of a model that brings its own, and otherwise those of the rules; see RulesSteps."""
    return model.new_steps() if isinstance(model, StepsMaker) else RulesSteps(model, depth_limit)
