"""What a number of games says: score, interval, move times. Intervals assume independent games."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

Z_95 = 1.959963984540054


def wilson_95(successes: float, trials: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a proportion (Wilson 1927); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    p, z2 = successes / trials, Z_95 * Z_95
    middle = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z_95 * sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-int(share * 1000) * len(ordered) // 1000))
    return ordered[rank - 1]


def move_times(values: Sequence[float]) -> dict[str, float | None]:
    """median, p95 and max in seconds; None each without a move."""
    if not values:
        return {"median": None, "p95": None, "max": None}
    return {"median": percentile(values, 0.5), "p95": percentile(values, 0.95), "max": max(values)}
