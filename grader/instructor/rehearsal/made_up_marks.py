"""The marks that the teachers of a made-up class give, and their decisions against the program.

Some students are marked as a whole, some by the items of the rubric, and a few not completely. The tables are those of
`python -m grader marks --by-hand` and `--overrides`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from grader.assignment import Assignment
from grader.instructor.marking.schemes import LATE_MINUTES
from grader.instructor.notebook import RubricItem
from grader.instructor.rehearsal.pupils import GRADED, Pupil, uncertain_checks

WHOLE, BY_ITEMS, GAP, UNMARKED = "whole", "by items", "gap", "unmarked"
HABITS = (WHOLE, BY_ITEMS, GAP, WHOLE, BY_ITEMS, UNMARKED)
"""How the first graded students are marked; the others are marked as a whole and by items in turn."""
COMMENTS = ("", 'Clear, but "fast" is no measurement.', "", "=3 figures are missing", "写得很好", "")
TEACHER = "Prof. Example, Dr."
BY_HAND_COLUMNS = ("id", "item", "points", "comment")
OVERRIDE_COLUMNS = ("id", "item", "points", "reason", "by")
Rows = Iterator[Sequence[object]]


def habit_of(number: int) -> str:
    """Return how the graded student with this number, from 0, is marked."""
    return HABITS[number] if number < len(HABITS) else HABITS[number % 2]


def by_hand_rows(pupils: Sequence[Pupil], assignment: Assignment, rubric: Sequence[RubricItem], rng: Random) -> Rows:
    """Yield the marks of the graded students; those whose archive cannot be read are not marked."""
    yield BY_HAND_COLUMNS
    for number, pupil in enumerate(_graded(pupils)):
        habit, comment = habit_of(number), COMMENTS[number % len(COMMENTS)]
        for mark in assignment.marks:
            items = [item for item in rubric if item.mark == mark.id]
            if habit == WHOLE or not items:
                yield pupil.person.id, mark.id, _half_points(mark.points, rng), comment
                continue
            given = items[:-1] if habit == GAP else items
            for item in given if habit != UNMARKED else ():
                yield pupil.person.id, f"{mark.id}.{item.id}", rng.randint(0, int(item.points)), comment
                comment = ""


def override_rows(pupils: Sequence[Pupil], assignment: Assignment, rubric: Sequence[RubricItem]) -> Rows:
    """Yield a decision of each kind, for a student whom it can concern.

    One student gets points by a person for every check that is not certain, so that this total is known in advance.
    """
    yield OVERRIDE_COLUMNS
    graded = list(enumerate(_graded(pupils)))
    for _, pupil in [one for one in graded if one[1].late][1:2]:  # the first one loses points
        yield pupil.person.id, LATE_MINUTES, 0, "The server was down until 2:00, as announced.", TEACHER
    for _, pupil in [one for one in graded if habit_of(one[0]) == WHOLE][:1]:
        for mark in assignment.marks[:1]:
            yield pupil.person.id, mark.id, f"{mark.points / 2:g}", "=mean of two markers", TEACHER
    for _, pupil in [one for one in graded if habit_of(one[0]) == BY_ITEMS][:1]:
        for item in rubric[:1]:
            yield pupil.person.id, f"{item.mark}.{item.id}", f"{item.points:g}", "The appendix had it.", TEACHER
    marked = [
        (uncertain_checks(pupil.sample, assignment), pupil)
        for number, pupil in graded
        if pupil.sample and habit_of(number) in (WHOLE, BY_ITEMS)
    ]
    for checks, pupil in sorted(marked, key=lambda one: len(one[0]))[:1]:
        for check in checks:
            yield pupil.person.id, check.id, f"{check.points / 2:g}", "Repeated by hand, in the office hour.", TEACHER


def _graded(pupils: Sequence[Pupil]) -> list[Pupil]:
    return [pupil for pupil in pupils if pupil.outcome == GRADED]


def _half_points(most: float, rng: Random) -> str:
    return f"{rng.randint(0, int(2 * most)) / 2:g}"
