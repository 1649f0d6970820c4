"""How Canvas names the files of a class download, and what these names say about the order of a user's attempts.

A file is called `lastnamefirstname_[LATE_]USER_FILE_name.zip`, where FILE grows with each upload, and the file of a
resubmission `name-1.zip`, `name-2.zip`, ... A text or a link that was handed in has no number of a file:
`lastnamefirstname_[LATE_]USER_text.html`. Where grading is anonymous, all begin with `[LATE_]anon_ID` instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.pipeline.archive_names import without_suffix

ANONYMOUS = "anon"
WHO = (r"(?P<name>[^A-Z]+?)(?P<late>_LATE)?_(?P<user>\d+)", rf"(?P<late>LATE_)?(?P<name>{ANONYMOUS})_(?P<user>[0-9A-Za-z]+)")
TYPED_FILES = ("text.html", "link.html")  # what a name ends with if no file was handed in
WHAT = (r"(?P<number>\d+)_(?P<file>.+)", r"(?P<file>(?P<kind>text|link)\.html)")
NAMES = tuple(re.compile(f"{who}_{what}") for who in WHO for what in WHAT)
RESUBMISSION = re.compile(r"(?P<base>.+)-(?P<number>\d+)")


def canvas_name(name: str) -> re.Match[str] | None:
    """Return the parts of a name that Canvas gave to a file, a text or a link; None for any other name."""
    return next((found for pattern in NAMES if (found := pattern.fullmatch(name))), None)


def file_number(given: str) -> int:
    """Return the number that Canvas gave to a file; 0 if its name has none."""
    found = canvas_name(given)
    return int(found.groupdict().get("number", 0)) if found else 0


def canvas_order(names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return name -> (name of the first attempt, number of the resubmission) for the files of one user of Canvas."""
    stems = {name: without_suffix(name) if without_suffix(name) != name else name.rpartition(".")[0] or name for name in names}
    found = {}
    for name, stem in stems.items():
        part = RESUBMISSION.fullmatch(stem)
        begins_others = any(re.fullmatch(rf"{re.escape(stem)}-\d+", other) for other in stems.values())
        is_next = part and (part["base"] in stems.values() or not begins_others)
        found[name] = (part["base"], int(part["number"])) if part and is_next else (stem, 0)
    return found
