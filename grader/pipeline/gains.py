"""Where points are: subtotals by part, and the checks that fell short, the nearest gain first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from grader.pipeline.results import COULD_NOT_GRADE, FAILED, PARTIAL, Results, Verdict

UNWRITTEN = "Not written yet"


@dataclass(frozen=True)
class Subtotal:
    """The points of one part, such as mcts_pure: the checks whose ids begin with its name, or a mark."""

    name: str
    verdicts: tuple[Verdict, ...]

    @property
    def points(self) -> float:
        return round(sum(verdict.points for verdict in self.verdicts), 2)

    @property
    def max_points(self) -> float:
        return round(sum(verdict.max_points for verdict in self.verdicts), 2)

    @property
    def section(self) -> str:
        """The section of the handout that all its checks belong to, or else their chapter."""
        numbers = {verdict.handout for verdict in self.verdicts}
        return numbers.pop() if len(numbers) == 1 else self.verdicts[0].handout.split(".")[0]


def subtotals(results: Results) -> list[Subtotal]:
    """Return the points by part, in the order of the verdicts."""
    groups = groupby(results.verdicts, key=lambda verdict: verdict.id.split(".")[0])
    return [Subtotal(name, tuple(verdicts)) for name, verdicts in groups]


def missing_points(verdict: Verdict) -> float:
    """Return the points that a check can still give."""
    return round(verdict.max_points - verdict.points, 2)


def nearest_first(verdicts: Sequence[Verdict], long: Collection[str] = ()) -> list[Verdict]:
    """Return the checks that fell short, the nearest gain first.

    Code that is written is nearer than code that is not. The match and the training come last, since they rest on all other
    checks of their part. A check that gave a share of its points is nearer than one that failed. Otherwise the assignment's
    order counts.

    Args:
        long: the ids of the checks of the match and the training.
    """
    short = [verdict for verdict in verdicts if verdict.status in (FAILED, PARTIAL)]
    return sorted(
        short,
        key=lambda verdict: (verdict.message.startswith(UNWRITTEN), verdict.id in long, verdict.status != PARTIAL),
    )


def points_in_words(results: Results, long: Collection[str] = ()) -> str:
    """Return the sum of the points and the nearest gain in one or two sentences; `long` is that of `nearest_first`."""
    total = f"{results.points:g} of {results.max_program_points:g} points in these checks."
    if results.could_not_grade:
        total += f" Not decided: {', '.join(results.could_not_grade)}."
    near = nearest_first(results.program, long)
    return f"{total} Nearest gain: {near[0].id}, {missing_points(near[0]):g} more." if near else total


def failures_first(results: Results, long: Collection[str] = ()) -> list[Verdict]:
    """Return all verdicts: what fell short first, then what a person has to look at, then what passed or is not marked yet."""
    near = nearest_first(results.program, long)
    unsure = [verdict for verdict in results.verdicts if verdict.status == COULD_NOT_GRADE]
    return [*near, *unsure, *(verdict for verdict in results.verdicts if verdict not in near and verdict not in unsure)]
