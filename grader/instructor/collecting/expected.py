"""What collecting has to know of the work that a class hands in: an assignment, or the warm-up's notebooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.assignment import Assignment
from grader.assignment_file import load_named
from grader.instructor.collecting.notebooks import WARMUP, expected_notebooks, read_notebooks
from grader.pipeline.submission import absent_parts, read_submission


@dataclass(frozen=True)
class Expected:
    """What a submission should hold.

    Attributes:
        folders: names of folders that tell a submission from a class, in lower case.
        suffixes: of the files that count, such as .py.
        examine: takes the path of an attempt; returns sentences about what it lacks, and whether a person has to look at it.
            It raises a UsageError if the attempt cannot be read.
        loose: whether students hand in loose files, so that each file is not an attempt of its own.
    """

    folders: frozenset[str]
    suffixes: frozenset[str]
    examine: Callable[[Path], tuple[tuple[str, ...], bool]]
    loose: bool = False


def expected_of(name: str, course: Path) -> Expected:
    """Return what is expected of the main assignment (empty name), a lab, or the warm-up of a course.

    Raises:
        UsageError: there is no such lab, or the course has no warm-up.
    """
    if name == WARMUP:
        notebooks = expected_notebooks(course)

        def examine(path: Path) -> tuple[tuple[str, ...], bool]:
            found = read_notebooks(path, notebooks)
            return found.notes, found.unclear

        return Expected(frozenset({WARMUP}), frozenset({".ipynb"}), examine, loose=True)
    return of_assignment(load_named(name))


def of_assignment(assignment: Assignment) -> Expected:
    """Return what is expected of an assignment: its parts."""

    def examine(path: Path) -> tuple[tuple[str, ...], bool]:
        lacking = absent_parts(read_submission(path, assignment), assignment)
        return tuple(lacking.values()), len(lacking) == len(assignment.parts) > 0

    return Expected(
        frozenset(part.casefold() for part in assignment.parts),
        frozenset(PurePosixPath(pattern).suffix for pattern in assignment.collected),
        examine,
    )
