"""Agents that play raw policies (see training.matches.Agent), and a function that plays their games side by side.

Illegal moves are removed from a network's policy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from games.protocol import PositionBatch
from training.inference.evaluators import StateEvaluator
from training.search.puct import draw_moves


class SampledPolicy:
    """Draws moves from a network's policy, as the policy networks of the paper do when they play each other.

    Args:
        evaluate: the network.
        rng: draws the moves.
    """

    def __init__(self, evaluate: StateEvaluator, rng: np.random.Generator) -> None:
        self._evaluate = evaluate
        self._rng = rng

    def choose(self, boards: PositionBatch) -> np.ndarray:
        """See Agent."""
        probs, _ = self._evaluate(boards.feature_planes())
        # A legal move keeps a positive probability even if the network's probability is 0 in float32.
        return draw_moves(np.where(boards.legal, np.maximum(probs, np.finfo(np.float32).tiny), 0.0), self._rng)


class UniformPolicy:
    """Draws from all legal moves with equal probability.

    Args:
        rng: draws the moves.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, boards: PositionBatch) -> np.ndarray:
        """See Agent."""
        return draw_moves(boards.legal.astype(np.float64), self._rng)


def play_to_end(boards: PositionBatch, choose: Callable[[PositionBatch, np.ndarray], np.ndarray]) -> np.ndarray:
    """Play games to their ends; `boards` is not changed.

    Args:
        boards: G games, in any position.
        choose: a function from the K games that are not over yet and their numbers [K] to their moves [K].

    Returns:
        The winners [G] int8, NOBODY for a draw.
    """
    winners = boards.winner.copy()
    games = np.flatnonzero(~boards.over)
    live = boards.take(games)
    while games.size:
        live.play(choose(live, games))
        ended = live.over
        winners[games[ended]] = live.winner[ended]
        games, live = games[~ended], live.take(~ended)
    return winners


def results_for(player: np.ndarray, winners: np.ndarray) -> np.ndarray:
    """Return the results for a player [G] of each game, [G] float32: 1 for a win, -1 for a loss, 0 for a draw."""
    return np.where(winners > 0, np.where(winners == player, 1.0, -1.0), 0.0).astype(np.float32)
