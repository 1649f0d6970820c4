"""Read `submission_metadata.yml` of a Gradescope export: who handed in each folder, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from common.errors import UsageError
from grader.instructor.collecting.people import GRADESCOPE, Person
from grader.instructor.notebook import INSTALL

METADATA = "submission_metadata.yml"
MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class HandIn:
    """What the metadata says about one folder of the export.

    Attributes:
        people: who handed it in; several for a group.
        when: the time, if it is given.
        earlier: number of earlier attempts that the metadata lists.
        is_history: whether this is such an earlier attempt.
    """

    people: tuple[Person, ...]
    when: datetime | None
    earlier: int = 0
    is_history: bool = False


def read_metadata(content: bytes, name: str) -> dict[str, HandIn]:
    """Return folder or file of the export -> what the metadata says about it; earlier attempts have entries of their own.

    Raises:
        UsageError: this is not the metadata of an export.
    """
    try:
        # Imported here, because the other commands of the grader do without PyYAML.
        from grader.instructor.collecting.ruby_yaml import load
    except ImportError as error:
        raise UsageError(f"{error.name} is needed for {name} and is not installed: {INSTALL}") from error
    try:
        data = load(content)
    except ValueError as error:
        raise UsageError(f"{name} cannot be read: {' '.join(str(error).split())}; export the submissions again") from error
    if not isinstance(data, dict):
        raise UsageError(f"expected the submissions of a Gradescope export in {name}; got something else: export them again")
    found: dict[str, HandIn] = {}
    for folder, entry in data.items():
        if not isinstance(entry, dict):
            raise UsageError(f"expected submitters for {folder!r} in {name}; got something else: export the submissions again")
        submitters, history = _list(entry, "submitters"), _list(entry, "history")
        people = tuple(_person(submitter, str(folder)) for submitter in submitters)
        for earlier in history:
            if _text(earlier, "id"):
                found[f"submission_{_text(earlier, 'id')}"] = HandIn(people, _time(earlier), is_history=True)
        found[str(folder)] = HandIn(people, _time(entry), len(history))
    return found


def _person(submitter: Any, folder: str) -> Person:
    name, sid, email = (_text(submitter, field) for field in ("name", "sid", "email"))
    return Person(GRADESCOPE, sid or email or name or folder, name, sid, email)


def _value(entry: Any, field: str) -> Any:
    return entry.get(f":{field}", entry.get(field)) if isinstance(entry, dict) else None


def _text(entry: Any, field: str) -> str:
    value = _value(entry, field)
    return str(value).strip() if isinstance(value, (str, int)) else ""


def _list(entry: Any, field: str) -> list[Any]:
    value = _value(entry, field)
    return value if isinstance(value, list) else []


def _time(entry: Any) -> datetime | None:
    value = _value(entry, "created_at")
    if isinstance(value, dict):  # ActiveSupport::TimeWithZone
        value = value.get("utc")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None
