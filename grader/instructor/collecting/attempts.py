"""The attempts of each student: which of them are the same, their order, and which one counts.

The last one counts, or the last one in time if that is asked for. If the order of two different attempts is not known, nothing
is guessed: none of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from math import ceil

from grader.instructor.collecting.canvas import canvas_order, file_number
from grader.instructor.collecting.people import CANVAS, GRADESCOPE, MOODLE, Person
from grader.instructor.gradebook_entries import Student

COLLECTED, MISSING, UNKNOWN, UNCLEAR, DROPPED = "collected", "missing", "unknown", "unclear", "dropped"


@dataclass(frozen=True)
class Attempt:
    """Something that was handed in, in the form in which it is kept.

    Attributes:
        owner: the student's id, or the name of a folder of `unknown/`.
        known: whether the owner is a student.
        number: counts the owner's attempts from 1 in the order in which they were collected.
        file: name of the kept file; empty if the content could not be read.
        digest: sha256 of the kept file.
        person: who handed it in, by the download.
        by_name: whether only a name says that this is the owner.
        key, when, late, problem, notes, given, downloaded: see `Upload`.
        source: name of the download.
    """

    owner: str
    known: bool
    number: int
    file: str
    digest: str
    person: Person
    by_name: bool
    key: str
    when: datetime | None
    late: bool | None
    problem: str
    notes: tuple[str, ...]
    source: str
    given: str = ""
    downloaded: datetime | None = None

    @property
    def placed(self) -> datetime | None:
        """A time that orders the attempts of one platform: Moodle always sends what a student has handed in last."""
        return self.when or self.downloaded

    @property
    def path(self) -> str:
        """Where it is kept, relative to the folder of the collection."""
        return f"{'attempts' if self.known else 'unknown'}/{self.owner}/{self.file}"


@dataclass(frozen=True)
class Due:
    """When the assignment is due.

    Attributes:
        at: the date; None if there is none.
        grace_minutes: how much later than that still counts as on time.
        zone: the time zone of times that have none.
        in_time_first: whether a late attempt counts only if all are late.
    """

    at: datetime | None
    grace_minutes: int
    zone: tzinfo | None
    in_time_first: bool = False

    def local(self, when: datetime) -> datetime:
        """Return a time with a time zone; None means that of this machine."""
        if when.tzinfo is None:
            return when.replace(tzinfo=self.zone) if self.zone else when.astimezone()
        return when

    def late_minutes(self, attempt: Attempt) -> int | None:
        """Return the minutes after the due date, 0 within the grace, or None if that is not known."""
        if self.at is None:
            return None
        if attempt.when is None:
            return 0 if attempt.late is False else None
        over = self.local(attempt.when) - self.at
        return ceil(over / timedelta(minutes=1)) if over > timedelta(minutes=self.grace_minutes) else 0

    def is_late(self, attempt: Attempt) -> bool | None:
        """Return whether an attempt is late, by its time or by the platform's label; None if that is not known."""
        minutes = self.late_minutes(attempt)
        return attempt.late if minutes is None else minutes > 0


@dataclass(frozen=True)
class Decision:
    """Which attempt of a student counts.

    Attributes:
        counted: None if there is none, or nobody can tell.
        reason: why nobody can tell; empty if it is clear.
    """

    counted: Attempt | None
    reason: str = ""


def are_same(old: Attempt, new: Attempt, between: bool) -> bool:
    """Return whether a new attempt is an old one that was downloaded again.

    Args:
        between: whether an attempt with another content lies between the two.
    """
    if old.digest != new.digest or old.person.platform != new.person.platform:
        return False
    if old.key or new.key:
        return old.key == new.key and old.person.handle == new.person.handle
    return not between or old.placed is None or new.placed is None or old.placed == new.placed


def is_known_already(new: Attempt, attempts: Sequence[Attempt], due: Due) -> bool:
    """Return whether an owner has this attempt already; the same content twice in a row is one attempt."""

    def between(old: Attempt) -> bool:
        if old.placed is None or new.placed is None:
            return False
        first, last = sorted((due.local(old.placed), due.local(new.placed)))
        return any(a.digest != new.digest and a.placed and first < due.local(a.placed) < last for a in attempts)

    return any(are_same(old, new, between(old)) for old in attempts)


