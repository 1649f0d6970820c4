"""The items of a class's marks: what has points, how many, and in which columns of marks.csv it stands."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from grader.assignment import Assignment, Check
from grader.instructor.marking.schemes import Scheme
from grader.instructor.notebook import RubricItem


@dataclass(frozen=True)
class Items:
    """Everything that has points under a scheme.

    An item of the rubric has the id `MARK.ITEM`, such as report.engine. A mark is given as a whole or by all its items.

    Attributes:
        checks: ids of the checks.
        rubric: mark -> the ids of its items.
        most: id of a check, a mark, an item of the rubric, by hand or of extra credit -> its full points.
        parts: id of a part -> its full points.
    """

    scheme: Scheme
    checks: tuple[str, ...]
    rubric: dict[str, tuple[str, ...]]
    most: dict[str, Fraction]
    parts: dict[str, Fraction]

    @property
    def marks(self) -> tuple[Check, ...]:
        """What people give points for: the marks of the assignment and the scheme's items by hand."""
        return tuple(unit for unit in self.scheme.units if unit.id not in self.checks)

    @classmethod
    def of(cls, scheme: Scheme, assignment: Assignment, rubric: tuple[RubricItem, ...]) -> Items:
        """Return the items of an assignment with a rubric, under a scheme."""
        ids = {mark.id: tuple(f"{item.mark}.{item.id}" for item in rubric if item.mark == mark.id) for mark in assignment.marks}
        points = {f"{item.mark}.{item.id}": Fraction(str(item.points)) for item in rubric}
        most: dict[str, Fraction] = {}
        for unit in scheme.units:
            most |= {i: points[i] for i in ids.get(unit.id, ())} | {unit.id: Fraction(str(unit.points))}
        most |= {item.id: item.points for item in scheme.extra}
        checks = tuple(check.id for check in assignment.checks)
        return cls(scheme, checks, ids, most, {part.id: scheme.full_points(part) for part in scheme.parts})
