"""The outcome for each student: the line in `collected.csv`, and the line on the screen."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from common.harmless_text import csv_cell
from grader.instructor.collecting.attempts import (
    COLLECTED,
    DROPPED,
    MISSING,
    UNCLEAR,
    UNKNOWN,
    Attempt,
    Decision,
    Due,
    decide,
)
from grader.instructor.collecting.canvas import ANONYMOUS
from grader.instructor.collecting.people import BLACKBOARD, CANVAS, FILES, MOODLE, Person, Roster, letters
from grader.instructor.collecting.record import Record
from grader.instructor.gradebook_entries import Student

COLUMNS = ("id", "first_name", "last_name", "outcome", "attempts", "counted", "submitted_at", "late_minutes", "note")
OUTCOMES = (COLLECTED, MISSING, UNKNOWN, UNCLEAR, DROPPED)
SHOWN_CHARACTERS = 32
BY_PATTERN = "say with --pattern which part of such names is what"
LATE_BY_CANVAS = "Canvas marks it as late, but does not say by how much"


@dataclass(frozen=True)
class Row:
    """The outcome for a student or a stranger.

    Attributes:
        id: the student's id, or the name of the stranger's folder.
        outcome: one of OUTCOMES.
        attempts: how many are kept.
        counted: the attempt that counts, if there is one.
        submitted_at: its time as an ISO text; empty if it is not known.
        late_minutes: None if that is not known.
        cannot_be_read: whether the attempt that counts cannot be opened, or holds nothing that the assignment collects.
    """

    id: str
    first_name: str
    last_name: str
    outcome: str
    attempts: int
    counted: Attempt | None
    submitted_at: str
    late_minutes: int | None
    notes: tuple[str, ...]
    cannot_be_read: bool = False

    @property
    def needs_a_look(self) -> bool:
        return self.outcome in (UNKNOWN, UNCLEAR) or self.cannot_be_read


def rows_of(record: Record, roster: Roster, due: Due) -> list[Row]:
    """Return a row for each student of the roster, in its order, and for each stranger."""
    owners = sorted({attempt.owner for attempt in record.attempts if attempt.known})
    students = roster.students
    if students is None:
        students = [Student(owner, owner, {}) for owner in owners]
    strangers = sorted({attempt.owner for attempt in record.attempts if not attempt.known})
    perhaps: dict[str, list[Attempt]] = {}
    for attempt in (attempt for attempt in record.attempts if not attempt.known):
        match = roster.match(attempt.person)
        for student in match.students:
            if not (match.contradiction and record.of(student.id, True)):
                perhaps.setdefault(student.id, []).append(attempt)
    ids = {student.id for student in students}
    return [
        *(_of_student(student, record, perhaps.get(student.id, []), due) for student in students),
        *(_of_former(owner, record) for owner in owners if owner not in ids),
        *(_of_stranger(owner, record, roster) for owner in strangers),
    ]


def _of_student(student: Student, record: Record, perhaps: Sequence[Attempt], due: Due) -> Row:
    attempts = record.of(student.id, True)
    names = student.names
    first, last = names.get("first_name", ""), names.get("last_name", "")
    if student.dropped:
        note = "the roster says that this student dropped the course"
        return Row(student.id, first, last, DROPPED, len(attempts), None, "", None, (note,))
    chosen = record.chosen.get(student.id, (None, 0))[0]
    decision = decide(student, attempts, due, chosen)
    if perhaps and chosen is None:
        places = " and ".join(attempt.path for attempt in perhaps)
        decision = Decision(None, f"{places} may belong to this student")
    counted = decision.counted
    outcome = COLLECTED if counted else UNCLEAR if decision.reason else MISSING
    notes, when, late = [decision.reason], "", None
    if counted:
        timed = replace(counted, when=record.time_of(counted))
        late = due.late_minutes(timed)
        when = due.local(timed.when).isoformat() if timed.when else ""
        several = len(attempts) > 1 or chosen is not None
        by_choice = ", chosen by --counts" if chosen is not None else ""
        notes = [f"attempt {counted.number} of {len(attempts)} counts{by_choice}" if several else "", *counted.notes]
        notes += [_on_its_name(counted, student), *_on_its_time(timed, counted, record, due)]
        if due.in_time_first and chosen is None and not due.is_late(counted):
            passed_over = [str(attempt.number) for attempt in attempts if due.is_late(attempt)]
            notes.append(f"late and not counted: attempt {' and '.join(passed_over)}" if passed_over else "")
    said = tuple(note for note in notes if note)
    return Row(student.id, first, last, outcome, len(attempts), counted, when, late, said)


def _on_its_name(counted: Attempt, student: Student) -> str:
    """Say whether Canvas may mean a group, whose download has one file with the group's name and one member's number."""
    person = counted.person
    names = [letters(student.names[part], plain=True) for part in ("first_name", "last_name") if part in student.names]
    if person.platform != CANVAS or not names or "@" in person.name:
        return ""
    if all(name in letters(person.name, plain=True) for name in names):
        return ""
    return (
        f"Canvas calls who handed it in {person.name!r}; if that is a group, its other members are listed as {MISSING}: "
        "collect a copy for each"
    )


def _on_its_time(timed: Attempt, counted: Attempt, record: Record, due: Due) -> Iterator[str]:
    """Yield what has to be known about the time of the attempt that counts; `timed` has the one that was looked up."""
    if timed.when is None and counted.late:
        yield LATE_BY_CANVAS
    if timed.when is None and counted.owner in record.times:
        yield f"the time that was looked up is that of attempt {record.times[counted.owner][1]}"
    if timed.when is not None and counted.when is None:
        yield "its time was looked up by a person"
        if counted.late is False and due.late_minutes(timed):
            yield "the platform does not mark it as late"


def _of_former(owner: str, record: Record) -> Row:
    note = "this student was collected before, but is not on the roster any more"
    return Row(owner, "", "", UNKNOWN, len(record.of(owner, True)), None, "", None, (note,))


def _of_stranger(owner: str, record: Record, roster: Roster) -> Row:
    attempts = record.of(owner, False)
    person = attempts[0].person
    match = roster.match(person)
    if match.contradiction:
        note = f"{person.words} {match.contradiction}"
    elif match.students:
        found = " and ".join(student.id for student in match.students)
        by_file = person.platform in (BLACKBOARD, FILES)
        remedy = BY_PATTERN if by_file else "add a column to the roster that tells them apart"
        note = f"{person.words} fits several students, {found}: {remedy}"
    else:
        note = f"{person.words} matches nobody on the roster{_remedy(person)}"
    problems = (f"attempt {attempt.number}: {attempt.problem}" for attempt in attempts if attempt.problem)
    return Row(owner, "", "", UNKNOWN, len(attempts), None, "", None, (note, *problems))


def _remedy(person: Person) -> str:
    """Return the end of a sentence about a person whom the roster does not name."""
    if person.platform in (BLACKBOARD, FILES):
        return f": {BY_PATTERN}, or correct the roster"
    if person.platform == CANVAS and person.name == ANONYMOUS:
        return ": Canvas hides the names while grading is anonymous, so turn that off there and download again"
    if person.platform == MOODLE:
        return ": if that is a group, collect a copy as ID.zip for each member; if Moodle hides the names, fill in moodle_id"
    return ""


def table(rows: Sequence[Row]) -> bytes:
    """Return `collected.csv`: UTF-8 with a byte order mark, safe for spreadsheets.

    A student for whom it is unclear what counts has the outcome `unknown`, never `missing`, which would mean 0 points.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for row in rows:
        outcome = UNKNOWN if row.outcome == UNCLEAR else row.outcome
        note = _sentences([f"unclear: {row.notes[0]}", *row.notes[1:]] if row.outcome == UNCLEAR else row.notes)
        counted = row.counted.file if row.counted else ""
        cells = (
            row.id,
            row.first_name,
            row.last_name,
            outcome,
            row.attempts,
            counted,
            row.submitted_at,
            row.late_minutes,
            note,
        )
        writer.writerow(map(csv_cell, cells))
    return file.getvalue().encode("utf-8-sig", "backslashreplace")