def decide(student: Student, attempts: Sequence[Attempt], due: Due, chosen: int | None = None) -> Decision:
    """Return which of a student's attempts counts.

    Args:
        chosen: the number of the attempt that a person chose.
    """
    for attempt in attempts:
        if attempt.number == chosen and attempt.file:
            return Decision(attempt)
    if not attempts:
        return Decision(None)
    if reason := _two_people(student, attempts):
        return Decision(None, reason)
    last, reason = _last_in_time(attempts, due) if due.in_time_first else _last(attempts, due)
    if last is None:
        return Decision(None, reason)
    if last.problem:
        return Decision(None, f"attempt {last.number}: {last.problem}")
    return Decision(last)


def _two_people(student: Student, attempts: Sequence[Attempt]) -> str:
    """Say whether the attempts stem from two people of the same name, or from another person than the roster says."""
    numbers = {CANVAS: student.canvas_id, MOODLE: student.moodle_id}
    for platform in (CANVAS, MOODLE):
        handles = sorted({a.person.handle for a in attempts if a.person.platform == platform})
        if numbers[platform] and set(handles) - {numbers[platform]}:
            return f"attempts of the {platform} number {', '.join(handles)}, but the roster says {numbers[platform]}"
        if len(handles) > 1:
            return (
                f"attempts of two people on {platform}, {' and '.join(handles)}: add the column {platform.lower()}_id to the "
                "roster, or choose one with --counts"
            )
    handles = sorted({a.person.handle for a in attempts if a.person.platform == GRADESCOPE})
    if len(handles) > 1 and any(a.by_name for a in attempts if a.person.platform == GRADESCOPE):
        return f"attempts of {' and '.join(handles)} on {GRADESCOPE}, found by a name: choose one with --counts"
    return ""


def _last_in_time(attempts: Sequence[Attempt], due: Due) -> tuple[Attempt | None, str]:
    """Return the last attempt in time, or the last one if all are late; None and the reason if that is not known."""
    late = {attempt.number: due.is_late(attempt) for attempt in attempts}
    if len(attempts) > 1 and (unknown := [number for number, is_late in late.items() if is_late is None]):
        return None, f"it is not known whether attempt {unknown[0]} was in time"
    return _last([attempt for attempt in attempts if late[attempt.number] is False] or attempts, due)


def _last(attempts: Sequence[Attempt], due: Due) -> tuple[Attempt | None, str]:
    """Return the last attempt, or None and the reason why the order is not known."""
    if len({attempt.digest for attempt in attempts}) == 1:
        return attempts[0], ""
    if all(attempt.person.platform == CANVAS for attempt in attempts):
        order = canvas_order([attempt.key for attempt in attempts])
        if len(bases := sorted({base for base, _ in order.values()})) > 1:
            return None, f"files of different names, {' and '.join(bases)}: Canvas does not say which one came last"
        places = [order[attempt.key][1] for attempt in attempts]
    elif unknown := [attempt for attempt in attempts if attempt.when is None and not _by_download(attempts)]:
        return None, f"the time of attempt {unknown[0].number} is not known, so it cannot be ordered"
    else:
        first = min(due.local(a.placed) for a in attempts if a.placed)
        places = [ceil((due.local(a.placed) - first).total_seconds() * 1000) for a in attempts if a.placed]
    last = [attempt for attempt, place in zip(attempts, places, strict=True) if place == max(places)]
    if len({attempt.digest for attempt in last}) > 1:
        numbers = " and ".join(str(attempt.number) for attempt in last)
        return None, f"attempts {numbers} differ and were handed in at the same time"
    if reason := _newer_file(attempts, last[0]):
        return None, reason
    return last[0], ""


def _by_download(attempts: Sequence[Attempt]) -> bool:
    """Return whether the times at which Moodle sent the attempts tell their order."""
    return all(attempt.downloaded for attempt in attempts)


def _newer_file(attempts: Sequence[Attempt], last: Attempt) -> str:
    """Say whether Canvas numbered another file later than that of the last resubmission; students may number files, too."""
    newest = max(attempts, key=lambda attempt: file_number(attempt.given))
    if newest.digest == last.digest or not file_number(last.given) < file_number(newest.given):
        return ""
    return (
        f"attempt {last.number}, {last.key}, has the highest number in its name, but Canvas received attempt {newest.number}, "
        f"{newest.key}, later (files {file_number(last.given)} and {file_number(newest.given)}): choose one with --counts"
    )
