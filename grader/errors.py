"""The three kinds of failure that the grader keeps apart: the caller's, the student's and its own."""

from __future__ import annotations


class UsageError(Exception):
    """The call was wrong or the machine lacks something: one sentence for the caller, exit code 2."""


class StudentFault(Exception):
    """What the submission did wrong, as a sentence that the student reads in the report."""


class CouldNotGrade(Exception):
    """The grader could not find out: neither a pass nor a fail, and a person has to look."""
