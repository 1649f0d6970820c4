"""Elo of all players of a pool from their matches: the maximum of the likelihood of Bradley and Terry (1952).

Each match is weighed by its effective games (arena.statistics.estimates), with one drawn game added to each pair, so that a
match without a point lost has a finite answer. Errors follow from the inverse of the observed information. Player 0 is at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

ELO_PER_NAT = 400 / log(10)


@dataclass(frozen=True)
class Pair:
    """What a match says: the stronger's points among the effective games, by the order of the ladder."""

    weaker: int
    stronger: int
    points: float
    games: float


def ratings(count: int, pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """Elo [count] with the first at 0, and its covariance [count, count], by Newton's method.

    Args:
        pairs: must connect all engines.
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
