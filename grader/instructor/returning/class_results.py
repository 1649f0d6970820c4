"""The results of a class, each with the student to whom it belongs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.gradebook_entries import (
    Student,
    enrolled_and_dropped,
    find_results,
    read_finished,
    read_roster,
    refusal_of,
)
from grader.pipeline.results import Results

FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/:;,]+/)+")
"""The folders of an absolute path: a refusal quotes the path as the instructor typed it."""


@dataclass(frozen=True)
class StudentResults:
    """What the grader found about one student's submission, and the folder of that run."""

    folder: Path
    results: Results


@dataclass(frozen=True)
class ClassResults:
    """The results of a class.

    Attributes:
        by_student: id -> results, for each submission that was graded.
        refused: id -> the reason, for each student whose latest archive was refused.
        problems: a sentence for each result that cannot be used.
        dropped: students whose results are left out.
    """

    by_student: Mapping[str, StudentResults]
    refused: Mapping[str, str]
    problems: tuple[str, ...]
    dropped: tuple[Student, ...] = ()


def read_class(paths: Sequence[Path], roster: Path | None, assignment: Assignment) -> ClassResults:
    """Read all results below the paths (see `find_results`).

    Args:
        roster: says which submission belongs to which student; without it, the submission's name is the id.

    Raises:
        UsageError: nothing is at a path, a folder holds no results, or the roster cannot be read.
    """
    if absent := [str(path) for path in paths if not path.exists()]:
        raise UsageError(f"expected results.json, its folder, or a folder of such folders at {absent[0]}; nothing is there")
    students, dropped = enrolled_and_dropped(read_roster(roster) if roster else ())
    owners = {student.submission: student.id for student in students}
    unclear = {name for name, owner in owners.items() if name != owner and name in owners.values()}
    found: dict[str, StudentResults] = {}
    refused: dict[str, str] = {}
    problems: list[str] = []
    for path in find_results(paths, dropped):
        folder = path.parent.resolve()
        if folder.name in unclear:
            problems.append(
                f"{folder}: the roster has {folder.name!r} as the id of one student and as the submission of another"
            )
            continue
        student = owners.get(folder.name, folder.name)
        if student in found or student in refused:
            problems.append(f"{folder}: expected one result for each student; {student} has another one, which counts")
            continue
        try:
            if reason := refusal_of(folder):  # a result next to it is of an earlier archive
                refused[student] = FOLDERS.sub("", reason)
            else:
                found[student] = StudentResults(folder, read_finished(path, assignment))
        except UsageError as error:
            problems.append(str(error))
    return ClassResults(found, refused, tuple(problems), dropped)
