"""Whether the attempt that was graded is the one that counts now in the collection."""

from __future__ import annotations

from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.gradebook_entries import GradebookEntry
from grader.instructor.marking.tables import Handed
from grader.pipeline.submission import read_submission

ATTEMPTS = "attempts"


def is_of_another_attempt(entry: GradebookEntry, handed: Handed, collection: Path, assignment: Assignment, owner: str) -> bool:
    """Return whether a result is that of an attempt which does not count now.

    Attempts are compared by the files that the assignment collects, as `grade` compares them. A result that belongs to no
    attempt, such as that of a folder which a person repaired and did not collect, is not said to be that of another one.

    Args:
        collection: the folder that holds collected.csv.
        owner: the student's id.
    """
    folder = collection / ATTEMPTS / owner
    attempts = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    if handed.counted not in attempts:
        return False
    counted = attempts.pop(handed.counted)
    if _digest(counted, assignment) == entry.digest:
        return False
    return any(_digest(path, assignment) == entry.digest for path in attempts.values())


def _digest(path: Path, assignment: Assignment) -> str:
    """Return the digest of an attempt; empty if it cannot be read."""
    try:
        return read_submission(path, assignment).digest
    except UsageError:
        return ""
