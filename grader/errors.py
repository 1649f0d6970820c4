"""The two kinds of failure that the grader keeps apart from its caller's (`common.errors`): the student's and its own."""

from __future__ import annotations


class StudentFault(Exception):
    """What the submission did wrong, as a sentence that the student reads in the report."""


class CouldNotGrade(Exception):
    """The grader could not reach a verdict: neither a pass nor a fail, and a person has to look."""