def _sentences(notes: Sequence[str]) -> str:
    return " ".join(note if note.endswith(".") else f"{note}." for note in notes)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table on the screen, and a last line that counts the outcomes."""
    width = min(SHOWN_CHARACTERS, max(len(text) for text in ("student", *(row.id for row in rows))))
    widest = max(map(len, OUTCOMES))
    yield f"{'student':{width}}  {'outcome':{widest}}  attempts  late        reason"
    for row in rows:
        name = row.id if len(row.id) <= width else f"{row.id[: width - 3]}..."
        late = "" if not row.late_minutes else f"{row.late_minutes} min"
        yield f"{name:{width}}  {row.outcome:{widest}}  {row.attempts:8}  {late:10}  {_sentences(row.notes)}".rstrip()
    counts = ((outcome, sum(row.outcome == outcome for row in rows)) for outcome in OUTCOMES)
    yield f"{len(rows)} in all: {', '.join(f'{count} {outcome}' for outcome, count in counts if count) or 'nothing'}."
    if named := sum(1 for row in rows if row.counted and row.counted.by_name):
        were = "was" if named == 1 else "were"
        yield (
            f"{named} of them {were} found by the name alone; the columns canvas_id and email of the roster make this certain, "
            "as does moodle_id with the numbers of this download."
        )
