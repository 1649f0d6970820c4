"""Compare collected.csv and marks.csv of a rehearsal with what was made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.collecting.outcomes import COLUMNS
from grader.instructor.course import COURSE
from grader.instructor.marking.schemes import FINAL, NO, SCHEME, YES, load_scheme
from grader.instructor.marking.tables import Row as Line
from grader.instructor.marking.tables import read_rows
from grader.instructor.notebook import load_rubric
from grader.instructor.rehearsal.expected_marks import ExpectedMarks, Made, Rules, expected_marks
from grader.instructor.rehearsal.made_up_marks import BY_HAND_COLUMNS, OVERRIDE_COLUMNS
from grader.instructor.rehearsal.outcome import Row
from grader.instructor.rehearsal.pupils import GRADED, MISSING, REFUSED, UNCLEAR, UNKNOWN
from grader.instructor.rehearsal.rehearse import BY_HAND, OVERRIDES
from grader.instructor.returning.marks_table import MarksRow, as_number, read_marks
from grader.pipeline.results import COULD_NOT_GRADE, Results

AS_COLLECTED = {GRADED: "collected", REFUSED: "collected", MISSING: "missing", UNCLEAR: "unknown"}
TOLERANCE = Fraction(1, 5000)  # marks.csv shows four places


class CollectedTable:
    """collected.csv of a rehearsal, beside the attempts that it names."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = {line.cells["id"]: line for line in read_rows(path, "the table collected.csv", COLUMNS)}

    def differences(self, row: Row, rows: Sequence[Row]) -> Iterator[str]:
        """Yield how the line of a student, or of the one who is not on the roster, differs from the expected one."""
        if row.outcome == UNKNOWN:
            students = {other.id for other in rows if other.outcome != UNKNOWN}
            strangers = [line.cells["outcome"] for student, line in self._lines.items() if student not in students]
            if strangers != ["unknown"]:
                yield f"collected.csv: expected one line about somebody who is not on the roster; got {len(strangers)}"
            return
        line = self._lines.get(row.id)
        if line is None:
            yield "collected.csv: expected a line; there is none"
            return
        late = "" if row.late_minutes is None else str(row.late_minutes)
        expected = {"outcome": AS_COLLECTED[row.outcome], "attempts": str(row.attempts), "late_minutes": late}
        for column, value in expected.items():
            if line.cells[column] != value:
                yield f"collected.csv: expected {value or 'nothing'} for {column}; got {line.cells[column] or 'nothing'}"
        if row.outcome == UNCLEAR and not line.cells["note"].startswith(f"{UNCLEAR}: "):
            yield f"collected.csv: expected a note on why it is unclear which attempt counts; got {line.cells['note']!r}"
        yield from self._other_attempt(row, line)

    def _other_attempt(self, row: Row, line: Line) -> Iterator[str]:
        name = line.cells["counted"]
        place = self._path.parent / "attempts" / row.id / name
        if bool(name) != bool(row.counted):
            yield f"collected.csv: expected {'an' if row.counted else 'no'} attempt that counts; got {name or 'none'}"
        elif name and not place.is_file():
            yield f"expected the attempt that counts at {place}; there is no such file"
        elif name and sha256(place.read_bytes()).hexdigest() != row.counted:
            yield f"expected another attempt to count than {place}"


class MarksTable:
    """marks.csv of a rehearsal, and the marks and decisions that were made up.

    Args:
        path: the table.
        rehearsal: the folder that `rehearse` wrote.

    Raises:
        UsageError: a table, the scheme or the rubric cannot be read.
    """

    def __init__(self, path: Path, rehearsal: Path, assignment: Assignment) -> None:
        self._rows = {row.id: row for row in read_marks(path)}
        self._course, self._assignment = rehearsal / COURSE.name, assignment
        rubric = load_rubric(assignment, self._course)
        self._rubric = {
            mark.id: [f"{item.mark}.{item.id}" for item in rubric if item.mark == mark.id] for mark in assignment.marks
        }
        self._by_hand = _points(rehearsal / BY_HAND, "marks by hand", BY_HAND_COLUMNS)
        self._overrides = _points(rehearsal / OVERRIDES, "overrides", OVERRIDE_COLUMNS)
        self._rules: dict[str, Rules] = {}

    def compare(self, row: Row, results: Results | None) -> tuple[list[str], tuple[str, ...]]:
        """Return how a student's line differs from the expected one, and the checks whose points were taken from the result."""
        line = self._rows.get(row.id)
        if row.outcome == UNKNOWN:
            return (["marks.csv: expected no line; there is one"] if line else []), ()
        if line is None:
            return ["marks.csv: expected a line; there is none"], ()
        rules = self._rules_of(line)
        certain = {check: Fraction(text) for check, text in row.points.items() if not text.startswith("<")}
        made = Made(row.outcome, row.late_minutes, certain, self._by_hand.get(row.id, {}), self._overrides.get(row.id, {}))
        graded = {v.id: Fraction(str(v.points)) for v in (results.program if results else ()) if v.status != COULD_NOT_GRADE}
        expected = expected_marks(made, graded, rules)
        found = [f"marks.csv: {difference}" for difference in _differences(line, expected)]
        known = expected.cells["total"] is not None
        final = known and (results is None or results.profile == rules.scheme.profile)
        if line.remarks[FINAL] != (YES if final else NO):
            found.append(f"marks.csv: expected {YES if final else NO} for final; got {line.remarks[FINAL] or 'nothing'}")
        return found, expected.taken if known else ()

    def _rules_of(self, line: MarksRow) -> Rules:
        name = line.remarks[SCHEME]
        if name not in self._rules:
            self._rules[name] = Rules(load_scheme(name, self._course, self._assignment), self._assignment, self._rubric)
        return self._rules[name]


def _differences(line: MarksRow, expected: ExpectedMarks) -> Iterator[str]:
    cells = {**dict(line.items), **line.remarks}
    for column, value in expected.cells.items():
        text = cells.get(column, "")
        got = as_number(text)
        if (got is None) != (value is None) or (
            got is not None and value is not None and abs(Fraction(text) - value) > TOLERANCE
        ):
            wanted = "nothing" if value is None else f"{float(value):g}"
            yield f"expected {wanted} for {column}; got {text or 'nothing'}"


def _points(path: Path, what: str, columns: Sequence[str]) -> Mapping[str, Mapping[str, Fraction]]:
    found: dict[str, dict[str, Fraction]] = {}
    for line in read_rows(path, what, columns):
        if not line.cells["points"]:
            continue  # a comment alone
        try:
            found.setdefault(line.cells["id"], {})[line.cells["item"]] = Fraction(line.cells["points"])
        except ValueError as error:
            raise UsageError(f"{line.where}: expected points such as 2.5; got {line.cells['points']!r}") from error
    return found
