"""`collection.json`: what a collection holds, so that a later call adds to it and a repeated call changes nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.locks import LOCK
from grader.instructor.collecting.attempts import Attempt
from grader.instructor.collecting.people import Person
from grader.pipeline.submission import RECORD_OF_COLLECTION

RECORD, VERSION = RECORD_OF_COLLECTION, 1
TIMES = ("when", "downloaded")  # fields of an attempt


@dataclass
class Record:
    """What a collection holds.

    Attributes:
        attempts: all attempts, also those of unknown people.
        counted: student -> number of the attempt in `submissions/`.
        chosen: student -> (attempt that a person chose, number of attempts at that time).
        due: the due date as an ISO text; empty if there is none.
        grace_minutes: the grace that belongs to it.
        with_roster: whether a roster said who the students are.
        in_time_first: whether a late attempt counts only if all of a student's are late.
        times: student -> (time that a person looked up, as an ISO text, and the number of the attempt that it belongs to).
        lab: the lab that is collected, or `warmup`; empty for the main assignment.
        pattern: for the names of files; empty for the usual ones.
    """

    attempts: list[Attempt] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, tuple[int, int]] = field(default_factory=dict)
    due: str = ""
    grace_minutes: int = 0
    with_roster: bool = True
    in_time_first: bool = False
    lab: str = ""
    times: dict[str, tuple[str, int]] = field(default_factory=dict)
    pattern: str = ""

    def of(self, owner: str, known: bool) -> list[Attempt]:
        """Return the attempts of a student or of an unknown person."""
        return [attempt for attempt in self.attempts if attempt.owner == owner and attempt.known == known]

    def time_of(self, attempt: Attempt) -> datetime | None:
        """Return when an attempt was handed in: by the platform, or else as a person looked it up."""
        time, number = self.times.get(attempt.owner, ("", 0))
        return datetime.fromisoformat(time) if attempt.when is None and number == attempt.number else attempt.when

    def next_number(self, owner: str, known: bool) -> int:
        """Return the number of this owner's next attempt."""
        return 1 + max((attempt.number for attempt in self.of(owner, known)), default=0)

    def to_text(self) -> str:
        """Return the content of the file."""
        order = sorted(self.attempts, key=lambda attempt: (not attempt.known, attempt.owner, attempt.number))
        data = {
            "version": VERSION,
            "due": self.due,
            "grace_minutes": self.grace_minutes,
            "with_roster": self.with_roster,
            "in_time_first": self.in_time_first,
            "lab": self.lab,
            "pattern": self.pattern,
            "counted": dict(sorted(self.counted.items())),
            "chosen": {student: list(chosen) for student, chosen in sorted(self.chosen.items())},
            "times": {student: list(time) for student, time in sorted(self.times.items())},
            "attempts": [_to_json(attempt) for attempt in order],
        }
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _to_json(attempt: Attempt) -> dict[str, Any]:
    data = {item.name: getattr(attempt, item.name) for item in fields(attempt)}
    data["person"] = {item.name: getattr(attempt.person, item.name) for item in fields(attempt.person)}
    return data | {name: _text(getattr(attempt, name)) for name in TIMES}


def _text(time: datetime | None) -> str | None:
    return time.isoformat() if time else None


def read_record(folder: Path) -> Record | None:
    """Read the record of a collection; None if the folder is new or empty.

    Raises:
        UsageError: the folder holds something else, or the record is damaged.
    """
    path = folder / RECORD
    if not path.exists():
        if folder.exists() and any(path.name != LOCK for path in folder.iterdir()):
            raise UsageError(f"expected a new or empty folder or an earlier collection at {folder}; it holds other files")
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']} instead of {VERSION}")
        return Record(
            [_from_json(entry) for entry in data["attempts"]],
            {str(student): int(number) for student, number in data["counted"].items()},
            {str(student): (int(number), int(of)) for student, (number, of) in data["chosen"].items()},
            str(data["due"]),
            int(data["grace_minutes"]),
            bool(data["with_roster"]),
            bool(data.get("in_time_first", False)),
            str(data.get("lab", "")),
            {str(student): (str(time), int(number)) for student, (time, number) in data.get("times", {}).items()},
            str(data.get("pattern", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"expected the record of an earlier collection in {path}; it is damaged ({error}): collect into a new folder"
        ) from error


def require_lab(record: Record, lab: str, option: str, place: Path) -> None:
    """Raise a UsageError unless a collection is of this lab.

    Args:
        lab: empty for the main assignment.
        option: the option that named the collection.
        place: what came after it.
    """
    if record.lab != lab:
        raise UsageError(
            f"expected a collection of {lab or 'the main assignment'} after {option}; {place} holds submissions of "
            f"{record.lab or 'the main assignment'}"
        )


def _from_json(data: dict[str, Any]) -> Attempt:
    times = {name: datetime.fromisoformat(data[name]) if data.get(name) else None for name in TIMES}
    values = {**data, **times, "person": Person(**data["person"]), "notes": tuple(data["notes"])}
    return Attempt(**values)
