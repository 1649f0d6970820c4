"""Failures of the student and of the grader itself; a mistake of the caller is a `common.errors.UsageError`."""

from __future__ import annotations


class StudentFault(Exception):
    """A fault of the submission, as a sentence that the student reads in the report."""


class CouldNotGrade(Exception):
    """The grader could not reach a verdict, neither pass nor fail, so a person has to look."""
