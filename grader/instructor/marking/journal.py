"""The journal of overrides, `journal.jsonl`: a line for each override that was applied, changed or withdrawn, with its time.

Lines are only ever added. The last line of an item says what holds; a run that changes nothing adds no line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from grader.instructor.marking.standing import Change

JOURNAL = "journal.jsonl"
APPLIED, CHANGED, WITHDRAWN = "applied", "changed", "withdrawn"


@dataclass(frozen=True)
class JournalLine:
    """What happened to one override.

    Attributes:
        points: what the override gives, as decimal text.
        before: the points that it replaces: those of the override that it changes, or those of the item itself; None if
            there were none.
    """

    time: str
    event: str
    id: str
    item: str
    points: str
    before: str | None
    reason: str
    by: str

    def says(self, other: JournalLine) -> bool:
        """Return whether two lines describe the same decision."""
        return (self.points, self.reason, self.by) == (other.points, other.reason, other.by)


def read_journal(path: Path) -> list[JournalLine]:
    """Read a journal; one that does not exist is empty.

    Raises:
        UsageError: a line is damaged.
    """
    if not path.exists():
        return []
    lines = []
    # Only "\n" ends a line: a reason may hold other characters at which `splitlines` would cut it.
    content = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    for number, text in enumerate(content.split("\n") if content else (), start=1):
        try:
            line = JournalLine(**json.loads(text))
            datetime.fromisoformat(line.time)
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(
                f"{path}, line {number}: expected a line that `marks` wrote; got {text[:60]!r}. Restore the file from a copy, "
                "because it holds the reasons of the overrides"
            ) from error
        lines.append(line)
    return lines


def update_journal(path: Path, changes: Mapping[str, Sequence[Change]]) -> tuple[JournalLine, ...]:
    """Add a line for each override that is new, different or gone since the last run.

    Args:
        changes: student -> the overrides that hold now.

    Returns:
        The lines added.
    """
    known = read_journal(path)
    last = {(line.id, line.item): line for line in known}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    held: dict[tuple[str, str], list[JournalLine]] = {}
    for student, found in changes.items():
        for change in found:
            key = (student, change.item)
            before = None if change.before is None else _decimal(change.before)
            line = JournalLine(now, APPLIED, *key, _decimal(change.points), before, change.reason, change.by)
            held.setdefault(key, []).append(line)
    added: list[JournalLine] = []
    for key, lines in held.items():
        earlier = last.get(key)
        if earlier and earlier.event != WITHDRAWN and lines[-1].says(earlier):
            continue
        for line in lines:  # several if an override replaces a correction in formgrader
            if earlier is None or earlier.event == WITHDRAWN:
                added.append(line)
            elif not line.says(earlier):
                added.append(replace(line, event=CHANGED, before=earlier.points))
            earlier = line
    for key, line in last.items():
        if key not in held and line.event != WITHDRAWN:
            added.append(replace(line, time=now, event=WITHDRAWN))
    if added:
        text = "".join(json.dumps(asdict(line), ensure_ascii=False) + "\n" for line in (*known, *added))
        write_whole(path, text, durable=True)
    return tuple(added)


def _decimal(points: Fraction) -> str:
    return f"{float(points):g}"
