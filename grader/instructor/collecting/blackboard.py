"""How Blackboard names what is in a class download: `ASSIGNMENT_USER_attempt_TIME_FILE`, and `..._attempt_TIME.txt`.

The text holds the student's comment. The names of users and of assignments may contain underscores, so only the roster says
where the user begins.
"""

from __future__ import annotations

import re
from datetime import datetime

from grader.instructor.collecting.brightspace import Name

NAME = re.compile(r"(?P<who>.+)_attempt_(?P<time>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)?")


def blackboard_name(name: str) -> Name | None:
    """Return the parts of a name that Blackboard gave to a file; None for any other name.

    `who` is everything before the time: it ends with the user. For the comment, `file` is empty.
    """
    if not (found := NAME.fullmatch(name)):
        return None
    try:
        when = datetime.strptime(found["time"], "%Y-%m-%d-%H-%M-%S")
    except ValueError:
        when = None
    return Name(found["who"], when, name[: found.end("time")], found["file"] or "")
