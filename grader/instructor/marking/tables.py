"""The tables that people and other commands hand to `marks`, as values: marks given by hand, overrides, collected.csv."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from common.csv_tables import listed, read_table
from common.errors import UsageError
from common.harmless_text import from_csv_cell
from common.near_names import meant, same_but_written_otherwise
from grader.instructor.collecting.attempts import UNKNOWN
from grader.instructor.collecting.outcomes import LATE_BY_CANVAS
from grader.instructor.collecting.record import RECORD, read_record, require_lab
from grader.instructor.marking.schemes import LATE_MINUTES

TOTAL = "total"
NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(frozen=True)
class Row:
    """A line of a table; `where` names the file and the line."""

    where: str
    cells: dict[str, str]


@dataclass(frozen=True)
class HandMark:
    """Points that a person gave for one item of one student.

    Attributes:
        points: None if a person has written a comment and no points yet.
        where: the place of the entry, for messages.
        extra: points that may exceed the item's points, from nbgrader's field for extra credit.
    """

    points: Fraction | None
    comment: str
    where: str
    extra: Fraction = Fraction(0)


@dataclass(frozen=True)
class Override:
    """A person's decision that replaces the points of an item or a part, or the late minutes."""

    points: Fraction
    reason: str
    by: str


@dataclass(frozen=True)
class Handed:
    """What collected.csv says about one student; `submitted` and `late_minutes` are None if they are not known.

    Attributes:
        counted: the file name of the attempt that counts; empty if none does.
        marked_late: whether the platform marks this attempt as late and gives no time.
    """

    outcome: str
    attempts: int
    submitted: datetime | None
    late_minutes: int | None
    counted: str = ""
    marked_late: bool = False


@dataclass(frozen=True)
class Collected:
    """What collected.csv says.

    Attributes:
        students: the students of the roster.
        unknown: the names of submissions whose owner is not known.
        strangers: the ids of other lines, which the roster lacks.
    """

    students: dict[str, Handed]
    unknown: tuple[str, ...]
    strangers: tuple[str, ...]


