"""What marks.csv must say about a student of a rehearsal, worked out from what the rehearsal made up.

This does not use the code that totals marks (`grader.instructor.marking`), but for reading schemes: otherwise a mistake there
would be expected here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from grader.assignment import Assignment
from grader.instructor.marking.schemes import LateRule, Scheme
from grader.instructor.rehearsal.pupils import MISSING

LATE = "late_minutes"
MINUTES_PER_DAY = 24 * 60
Points = Mapping[str, Fraction]
Cells = dict[str, Fraction | None]


@dataclass(frozen=True)
class Made:
    """What was made up for one student.

    Attributes:
        outcome: one of `grader.instructor.rehearsal.pupils.OUTCOMES`.
        late_minutes: None if the download does not say.
        checks: check -> points, as far as they are certain.
        by_hand, overrides: item -> points.
    """

    outcome: str
    late_minutes: int | None
    checks: Points
    by_hand: Points
    overrides: Points


@dataclass(frozen=True)
class Rules:
    """How points become a total; `rubric` is mark -> the ids of its items."""

    scheme: Scheme
    assignment: Assignment
    rubric: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class ExpectedMarks:
    """The line of a student.

    Attributes:
        cells: column -> number; None for an empty cell, or for the total if it is incomplete.
        taken: the checks whose points are not certain, so that those of the result are expected.
    """

    cells: Cells
    taken: tuple[str, ...]


def expected_marks(made: Made, graded: Points, rules: Rules) -> ExpectedMarks:
    """Return the line that a student must have.

    Args:
        graded: check -> points by the result; without the checks that could not be graded.
    """
    scheme, ids = rules.scheme, [check.id for check in rules.assignment.checks]
    if made.outcome == MISSING:
        zeros = [*(unit.id for unit in scheme.units), *(part.id for part in scheme.parts), "above_cap", "penalty", "total"]
        return ExpectedMarks(dict.fromkeys(zeros, Fraction(0)), ())
    known = {check: points for check, points in {**graded, **made.checks}.items() if check in graded} | dict(made.overrides)
    cells: Cells = {check: known.get(check) for check in ids}
    taken = tuple(check for check in ids if check in graded and check not in (*made.checks, *made.overrides))
    values = dict(cells)
    for mark in (unit.id for unit in scheme.units if unit.id not in ids):
        given = _given(mark, made, rules.rubric.get(mark, ()))
        cells |= given
        points = [value for value in given.values() if value is not None]
        complete = given[mark] is not None or (len(given) > 1 and len(points) == len(given) - 1)
        values[mark] = sum(points, Fraction(0)) if complete else None
    parts: Cells = {}
    for part in scheme.parts:
        units = scheme.counted_by(part)
        earned = [value for unit in units if (value := values[unit.id]) is not None]
        most = sum(Fraction(str(unit.points)) for unit in units)
        scaled = scheme.full_points(part) * sum(earned, Fraction(0)) / most if len(earned) == len(units) else None
        parts[part.id] = made.overrides.get(part.id, scaled)
    minutes = made.overrides.get(LATE, None if made.late_minutes is None else Fraction(made.late_minutes))
    cells |= parts | {LATE: minutes}
    return ExpectedMarks(cells | _total(list(parts.values()), minutes, scheme), taken)


def _given(mark: str, made: Made, items: Sequence[str]) -> Cells:
    """Return the cells of a mark: its own, and those of its items, as people gave them."""
    if mark in made.overrides or mark in made.by_hand:
        return {mark: made.overrides.get(mark, made.by_hand.get(mark)), **dict.fromkeys(items)}
    return {mark: None, **{item: made.overrides.get(item, made.by_hand.get(item)) for item in items}}


def _total(parts: Sequence[Fraction | None], minutes: Fraction | None, scheme: Scheme) -> Cells:
    points = [part for part in parts if part is not None]
    if len(points) < len(parts) or (minutes is None and scheme.late):
        return dict.fromkeys(("above_cap", "penalty", "total"))
    whole = sum(points, Fraction(0))
    capped = min(whole, scheme.most)
    penalty = min(capped, _lost(capped, minutes or Fraction(0), scheme.late)) if scheme.late else Fraction(0)
    steps = (capped - penalty) / scheme.rounding.step
    rounded = {"up": ceil, "down": floor, "nearest": lambda exact: floor(exact + Fraction(1, 2))}[scheme.rounding.how](steps)
    return {"above_cap": whole - capped, "penalty": penalty, "total": rounded * scheme.rounding.step}


def _lost(total: Fraction, minutes: Fraction, late: LateRule) -> Fraction:
    days = ceil(minutes / MINUTES_PER_DAY) if minutes > late.grace_minutes else 0
    if days > late.latest_days:
        return total
    return days * (total * late.per_day / 100 if late.unit == "percent" else late.per_day)
