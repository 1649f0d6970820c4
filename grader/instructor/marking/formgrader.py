"""Marks and corrections that people typed into formgrader, read from nbgrader's gradebook; nothing is written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.gradebook import open_gradebook
from grader.instructor.marking.items import Items
from grader.instructor.marking.tables import HandMark
from grader.instructor.notebook import NOTEBOOK, check_cell


def read_gradebook_marks(path: Path, assignment: Assignment, items: Items) -> dict[tuple[str, str], HandMark]:
    """Return (student, item) -> mark for every score that a person typed; the item is a check or an item of the rubric.

    Raises:
        UsageError: the database is missing or cannot be used, or holds a score for an unknown cell, beyond its points, or
            typed while the cell had other points.
    """
    if not path.is_file():
        raise UsageError(f"expected nbgrader's gradebook at {path}; there is no such file")
    cells = {check_cell(i): i for i in (*items.checks, *(name for names in items.rubric.values() for name in names))}
    found: dict[tuple[str, str], HandMark] = {}
    with open_gradebook(f"sqlite:///{path.resolve()}") as gradebook:
        for submission in gradebook.assignment_submissions(assignment.id):
            for notebook in submission.notebooks:
                if notebook.name != NOTEBOOK:
                    continue
                comments = {comment.name: comment.manual_comment or "" for comment in notebook.comments}
                for grade in notebook.grades:
                    if grade.manual_score is None and not grade.extra_credit:
                        continue
                    student = submission.student.id
                    where = f"{path}, {grade.name} of {student}"
                    if grade.name not in cells:
                        raise UsageError(f"{where}: expected a cell of assignment.toml or rubric.toml; got a score for another")
                    item = cells[grade.name]
                    found[student, item] = _mark(grade, comments.get(grade.name, ""), where, items.most[item])
    return found


def _mark(grade: Any, comment: str, where: str, most: Fraction) -> HandMark:
    if Fraction(str(grade.max_score)) != most:
        raise UsageError(
            f"{where}: the score was typed for {grade.max_score:g} points, but the item has {float(most):g} now: restore the "
            "points of the item"
        )
    points = None if grade.manual_score is None else Fraction(str(grade.manual_score))
    extra = Fraction(str(grade.extra_credit or 0))
    if points is not None and not 0 <= points <= most:
        raise UsageError(
            f"{where}: expected a score from 0 to {float(most):g}; got {grade.manual_score:g} (formgrader has a field for "
            "extra credit)"
        )
    if extra < 0:
        raise UsageError(f"{where}: expected extra credit of at least 0; got {grade.extra_credit:g}")
    return HandMark(points, " ".join(comment.split()), where, extra)
