"""Which attempt of the collection was graded: the one that counts now, another one, or none of them."""

from __future__ import annotations

from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.gradebook_entries import GradebookEntry
from grader.instructor.marking.tables import Handed
from grader.pipeline.submission import read_submission

ATTEMPTS = "attempts"
COUNTED, ANOTHER, NONE = "counted", "another", "none"


def graded_attempt(entry: GradebookEntry, handed: Handed, collection: Path, assignment: Assignment, owner: str) -> str:
    """Return whether a result is that of the attempt which counts now, of another one, or of none.

    Attempts are compared by the files that the assignment collects, as `grade` compares them. A result belongs to none if a
    person repaired a folder and did not collect it, or if the attempt was collected into another folder.

    Args:
        collection: the folder that holds collected.csv.
        owner: the student's id.

    Returns:
        COUNTED, ANOTHER or NONE; empty if the attempt that counts is not in the collection.
    """
    folder = collection / ATTEMPTS / owner
    attempts = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    if handed.counted not in attempts:
        return ""
    counted = attempts.pop(handed.counted)
    if _digest(counted, assignment) == entry.digest:
        return COUNTED
    return ANOTHER if any(_digest(path, assignment) == entry.digest for path in attempts.values()) else NONE


def _digest(path: Path, assignment: Assignment) -> str:
    """Return the digest of an attempt; empty if it cannot be read."""
    try:
        return read_submission(path, assignment).digest
    except UsageError:
        return ""
