"""The score formulas: how the results of a match become points.

The grader gives points by the formula that `[score.win_rate]` of assignment.toml names, and `Minimax/evaluate.py`, which may
not import the grader, ends a match with `--stop decided` when those points are known. So the formulas lie below both. The
arena takes any formula that is passed in (`arena.statistics.stopping.PointsFormula`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from common.errors import UsageError

FULL_MARKS_AT = Fraction(9, 10)  # a score rate, in which draws are half wins; the score (W - L) / N is then 0.8


@dataclass(frozen=True)
class Formula:
    """How a match becomes points.

    Attributes:
        name: the formula's name in assignment.toml.
        draw: what a draw adds to the mean that the points depend on; a win adds 1, a loss nothing.
        exact_points: (exact mean in [0, 1], exact full points) -> exact points; never falls as the mean grows.
    """

    name: str
    draw: Fraction
    exact_points: Callable[[Fraction, Fraction], Fraction]

    def points(self, wins: int, losses: int, plays: int, points: float) -> float:
        """Return the points for a match, at most `points`; exact up to the last conversion.

        Raises:
            ValueError: there is no game, or the counts contradict each other.
        """
        if plays < 1 or wins < 0 or losses < 0 or wins + losses > plays:
            raise ValueError(f"expected a match of at least one game; got {wins} wins and {losses} losses in {plays} games")
        return self.points_at((wins + self.draw * (plays - wins - losses)) / plays, points)

    def points_at(self, mean: Fraction, points: float) -> float:
        """Return the points for a mean in [0, 1], at most `points`."""
        # `points` is read as a decimal: 0.1 in assignment.toml is exactly a tenth.
        return float(self.exact_points(mean, Fraction(str(points))))


def _shifted(mean: Fraction, full: Fraction) -> Fraction:
    # (score + 1) / 1.8 with score = (W - L) / N is the score rate divided by 0.9.
    return Fraction(floor(full * min(Fraction(1), mean / FULL_MARKS_AT)))


FORMULAS = {
    # floor(points * min(1, (score + 1) / 1.8)), score = (W - L) / N: a draw is half a win, full marks from score 0.8.
    "shifted_score": Formula("shifted_score", Fraction(1, 2), _shifted),
    # points * W / N: a draw counts for nothing.
    "straight": Formula("straight", Fraction(0), lambda mean, full: full * mean),
}


def formula_named(name: str) -> Formula:
    """Return the formula with this name.

    Raises:
        UsageError: there is no such formula; the message names those that exist.
    """
    if name not in FORMULAS:
        raise UsageError(f"expected a score formula among {', '.join(FORMULAS)}; got {name!r}")
    return FORMULAS[name]
