"""Times for attempts of which the download gives none: the table of `collect --times`.

A person has looked them up, or the table is the grading worksheet of Moodle, which names each participant by number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

from common.csv_tables import read_table
from common.errors import UsageError
from common.near_names import same_but_written_otherwise
from grader.instructor.collecting.attempts import DROPPED, Due
from grader.instructor.collecting.outcomes import Row
from grader.instructor.collecting.people import Roster
from grader.instructor.collecting.record import Record
from grader.instructor.marking.tables import read_rows
from grader.pipeline.listeners import Announce

ID, TIME = "id", "submitted_at"
TABLE = "times of submissions"
NUMBER, MODIFIED = "Identifier", "Last modified (submission)"  # columns of the worksheet
OF_WORKSHEET = "%A, %d %B %Y, %I:%M %p"
A_MOMENT = "a date with a time, such as 2026-12-01T23:59+01:00"


def moment(text: str) -> datetime:
    """Read a date with a time; raise a ValueError for anything else, also for a date alone, which would mean its midnight."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)
    raise ValueError(f"{text} has no time")


def read_times(
    path: Path, roster: Roster, due: Due, announce: Announce, numbers: Mapping[str, str]
) -> dict[str, datetime | None]:
    """Read the table: student -> time, with a time zone; None, for an empty cell, withdraws an earlier one.

    Args:
        numbers: number of a participant in Moodle -> student.

    Raises:
        UsageError: the table cannot be read, or a line names somebody who is not on the roster, repeats another, or has
            something else than a time.
    """
    header, lines = read_table(path, TABLE)
    whose = "the due date" if due.zone else "this machine"
    if {NUMBER, MODIFIED} <= {*header}:
        announce(f"{path.name}: read as a worksheet of Moodle, whose times have no time zone; that of {whose} is assumed.")
        sheet = [(where, dict(zip(header, cells, strict=False))) for where, cells in lines]
        return dict(_of_worksheet(path, sheet, due, numbers))
    times: dict[str, datetime | None] = {}
    ids = None if roster.students is None else {student.id for student in roster.students}
    without_zone = 0
    for line in read_rows(path, TABLE, (ID, TIME)):
        student, text = line.cells[ID], line.cells[TIME]
        if ids is not None and student not in ids:
            hint = same_but_written_otherwise(student, ids)
            raise UsageError(f"{line.where}: expected an id of the roster; got {student!r}{hint}")
        if student in times:
            raise UsageError(f"{line.where}: the id {student} is listed twice")
        if not text:
            times[student] = None
            continue
        try:
            time = moment(text)
        except ValueError:
            raise UsageError(f"{line.where}: expected {A_MOMENT} for {TIME}; got {text!r}") from None
        without_zone += time.tzinfo is None
        times[student] = due.local(time)
    if without_zone:
        announce(f"{path.name}: {without_zone} of its times have no time zone; that of {whose} is assumed.")
    return times


def _of_worksheet(
    path: Path, lines: Sequence[tuple[str, Mapping[str, str]]], due: Due, numbers: Mapping[str, str]
) -> Iterator[tuple[str, datetime]]:
    """Yield (student, time) for each participant of a worksheet who handed in and is known."""
    known = False
    for where, cells in lines:
        number, text = re.search(r"\d*$", cells.get(NUMBER, "").strip()), cells.get(MODIFIED, "").strip()
        student = numbers.get(number[0]) if number else None
        known = known or student is not None
        if student is None or text in ("", "-"):
            continue
        try:
            yield student, due.local(datetime.strptime(text, OF_WORKSHEET))
        except ValueError:
            raise UsageError(
                f"{where}: expected a time as Moodle writes it in English, such as 'Monday, 30 November 2026, 11:34 PM'; got "
                f"{text!r}: set your language in Moodle to English and download the worksheet again"
            ) from None
    if not known:
        raise UsageError(f"expected the worksheet of the assignment that was collected; {path} has none of its participants")


def withdraw_times(times: Mapping[str, datetime | None], record: Record) -> Iterator[str]:
    """Take the times of students with None out of the record, and say so of each."""
    for student, time in times.items():
        if time is None and student in record.times:
            yield f"The time of {student} is withdrawn: {record.times.pop(student)[0]}."


def take_times(times: Mapping[str, datetime | None], rows: Sequence[Row], record: Record, due: Due) -> Iterator[str]:
    """Keep each time in the record, with the number of the attempt that counts now; say of each other one why not."""
    by_id = {row.id: row for row in rows}
    for student, time in times.items():
        if time is None or (student in by_id and by_id[student].outcome == DROPPED):
            continue
        counted = by_id[student].counted if student in by_id else None
        known, number = record.times.get(student, ("", 0))
        if counted is None:
            yield f"The time of {student} is not used: no attempt of this student counts."
        elif counted.when is not None:
            yield f"The time of {student} is not used: the platform gives one."
        elif counted.late and due.at is not None and time <= due.at:
            yield (
                f"The time of {student} is not used: the platform marks attempt {counted.number} as late, and "
                f"{time.isoformat()} is not after the due date, {due.at.isoformat()}."
            )
        elif known == time.isoformat() and number != counted.number:
            yield f"The time of {student} is not used: it is that of attempt {number}, and attempt {counted.number} counts now."
        else:
            record.times[student] = (time.isoformat(), counted.number)
