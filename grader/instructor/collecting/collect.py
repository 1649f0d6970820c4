"""Collect the submissions of a class: keep every attempt, decide which one counts, and list every student.

A collection is a folder that only grows: attempts are added and never deleted. It holds

    submissions/ID.zip      the attempt that counts, ready for `grade`
    attempts/ID/N-NAME      every attempt, byte for byte; loose files as a .zip
    unknown/WHO/N-NAME      what nobody on the roster handed in
    collected.csv           a line for each student and each stranger
    collection.json         what a later call needs to know
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from common.errors import UsageError
from common.files import require_outside, write_whole
from common.locks import held_folder
from grader.instructor.collecting.attempts import Due
from grader.instructor.collecting.claims import claims_of, joined, with_true_times
from grader.instructor.collecting.downloads import Download, Reader
from grader.instructor.collecting.expected import Expected, expected_of
from grader.instructor.collecting.keeping import SUBMISSIONS, Keeper, submission_file
from grader.instructor.collecting.notebooks import SUBMITTED, WARMUP, lay_out
from grader.instructor.collecting.outcomes import Row, rows_of, table
from grader.instructor.collecting.people import MOODLE, Pattern, Roster
from grader.instructor.collecting.record import RECORD, Record, read_record
from grader.instructor.collecting.times import read_times, take_times, withdraw_times
from grader.instructor.course import COURSE
from grader.instructor.gradebook_entries import read_roster
from grader.pipeline.listeners import Announce

TABLE = "collected.csv"


@dataclass(frozen=True)
class CollectOrder:
    """What to collect.

    Attributes:
        archives: class downloads and single submissions.
        out: the folder of the collection.
        roster: None to take every id as a student.
        due: the due date; None for that of the earlier collection, or none.
        grace_minutes: None for that of the earlier collection, or 0.
        pattern: for the names of files, empty for the usual ones; None for that of the earlier collection, or the usual ones.
        counts: student -> number of the attempt that a person chose.
        in_time_first: whether a late attempt counts only if all of a student's are late; None for what the earlier collection
            says, or not.
        lab: the lab that is collected, or WARMUP; None for that of the earlier collection, or the main assignment.
        course: the folder of the course, whose nbgrader grades the warm-up.
        times: table of times that a person looked up, where the platform gives none; None for those of the earlier collection.
    """

    archives: tuple[Path, ...]
    out: Path
    roster: Path | None
    due: datetime | None
    grace_minutes: int | None
    pattern: str | None
    counts: Mapping[str, int]
    in_time_first: bool | None = None
    lab: str | None = None
    course: Path = COURSE
    times: Path | None = None


@dataclass(frozen=True)
class Collected:
    """The result.

    Attributes:
        rows: one for each student and each stranger.
        left_out: sentences about entries of downloads that belong to nobody and are not kept, and about times that were not
            used.
        lab: the lab that was collected; empty for the main assignment.
    """

    rows: list[Row]
    left_out: list[str]
    lab: str = ""

    @property
    def exit_code(self) -> int:
        """0 if every submission has its place, 1 if a person has to look."""
        return int(bool(self.left_out) or any(row.needs_a_look for row in self.rows))


def collect(order: CollectOrder, announce: Announce) -> Collected:
    """Collect; nothing is written if an archive cannot be read or the call is wrong.

    Args:
        announce: receives the lines that say what was recognised and what has changed.

    Raises:
        UsageError: an archive, the roster or the folder cannot be used.
    """
    require_outside(order.out, order.archives)
    roster = Roster(read_roster(order.roster) if order.roster else None)
    earlier = read_record(order.out)
    names = _pattern(order, earlier, announce)
    pattern = Pattern(names, [student.id for student in roster.students or ()]) if names else None
    expected = expected_of(_lab(order, earlier), order.course)
    with ExitStack() as opened:
        downloads = [Reader(roster, expected, opened, pattern).read(path) for path in order.archives]
        opened.enter_context(held_folder(order.out, by="collection"))
        record = read_record(order.out)
        if record is None and not downloads:
            raise UsageError(
                f"expected archives or folders to collect from, or an earlier collection at {order.out}; got neither"
            )
        record = record or Record(with_roster=roster.students is not None, lab=order.lab or "")
        record.pattern = names
        due = _due(order, record, announce)
        for line in _recognised(downloads, roster):
            announce(line)
        uploads, remarks = with_true_times([upload for download in downloads for upload in download.uploads], due)
        for remark in remarks:
            announce(remark)
        claims = claims_of(uploads, roster)
        owners = [(one.person, one.owner) for one in record.attempts if one.known]
        owners += [(one.person, one.owner) for one in claims if one.known]
        numbers = {person.handle: owner for person, owner in owners if person.platform == MOODLE}
        times = read_times(order.times, roster, due, announce, numbers) if order.times else {}
        former = list(record.counted)
        keeper = Keeper(order.out, record, due, announce)
        keeper.choose(order.counts)
        if not (order.out / RECORD).exists():
            _write(order.out / RECORD, record.to_text().encode())  # a call that is interrupted can be given again
        with keeper:
            keeper.find_owners(roster, pattern)
            keeper.take(joined(claims, expected, due))
            keeper.drop_old_choices()
        for line in withdraw_times(times, record):
            announce(line)
        not_used = list(take_times(times, rows_of(record, roster, due), record, due))
        rows = rows_of(record, roster, due)
        keeper.put_submissions({row.id: row.counted for row in rows if row.counted})
        rows = [_looked_into(row, order.out / SUBMISSIONS, expected) for row in rows]
        if record.lab == WARMUP:
            _lay_out(rows, former, order, announce)
        _write(order.out / TABLE, table(rows))
        _write(order.out / RECORD, record.to_text().encode())
        keeper.remove_obsolete()
    left_out = [f"{d.name}: {path} is not collected: {reason}." for d in downloads for path, reason in d.left_out]
    return Collected(rows, [*left_out, *not_used], record.lab)


def _lab(order: CollectOrder, record: Record | None) -> str:
    """Return the lab of the call, which must be that of the earlier collection if there is one."""
    if record is None or order.lab in (None, record.lab):
        return (record.lab if record else order.lab) or ""
    kept = "the warm-up" if record.lab == WARMUP else f"the lab {record.lab}" if record.lab else "the main assignment"
    raise UsageError(f"expected --lab or --warmup only with a new folder; {order.out} holds submissions of {kept}")


def _pattern(order: CollectOrder, record: Record | None, announce: Announce) -> str:
    """Return the pattern of the call, or else of the earlier collection."""
    if order.pattern is not None:
        return order.pattern
    kept = record.pattern if record else ""
    if kept and order.archives:
        announce(f"Names of files as in the earlier collection: {kept} (--pattern '' reads the usual names).")
    return kept


def _looked_into(row: Row, submissions: Path, expected: Expected) -> Row:
    """Return the row with what grading will say of the attempt that counts, if it cannot be read or lacks a part."""
    if row.counted is None:
        return row
    try:
        notes, needs_a_look = expected.examine(submissions / submission_file(row.counted))
    except UsageError as error:
        return replace(row, notes=(*row.notes, f"cannot be graded: {error}"), cannot_be_read=True)
    return replace(row, notes=(*row.notes, *notes), cannot_be_read=needs_a_look)


def _lay_out(rows: list[Row], former: list[str], order: CollectOrder, announce: Announce) -> None:
    """Put the notebooks that count where nbgrader looks for them."""
    places = {row.id: (order.out / SUBMISSIONS / submission_file(row.counted), row.submitted_at) for row in rows if row.counted}
    count = lay_out(order.course, places, former)
    announce(f"{count} student{'' if count == 1 else 's'} with notebooks in {order.course / SUBMITTED}/ID/{WARMUP}.")


def _due(order: CollectOrder, record: Record, announce: Announce) -> Due:
    """Return the due date of the call, or else of the earlier collection, and keep it."""
    if order.roster is None and record.with_roster:
        raise UsageError(f"expected --roster, because the earlier collection in {order.out} was made with a roster; got none")
    if order.roster and not record.with_roster:
        raise UsageError(f"expected no --roster, because the collection in {order.out} was begun without one: use a new folder")
    if order.grace_minutes and not (order.due or record.due):
        raise UsageError("expected --due with --grace; got no due date")
    if order.in_time_first and not (order.due or record.due):
        raise UsageError("expected --due with --in-time-first; got no due date")
    if order.due is None and record.due:
        rule = "the last attempt in time counts" if record.in_time_first else "the last attempt counts"
        announce(f"Due date as in the earlier collection: {record.due}, grace {record.grace_minutes} minutes; {rule}.")
    if order.due is not None:
        record.due = order.due.isoformat()
        if order.grace_minutes is None and record.grace_minutes:
            announce(f"Grace as in the earlier collection: {record.grace_minutes} minutes.")
    if order.grace_minutes is not None:
        record.grace_minutes = order.grace_minutes
    if order.in_time_first is not None:
        record.in_time_first = order.in_time_first
    at = datetime.fromisoformat(record.due) if record.due else None
    return Due(at, record.grace_minutes, at.tzinfo if at else None, record.in_time_first)


def _recognised(downloads: list[Download], roster: Roster) -> Iterator[str]:
    if roster.students is None:
        yield "No roster: every id that is found is taken to be a student."
    for download in downloads:
        yield f"{download.name}: read as {download.kind}."
        if any(roster.has_id_as_number(person) for upload in download.uploads for person in upload.people):
            yield (
                f"{download.name}: ids of the roster are taken for users of Canvas, so lateness comes only from the label "
                "LATE. If the files are named NAME_ID_..., collect into a new folder with --pattern '{name}_{id}_{file}'."
            )


def _write(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        write_whole(path, content)
