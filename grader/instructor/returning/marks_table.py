"""Read marks.csv: the points of each student, item by item, as `python -m grader marks` writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.csv_tables import listed, read_table
from common.errors import UsageError
from common.harmless_text import from_csv_cell, on_screen
from grader.instructor.gradebook_entries import require_student_id
from grader.instructor.marking.schemes import FINAL, LATE_MINUTES, NO, OUTCOME
from grader.instructor.marking.tables import TOTAL

ID = "id"
NAMES = ("first_name", "last_name")
NUMBERS = (LATE_MINUTES, "above_cap", "penalty", "rounding", TOTAL)
WITH_COMMA = re.compile(r"-?[0-9]+,[0-9]+")


@dataclass(frozen=True)
class MarksRow:
    """The line of one student; every value is text, and empty if the file has none.

    Attributes:
        names: first and last name.
        items: (column, value) for each item and part, in the order of the file.
        remarks: column -> value, for each of OUTCOME.
    """

    id: str
    names: tuple[str, ...]
    items: tuple[tuple[str, str], ...]
    remarks: dict[str, str]

    @property
    def is_final(self) -> bool:
        """Whether nothing has to be done before the total counts."""
        return as_number(self.remarks["total"]) is not None and self.remarks[FINAL] != NO

    def is_corrected(self, item: str) -> bool:
        """Return whether a person's decision replaced the points of an item."""
        return bool(re.search(rf"(^|; ){re.escape(item)} ", self.remarks["overrides"]))

    def has(self, mark: str, details: Sequence[str]) -> bool:
        """Return whether the table has a column for a mark, as a whole or for one of its items."""
        return any(column in (mark, *details) for column, _ in self.items)

    def points_of(self, mark: str, details: Sequence[str]) -> float | None:
        """Return the points of a mark, given as a whole or by all its items; None if some are missing."""
        cells = dict(self.items)
        if (whole := as_number(cells.get(mark, ""))) is not None:
            return whole
        points = [as_number(cells.get(item, "")) for item in details]
        given = [one for one in points if one is not None]
        return sum(given) if given and len(given) == len(points) else None


def as_number(text: str) -> float | None:
    """Return the points that a cell holds; None for an empty cell and for words such as `incomplete` or `nan`."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_marks(path: Path) -> tuple[MarksRow, ...]:
    """Read the lines of a marks.csv.

    Raises:
        UsageError: the file cannot be read, a line is too long or too short, an id is missing, unusable or listed twice, or a
            number has a decimal comma.
    """
    names, lines = read_table(path, "the marks that python -m grader marks writes")
    header = [from_csv_cell(name).strip() for name in names]
    if ID not in header or "total" not in header:
        raise UsageError(f"{path}: expected the columns id and total in the first line; got {on_screen(listed(header))!r}")
    if doubled := sorted({column for column in header if header.count(column) > 1}):
        raise UsageError(f"{path}: expected each column once; {on_screen(', '.join(doubled))} is there twice")
    rows: list[MarksRow] = []
    for where, line in lines:
        if len(line) != len(header):
            raise UsageError(f"{where}: expected {len(header)} cells; got {len(line)}")
        row = _row(dict(zip(header, (from_csv_cell(cell).strip() for cell in line), strict=True)))
        require_student_id(row.id, where)
        _require_points(row, where)
        if any(known.id == row.id for known in rows):
            raise UsageError(f"{where}: the id {row.id} is listed twice")
        rows.append(row)
    return tuple(rows)


def _require_points(row: MarksRow, where: str) -> None:
    """Raise a UsageError if a spreadsheet saved a number with a decimal comma."""
    for column, cell in (*row.items, *((column, row.remarks[column]) for column in NUMBERS)):
        if WITH_COMMA.fullmatch(cell):
            point = cell.replace(",", ".")
            raise UsageError(f"{where}: expected a number with a decimal point for {column}, such as {point}; got {cell!r}")


def _row(cells: dict[str, str]) -> MarksRow:
    items = tuple((column, value) for column, value in cells.items() if column not in (ID, *NAMES, *OUTCOME))
    names = tuple(cells.get(column, "") for column in NAMES)
    return MarksRow(cells[ID], names, items, {column: cells.get(column, "") for column in OUTCOME})