def read_rows(path: Path, what: str, columns: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """Read a table with exactly these columns, in any order. Empty lines are left out.

    Raises:
        UsageError: the file cannot be read, or has other columns, a line with more or fewer cells, or an unbalanced quote.
    """
    header, lines = read_table(path, what)
    lacking = [name for name in columns if name not in header]
    strange = [name for name in header if name not in (*columns, *optional)]
    doubled = sorted({name for name in header if header.count(name) > 1})
    for names, problem in ((lacking, "missing"), (strange, "unknown"), (doubled, "there twice")):
        if names:
            expected = ",".join((*columns, *(f"[{name}]" for name in optional)))
            came = f"; the first line has {listed(header) or 'nothing'}" if names is lacking else ""
            raise UsageError(f"{path}: expected {what} with the columns {expected}; {problem}: {listed(names)}{came}")
    rows: list[Row] = []
    for where, cells in lines:
        if len(cells) != len(header):
            raise UsageError(f"{where}: expected {len(header)} cells, as in the first line; got {len(cells)}")
        values = (from_csv_cell(cell).strip() for cell in cells)
        rows.append(Row(where, dict(zip(header, values, strict=True))))
    return rows


def read_hand_marks(path: Path, students: Collection[str], most: dict[str, Fraction]) -> dict[tuple[str, str], HandMark]:
    """Read marks given by hand, columns `id,item,points,comment`: (student, item) -> mark.

    Args:
        most: item -> the most points that can be given.

    Raises:
        UsageError: the table cannot be read, or a line names an unknown student or item, repeats another, or has wrong points.
    """
    marks: dict[tuple[str, str], HandMark] = {}
    for row in read_rows(path, "marks by hand", ("id", "item", "points"), ("comment",)):
        key = _key(row, students, most, marks)
        points = _points(row, most[key[1]]) if row.cells["points"] else None
        marks[key] = HandMark(points, row.cells.get("comment", ""), row.where)
    return marks


def read_overrides(path: Path, students: Collection[str], most: dict[str, Fraction]) -> dict[tuple[str, str], Override]:
    """Read overrides, columns `id,item,points,reason,by`: (student, item) -> override.

    Args:
        most: item -> the most points that can be given; the item `late_minutes` has no limit.

    Raises:
        UsageError: as for `read_hand_marks`, or an override has no reason, or nobody answers for it.
    """
    overrides: dict[tuple[str, str], Override] = {}
    for row in read_rows(path, "overrides", ("id", "item", "points", "reason", "by")):
        key = _key(row, students, (*most, LATE_MINUTES), overrides)
        points = _minutes(row) if key[1] == LATE_MINUTES else _points(row, most[key[1]])
        for column in ("reason", "by"):
            if not row.cells[column]:
                raise UsageError(f"{row.where}: expected a {column!r} for the override of {key[1]}; the cell is empty")
        overrides[key] = Override(points, row.cells["reason"], row.cells["by"])
    return overrides


def read_collected(path: Path, students: Collection[str], lab: str = "") -> Collected:
    """Read what `grader collect` says about the students of the roster, and which submissions belong to nobody.

    Args:
        lab: the lab whose submissions were collected; empty for the main assignment.

    Raises:
        UsageError: the table cannot be read, lies in a collection of another assignment, or a line repeats another or has a
            wrong value.
    """
    if (path.parent / RECORD).is_file() and (record := read_record(path.parent)):
        require_lab(record, lab, "--collected", path)
    columns = ("id", "first_name", "last_name", "outcome", "attempts", "counted", "submitted_at", LATE_MINUTES, "note")
    found: dict[str, Handed] = {}
    unknown: list[str] = []
    strangers: list[str] = []
    for row in read_rows(path, "the table collected.csv", columns):
        student, outcome = row.cells["id"], row.cells["outcome"]
        if student not in students:
            (unknown if outcome == UNKNOWN else strangers).append(student)
            continue
        if student in found:
            raise UsageError(f"{row.where}: the id {student} is listed twice")
        for column in ("attempts", LATE_MINUTES):
            if row.cells[column] and not (row.cells[column].isascii() and row.cells[column].isdigit()):
                raise UsageError(f"{row.where}: expected a whole number or nothing for {column}; got {row.cells[column]!r}")
        late = row.cells[LATE_MINUTES]
        attempts = int(row.cells["attempts"] or 0)
        submitted = _time(row, "submitted_at")
        marked_late = LATE_BY_CANVAS in row.cells["note"]
        found[student] = Handed(outcome, attempts, submitted, int(late) if late else None, row.cells["counted"], marked_late)
    return Collected(found, tuple(unknown), tuple(strangers))


def _time(row: Row, column: str) -> datetime | None:
    text = row.cells[column]
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        time = None
    if text and (time is None or time.tzinfo is None):
        raise UsageError(
            f"{row.where}: expected a time with its zone for {column}, such as 2026-12-01T23:59+01:00; got {text!r}"
        )
    return time


def _key(row: Row, students: Collection[str], items: Collection[str], known: Collection[tuple[str, str]]) -> tuple[str, str]:
    student, item = row.cells["id"], row.cells["item"]
    if student not in students:
        hint = same_but_written_otherwise(student, students)
        raise UsageError(f"{row.where}: expected an id of the roster; got {student!r}{hint}")
    if item == TOTAL:
        raise UsageError(f"{row.where}: expected an item or a part; the total follows from them, so it cannot be given")
    if item not in items:
        raise UsageError(f"{row.where}: expected an item; got {item!r}{meant(item, items)}. The items are {', '.join(items)}")
    if (student, item) in known:
        raise UsageError(f"{row.where}: {item} of {student} is listed twice")
    return student, item


def _points(row: Row, most: Fraction) -> Fraction:
    text = row.cells["points"]
    if not NUMBER.fullmatch(text):
        raise UsageError(f"{row.where}: expected points such as 4.5; got {text!r}")
    if Fraction(text) > most:
        raise UsageError(f"{row.where}: expected at most {float(most):g} points for {row.cells['item']}; got {text}")
    return Fraction(text)


def _minutes(row: Row) -> Fraction:
    text = row.cells["points"]
    if not NUMBER.fullmatch(text) or Fraction(text).denominator != 1:
        raise UsageError(
            f"{row.where}: expected a whole number of minutes for {LATE_MINUTES}, such as 90, or 0 for in time; got {text!r}"
        )
    return Fraction(text)
