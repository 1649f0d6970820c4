"""The score formulas: how the results of a match become points.

The grader awards points by the formula named in `[score.win_rate]` of assignment.toml. `Minimax/evaluate.py --stop decided`
ends a match when those points are known, but may not import the grader. So the formulas live here, where both can import them.
The arena accepts any formula (`arena.statistics.stopping.PointsFormula`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from common.errors import UsageError

FULL_MARKS_AT = Fraction(9, 10)  # score rate with draws as half wins; there the score (W - L) / N is 0.8


@dataclass(frozen=True)
class Formula:
    """How the result of a match becomes points.

    Attributes:
        name: the name used in assignment.toml.
        draw: value of a draw in the mean that determines the points; a win counts 1 and a loss 0.
        exact_points: (exact mean in [0, 1], exact full points) -> exact points; never decreases as the mean increases.
    """

    name: str
    draw: Fraction
    exact_points: Callable[[Fraction, Fraction], Fraction]

    def points(self, wins: int, losses: int, plays: int, points: float) -> float:
        """Return the points for a match, at most `points`. The arithmetic is exact up to the final conversion to float.

        Raises:
            ValueError: there are no games, or the counts contradict each other.
        """
        if plays < 1 or wins < 0 or losses < 0 or wins + losses > plays:
            raise ValueError(f"expected a match of at least one game; got {wins} wins and {losses} losses in {plays} games")
        return self.points_at((wins + self.draw * (plays - wins - losses)) / plays, points)

    def points_at(self, mean: Fraction, points: float) -> float:
        """Return the points for a mean in [0, 1], at most `points`."""
        # Convert by way of the decimal text, so that 0.1 in assignment.toml means exactly one tenth.
        return float(self.exact_points(mean, Fraction(str(points))))


def _shifted(mean: Fraction, full: Fraction) -> Fraction:
    # (score + 1) / 1.8 with score = (W - L) / N is the score rate divided by 0.9.
    return full if mean >= FULL_MARKS_AT else Fraction(floor(full * mean / FULL_MARKS_AT))


FORMULAS = {
    # floor(points * (score + 1) / 1.8), score = (W - L) / N, below full marks at score 0.8: a draw is half a win.
    "shifted_score": Formula("shifted_score", Fraction(1, 2), _shifted),
    # points * W / N: a draw counts as a loss.
    "straight": Formula("straight", Fraction(0), lambda mean, full: full * mean),
}


def formula_named(name: str) -> Formula:
    """Return the formula with this name.

    Raises:
        UsageError: there is no such formula; the message lists those that exist.
    """
    if name not in FORMULAS:
        raise UsageError(f"expected a score formula among {', '.join(FORMULAS)}; got {name!r}")
    return FORMULAS[name]


def format_points(value: float) -> str:
    """Return points as text, with at most two decimals."""
    return f"{round(value, 2):g}"
