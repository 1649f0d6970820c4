"""Which attempt of the collection was graded: the one that counts now, with its report or not, another one, or none."""

from __future__ import annotations

from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.gradebook_entries import GradebookEntry
from grader.instructor.marking.tables import Handed
from grader.pipeline.kept_reports import are_kept
from grader.pipeline.submission import Submission, read_submission

ATTEMPTS = "attempts"
COUNTED, OTHER_REPORT, ANOTHER, NONE = "counted", "other report", "another", "none"


def graded_attempt(entry: GradebookEntry, handed: Handed, collection: Path, assignment: Assignment, owner: str) -> str:
    """Return whether a result is that of the attempt which counts now, of another one, or of none.

    Attempts are compared by the files that the assignment collects, and the one that counts by its reports too, as `grade`
    compares them. A result belongs to none if a person repaired a folder and did not collect it, or if the attempt was
    collected into another folder.

    Args:
        collection: the folder that holds collected.csv.
        owner: the student's id.

    Returns:
        COUNTED, OTHER_REPORT, ANOTHER or NONE; empty if the attempt that counts is not in the collection.
    """
    folder = collection / ATTEMPTS / owner
    attempts = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    if handed.counted not in attempts:
        return ""
    counted = _read(attempts.pop(handed.counted), assignment)
    if counted and counted.digest == entry.digest:
        return COUNTED if are_kept(counted.report_files, entry.path.parent) else OTHER_REPORT
    others = (_read(path, assignment) for path in attempts.values())
    return ANOTHER if any(other and other.digest == entry.digest for other in others) else NONE


def _read(path: Path, assignment: Assignment) -> Submission | None:
    """Return an attempt; None if it cannot be read."""
    try:
        return read_submission(path, assignment)
    except UsageError:
        return None
