"""Lay out what a class handed in as the bulk download of a learning platform: path in the download -> content and time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.instructor.rehearsal.people import Person

ORIGINAL, RIVAL = "gomoku", "final"  # the names that students give their archives
FIRST_SUBMISSION = 500_001
BRIGHTSPACE_FOLDER = 80_551
SECONDS_OF_A_FILE = 2  # that Moodle needs to send one


@dataclass(frozen=True)
class Attempt:
    """One archive that a student handed in.

    Attributes:
        number: 0 for the first attempt of the student with this name, 1 for the second.
    """

    person: Person
    number: int
    suffix: str
    content: bytes
    time: datetime
    late: bool
    name: str = ORIGINAL


@dataclass(frozen=True)
class Entry:
    """A file of the download."""

    path: str
    content: bytes
    time: datetime


def canvas(attempts: Sequence[Attempt]) -> list[Entry]:
    """Return one file for each attempt, `lastfirst_[LATE_]USER_FILE_gomoku[-1].zip`."""
    found = []
    for number, attempt in enumerate(attempts):
        person = attempt.person
        name = "".join(c for c in (person.last_name + person.first_name).lower() if c.isalnum())
        late = "LATE_" if attempt.late else ""
        again = f"-{attempt.number}" if attempt.number else ""
        path = f"{name}_{late}{person.canvas_id}_{FIRST_SUBMISSION + number}_{attempt.name}{again}{attempt.suffix}"
        found.append(Entry(path, attempt.content, attempt.time))
    return found


def moodle(attempts: Sequence[Attempt]) -> list[Entry]:
    """Return one folder for each student, with the archives of the last time: Moodle's download has no earlier ones.

    Its entries have the times at which Moodle sends them, some days after the last attempt.
    """
    last = {attempt.person.id: attempt.time for attempt in attempts}
    sent = max(last.values(), default=datetime.min) + timedelta(days=3)
    return [
        Entry(
            f"{attempt.person.full_name.replace('/', '_')}_{attempt.person.moodle_id}_assignsubmission_file_/"
            f"{attempt.name}{attempt.suffix}",
            attempt.content,
            sent + timedelta(seconds=SECONDS_OF_A_FILE * number),
        )
        for number, attempt in enumerate(attempts)
        if attempt.time == last[attempt.person.id]
    ]


def gradescope(attempts: Sequence[Attempt]) -> list[Entry]:
    """Return one folder for each attempt, and `submission_metadata.yml`, whose keys are symbols of Ruby."""
    found, lines = [], []
    for number, attempt in enumerate(attempts):
        folder = f"submission_{FIRST_SUBMISSION + number}"
        found.append(Entry(f"{folder}/{attempt.name}{attempt.suffix}", attempt.content, attempt.time))
        person = attempt.person
        # A string of JSON is also one of YAML.
        lines += [
            f"{folder}:",
            "  :submitters:",
            f"  - :name: {json.dumps(person.full_name)}",
            f"    :sid: {json.dumps(person.id)}",
            f"    :email: {json.dumps(person.email)}",
            f"  :created_at: {attempt.time.isoformat(sep=' ')}",
            "  :history: []",
        ]
    return [*found, Entry("submission_metadata.yml", "\n".join(["---", *lines, ""]).encode(), attempts[-1].time)]


def brightspace(attempts: Sequence[Attempt]) -> list[Entry]:
    """Return one folder for each attempt, `NUMBER-NUMBER - ID First Last - Mar 29, 2026 1205 PM`, and the list of contents."""
    found = []
    for number, attempt in enumerate(attempts):
        person, time = attempt.person, attempt.time
        clock = f"{time:%b} {time.day}, {time.year} {time.hour % 12 or 12}{time:%M %p}"
        who = f"{person.id} {person.full_name.replace('/', '_')}"
        folder = f"{FIRST_SUBMISSION + number}-{BRIGHTSPACE_FOLDER} - {who} - {clock}"
        found.append(Entry(f"{folder}/{attempt.name}{attempt.suffix}", attempt.content, time))
    return [*found, Entry("index.html", b"<html></html>", attempts[-1].time)]


def plain(attempts: Sequence[Attempt]) -> list[Entry]:
    """Return one file `name_id_gomoku.zip` for each attempt; the times of the entries say which one is the last."""
    found = []
    for attempt in attempts:
        name = attempt.person.full_name.replace("/", " ").replace("_", " ")
        again = f" ({attempt.number})" if attempt.number else ""
        found.append(Entry(f"{name}_{attempt.person.id}_{attempt.name}{again}{attempt.suffix}", attempt.content, attempt.time))
    return found


PLATFORMS: dict[str, Callable[[Sequence[Attempt]], list[Entry]]] = {
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": gradescope,
    "brightspace": brightspace,
    "plain": plain,
}
