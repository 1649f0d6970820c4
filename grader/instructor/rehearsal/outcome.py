"""Compare the results of a rehearsal with expected.csv, row by row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.errors import UsageError, reason_of
from grader.instructor.gradebook_entries import refusal_of
from grader.instructor.rehearsal.pupils import GRADED, MISSING, OUTCOMES, REFUSED, UNCLEAR, UNKNOWN
from grader.instructor.rehearsal.rehearse import EXPECTED, FIELDS
from grader.pipeline.results import COULD_NOT_GRADE, RESULTS, Results, Verdict, read_results

TOLERANCE = 0.005  # points


@dataclass(frozen=True)
class Row:
    """A row of expected.csv.

    Attributes:
        attempts: how many are kept.
        late_minutes: None if nothing counts.
        counted: sha256 of the archive that counts; empty if nothing counts.
        points: check -> expected points as text, without those that are open.
    """

    id: str
    sample: str
    archive: str
    outcome: str
    attempts: int
    late_minutes: int | None
    counted: str
    points: Mapping[str, str]


def read_expected(folder: Path) -> list[Row]:
    """Read expected.csv of a rehearsal.

    Raises:
        UsageError: it cannot be read, or is not what `rehearse` writes.
    """
    path = folder / EXPECTED
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            lacking = [name for name in FIELDS if name not in (table.fieldnames or [])]
            if lacking:
                raise UsageError(f"{path}: expected the columns that rehearse writes; {', '.join(lacking)} is missing")
            checks = [name for name in table.fieldnames or [] if name not in FIELDS]
            return [_row(row, checks, f"{path}, line {table.line_num}") for row in table]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"expected the table of a rehearsal at {path}: {reason_of(error)}") from error


def _row(row: Mapping[str, str | None], checks: list[str], where: str) -> Row:
    cells = {name: row[name] or "" for name in (*FIELDS, *checks)}
    if cells["outcome"] not in OUTCOMES:
        raise UsageError(f"{where}: expected an outcome such as {GRADED!r}; got {cells['outcome']!r}")
    for name in ("attempts", "late_minutes"):
        if not cells[name].isdecimal() and not (name == "late_minutes" and not cells[name]):
            raise UsageError(f"{where}: expected a whole number for {name}; got {cells[name]!r}")
    points = {check: cells[check] for check in checks if cells[check]}
    for check, value in points.items():
        try:
            float(value.removeprefix("<"))
        except ValueError as error:
            raise UsageError(f"{where}: expected points such as 2 or <2 for {check}; got {value!r}") from error
    attempts, late = int(cells["attempts"]), int(cells["late_minutes"]) if cells["late_minutes"] else None
    return Row(cells["id"], cells["sample"], cells["archive"], cells["outcome"], attempts, late, cells["counted"], points)


def differences(row: Row, results: Path) -> Iterator[str]:
    """Yield how the results of a student differ from what is expected."""
    folder = results / row.id
    refusal, handed_in = refusal_of(folder), (folder / RESULTS).exists()
    if row.outcome in (MISSING, UNCLEAR, UNKNOWN):
        if refusal or handed_in:
            yield f"expected no result; {folder} holds one"
    elif row.outcome == REFUSED:
        if not refusal:
            yield f"expected a refused archive; it was {'graded' if handed_in else 'not graded at all'}"
    elif refusal or not handed_in:
        yield f"expected a result; {f'the archive was refused: {refusal}' if refusal else 'there is none'}"
    else:
        try:
            yield from _other_points(row, read_results(folder / RESULTS))
        except UsageError as error:
            yield str(error)


def _other_points(row: Row, results: Results) -> Iterator[str]:
    verdicts = {verdict.id: verdict for verdict in results.program}
    for check, expected in row.points.items():
        verdict = verdicts.get(check)
        if verdict is None or verdict.status == COULD_NOT_GRADE:
            yield f"{check}: expected {expected} points; it {'did not run' if verdict is None else 'could not be graded'}"
        elif not _as_expected(verdict, expected):
            yield f"{check}: expected {expected} points; got {verdict.points:g}: {verdict.message}"


def _as_expected(verdict: Verdict, expected: str) -> bool:
    if expected.startswith("<"):
        return verdict.points < float(expected[1:]) - TOLERANCE
    return abs(verdict.points - float(expected)) <= TOLERANCE
