"""How Brightspace names what is in a class download: folders `NUMBER-NUMBER - [USER] First Last - TIME`, files with ` - FILE`.

Whether the user's id or account stands before the name depends on the university, as does the form of the time:
`Mar 29, 2018 1205 PM`, `05 March 2026 612 PM`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

NAME = re.compile(r"\d+-\d+ - (?P<who>.+?) - (?P<time>[^-]*\b\d{4}\b[^-]*?)(?: - (?P<file>.+))?")
TIME = re.compile(r"(?P<date>.+? \d{4}) (?P<hour>\d{1,2}):?(?P<minute>\d\d)(?: (?P<half>[AP]M))?", re.IGNORECASE)
DATES = ("%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y")
CONTENTS = "index.html"  # the table of contents that Brightspace puts beside the submissions


@dataclass(frozen=True)
class Name:
    """What a name says; the names of Blackboard say the same (see `blackboard`).

    Attributes:
        who: the user's id or account, if the university shows it, and the full name; the name of a group.
        when: the time, without a zone; None if its form is unknown.
        submission: the name without the file: the same for all files that were handed in together.
        file: the student's name of the file; empty for a folder.
    """

    who: str
    when: datetime | None
    submission: str
    file: str

    @property
    def user(self) -> str:
        """The first word of `who` if it has a digit, as an id has; otherwise empty."""
        first = self.who.partition(" ")[0]
        return first if any(c.isdigit() for c in first) else ""


def brightspace_name(name: str) -> Name | None:
    """Return the parts of a name that Brightspace gave to a file or folder; None for any other name."""
    if not (found := NAME.fullmatch(name)):
        return None
    return Name(found["who"], _time(found["time"]), name[: found.end("time")], found["file"] or "")


def _time(text: str) -> datetime | None:
    if not (found := TIME.fullmatch(" ".join(text.replace(",", "").split()))):  # of narrow spaces, too
        return None
    hour, minute = int(found["hour"]), int(found["minute"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].upper() == "PM" else 0)
    for form in DATES:
        try:
            return datetime.strptime(found["date"], form).replace(hour=hour, minute=minute)
        except ValueError:
            continue
    return None
