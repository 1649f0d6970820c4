"""Statistics of random draws: moves drawn by given probabilities, and noise from a Dirichlet distribution.

Both tests have a bound on how often they accuse a right solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf, log

import numpy as np

EXPONENTS = (-0.9, -0.75, -0.5, -0.25, -0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TINY = 1e-300


def log_improbability(chances: Sequence[np.ndarray], drawn: Sequence[int]) -> float:
    """How improbable it is that the outcomes are, taken together, as likely or as unlikely as these.

    Let p be the probability that a draw's outcome had. E[p^t] is known for each draw and each t. By Markov's inequality the
    product of p^t over all draws exceeds its expectation by a factor of 1 / a with a probability of at most a, even if the
    probabilities depend on earlier draws. Consistently large p (t > 0) mean that the draw prefers likely outcomes,
    consistently small p (t < 0) that it follows other probabilities.

    Args:
        chances: for each draw, the probabilities of its outcomes; each array sums to 1.
        drawn: the index of each outcome.

    Returns:
        The logarithm of an upper bound on the probability, over all exponents; at most 0.
    """
    hits = [max(float(chance[index]), TINY) for chance, index in zip(chances, drawn, strict=True)]
    seen = sum(log(hit) for hit in hits)
    bounds = []
    for t in EXPONENTS:
        expected = sum(log(float(np.sum(np.maximum(chance, TINY) ** (1 + t)))) for chance in chances)
        bounds.append(expected - t * seen)
    return min(0.0, min(bounds, default=inf) + log(len(EXPONENTS)))


def log_improbability_of_count(count: int, trials: int, chance: float) -> float:
    """The logarithm of the probability that at least `count` trials succeed, each with at most this chance."""
    tail = sum(comb(trials, n) * chance**n * (1 - chance) ** (trials - n) for n in range(count, trials + 1))
    return log(max(min(tail, 1.0), TINY))


def unevenness(distribution: np.ndarray) -> float:
    """The sum of the squared entries: 1 if one entry has everything, 1 / k for k equal entries."""
    return float(np.sum(np.square(distribution)))


def expected_unevenness(alpha: float, entries: int) -> float:
    """The mean of `unevenness` over draws from the symmetric Dirichlet(alpha)."""
    return (1 + alpha) / (1 + alpha * entries)


def fitting_alpha(mean_unevenness: float, entries: int) -> float:
    """The alpha whose draws have this mean `unevenness`; infinite for equal entries."""
    spare = entries * mean_unevenness - 1
    return (1 - mean_unevenness) / spare if spare > 0 else inf
