"""Failures of the student and of the grader itself; a mistake of the caller is a `common.errors.UsageError`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class StudentFault(Exception):
    """A fault of the submission, as a sentence that the student reads in the report.

    Attributes:
        boards: the positions in which it shows, as evidence (`BoardPosition.pictured` of the judge makes them).
    """

    def __init__(self, message: str, boards: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(message)
        self.boards = list(boards)


class CouldNotGrade(Exception):
    """The grader could not reach a verdict, neither pass nor fail, so a person has to look."""
