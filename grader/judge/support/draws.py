"""Statistics of random draws: moves drawn with given probabilities, and noise from a Dirichlet distribution.

For both tests there is a bound on how often they accuse a correct solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf, log

import numpy as np

EXPONENTS = (-0.9, -0.75, -0.5, -0.25, -0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TINY = 1e-300


def log_improbability(chances: Sequence[np.ndarray], drawn: Sequence[int]) -> float:
    """Return how improbable it is that outcomes are as likely, or as unlikely, as these taken together.

    Let p be the probability of the outcome that was drawn. E[p^t] is known for each draw and each t. By Markov's inequality,
    the probability that the product of p^t over all draws exceeds its expectation by a factor of 1 / a is at most a, even if
    the probabilities depend on earlier draws. Consistently large p (t > 0) mean that the draws favour likely outcomes;
    consistently small p (t < 0) mean that they follow other probabilities.

    Args:
        chances: for each draw, the probabilities of all outcomes; each array sums to 1.
        drawn: for each draw, the index of its outcome.

    Returns:
        The logarithm of an upper bound on the probability, taken over all EXPONENTS; at most 0.
    """
    hits = [max(float(chance[index]), TINY) for chance, index in zip(chances, drawn, strict=True)]
    seen = sum(log(hit) for hit in hits)
    bounds = []
    for t in EXPONENTS:
        expected = sum(log(float(np.sum(np.maximum(chance, TINY) ** (1 + t)))) for chance in chances)
        bounds.append(expected - t * seen)
    return min(0.0, min(bounds, default=inf) + log(len(EXPONENTS)))


def log_improbability_of_count(count: int, trials: int, chance: float) -> float:
    """Return the logarithm of the probability of at least `count` successes; an upper bound if a trial's chance is lower."""
    tail = sum(comb(trials, n) * chance**n * (1 - chance) ** (trials - n) for n in range(count, trials + 1))
    return log(max(min(tail, 1.0), TINY))


def unevenness(distribution: np.ndarray) -> float:
    """Return the sum of the squared entries: 1 if one entry has everything, 1 / k for k equal entries."""
    return float(np.sum(np.square(distribution)))


def fitting_alpha(mean_unevenness: float, entries: int) -> float:
    """Return the alpha whose draws have this mean `unevenness`, (1 + alpha) / (1 + alpha * entries).

    It is infinity if all entries are equal.
    """
    spare = entries * mean_unevenness - 1
    return (1 - mean_unevenness) / spare if spare > 0 else inf


def noise_share(mixtures: Sequence[np.ndarray], priors: np.ndarray) -> float:
    """Return the largest share e for which every mixture is (1 - e) p + e eta, with the priors p and a distribution eta.

    If some entries of eta are nearly 0, as in draws from Dirichlet(0.3), this is the share that was used; flat noise makes it
    look smaller.
    """
    return 1.0 - float(np.min(np.asarray(mixtures) / priors))
