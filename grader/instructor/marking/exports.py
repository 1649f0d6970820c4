"""The tables of a class: marks.csv for people and other commands, canvas.csv and moodle.csv for the learning platforms.

Canvas recognises a student by `ID`, then `SIS User ID`, and the assignment by the number after its title. Moodle asks which
column holds the student: for a line whose cell is empty it would take the student of the line before, so a column of e-mail
addresses is written only if each student has one, and no two share one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from common.harmless_text import csv_cell
from grader.instructor.gradebook_entries import Student
from grader.instructor.marking.items import Items
from grader.instructor.marking.schemes import NO, OUTCOME, PERSON, YES, Item, Part
from grader.instructor.marking.standing import Change, Standing
from grader.instructor.marking.totals import PASS, Total, shown

MARKS, CANVAS, MOODLE = "marks.csv", "canvas.csv", "moodle.csv"
INCOMPLETE = "incomplete"
BOM = "\ufeff"


@dataclass(frozen=True)
class StudentMarks:
    """One student with everything that the tables show."""

    student: Student
    standing: Standing
    total: Total

    @property
    def final(self) -> bool:
        """Whether nothing has to be done before these marks count."""
        return self.total.total is not None and not self.standing.warning

    @property
    def note(self) -> str:
        """What a reader has to know about the total."""
        return "; ".join(filter(None, (*self.total.reasons, self.standing.warning, *self.standing.remarks)))


def marks_table(lines: Sequence[StudentMarks], items: Items) -> str:
    """Return marks.csv: points of each item and part, how the total follows from them, and what has to be known."""
    columns = _item_columns(lines, items)
    parts = list(items.parts)
    rows: list[Sequence[object]] = [(*PERSON, *columns, *parts, *OUTCOME)]
    for line in lines:
        standing, total = line.standing, line.total
        names = line.student.names
        rows.append(
            (
                *(line.student.id, names.get("first_name"), names.get("last_name")),
                *(shown(standing.points[i]) if i in standing.points else None for i in columns),
                *(total.parts[part] for part in parts),
                *(standing.submitted_at, standing.late_minutes),
                *(total.above_cap, total.penalty, total.rounding),
                "; ".join(map(_change, standing.changes)),
                "; ".join(standing.comments),
                INCOMPLETE if total.total is None else total.total,
                total.grade,
                YES if line.final else NO,
                items.scheme.name,
                line.note,
            )
        )
    return BOM + _csv(rows)


def canvas_table(lines: Sequence[StudentMarks], items: Items, assignment: str) -> str:
    """Return the table that Canvas imports; a student whose total is incomplete has an empty cell.

    Args:
        assignment: the heading of the column: the assignment's title in Canvas, and its number in brackets.
    """
    rows: list[Sequence[object]] = [
        ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment),
        ("    Points Possible", "", "", "", "", _number(shown(items.scheme.most))),
    ]
    for line in lines:
        names = line.student.names
        name = ", ".join(filter(None, (names.get("last_name"), names.get("first_name")))) or line.student.id
        rows.append((name, line.student.canvas_id, line.student.id, names.get("email"), "", _grade(line, items)))
    return _csv(rows)


def moodle_table(lines: Sequence[StudentMarks], items: Items) -> str:
    """Return the table that Moodle imports; a student whose total is incomplete has empty cells."""
    addresses = {line.student.names.get("email", "").casefold() for line in lines}
    with_email = "" not in addresses and len(addresses) == len(lines)
    rows: list[Sequence[object]] = [("ID number", *(["Email address"] * with_email), "Grade", "Feedback comments")]
    for line in lines:
        feedback = "" if line.total.total is None else _feedback(line, items)
        email = [line.student.names["email"]] if with_email else []
        rows.append((line.student.id, *email, _grade(line, items), feedback))
    return _csv(rows)


def _item_columns(lines: Sequence[StudentMarks], items: Items) -> list[str]:
    """Return the items in the order of the scheme; a mark is there as a whole or by its items, as it was given."""
    given = {i for line in lines for i, points in line.standing.points.items() if points or line.standing.handed_in}
    columns: list[str] = []
    for unit in items.scheme.units:
        details = [name for name in items.rubric.get(unit.id, ()) if name in given]
        if details:
            columns += items.rubric[unit.id]
        if unit.id in given or not details:
            columns.append(unit.id)
    return columns + [item.id for item in items.scheme.extra]


def _grade(line: StudentMarks, items: Items) -> str:
    """Return the cell of a platform: the total, or full points and 0 for pass and fail."""
    if line.total.total is not None and line.total.grade:
        return _number(shown(items.scheme.most if line.total.grade == PASS else Fraction(0)))
    return _number(line.total.total)


def _feedback(line: StudentMarks, items: Items) -> str:
    total = line.total
    titled: tuple[Item | Part, ...] = (*items.scheme.parts, *items.scheme.extra)
    titles = {item.id: item.title for item in titled}
    parts = [
        f"{titles[part]}: {_number(points)} of {_number(shown(items.parts[part]))}." for part, points in total.parts.items()
    ]
    parts += [f"{titles[item]}: {_number(points)}." for item, points in total.extra.items()]
    if total.above_cap:
        parts.append(f"Above the maximum of {_number(shown(items.scheme.most))}: {_number(-total.above_cap)}.")
    if total.penalty:
        parts.append(f"{line.standing.late_minutes} minutes late: {_number(-total.penalty)}.")
    parts.append(f"Total: {_number(total.total)}{f', {total.grade}' if total.grade else ''}.")
    return " ".join((*parts, *line.standing.comments))


def _change(change: Change) -> str:
    points = _number(shown(change.points))
    before = "nothing" if change.before is None else _number(shown(change.before))
    decided = f"{points}, as before" if points == before else f"{points} instead of {before}"
    return f"{change.item} {decided}, because {change.reason} ({change.by})"


def _number(points: Decimal | None) -> str:
    """Return plain decimal text, without an exponent; empty for None."""
    return "" if points is None else csv_cell(points)


def _csv(rows: Iterable[Sequence[object]]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(map(csv_cell, row) for row in rows)
    return file.getvalue()
