"""Elo ratings of several players from their matches, by maximum likelihood (Bradley and Terry 1952).

Each match is weighted by its number of effective games (arena.statistics.estimates). One drawn game is added to each match, so
that a player who has never dropped a point still gets a finite rating. Errors come from the inverse of the observed information
matrix. Player 0 has rating 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

ELO_PER_NAT = 400 / log(10)


@dataclass(frozen=True)
class RatedPair:
    """A match in which player `stronger` scored `points` in `games` effective games; it need not be the stronger player."""

    weaker: int
    stronger: int
    points: float
    games: float


def elo_ratings(count: int, pairs: Sequence[RatedPair]) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ratings by Newton's method.

    Args:
        count: the number of players.
        pairs: the matches, which must connect all players.

    Returns:
        Elo ratings [count] with player 0 at 0, and their covariance [count, count].
    """
    strength = np.zeros(count)
    for _ in range(100):
        gradient, information = np.zeros(count), np.zeros((count, count))
        for pair in pairs:
            low, high, games = pair.weaker, pair.stronger, pair.games + 1
            expected = 1 / (1 + np.exp(strength[low] - strength[high]))
            surplus = pair.points + 0.5 - games * expected
            gradient[high] += surplus
            gradient[low] -= surplus
            weight = games * expected * (1 - expected)
            information[[low, high], [low, high]] += weight
            information[[low, high], [high, low]] -= weight
        step = np.zeros(count)
        step[1:] = np.linalg.solve(information[1:, 1:], gradient[1:])
        strength += np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    covariance = np.zeros((count, count))
    covariance[1:, 1:] = np.linalg.inv(information[1:, 1:])
    return strength * ELO_PER_NAT, covariance * ELO_PER_NAT**2
