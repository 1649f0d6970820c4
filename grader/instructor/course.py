"""The folder of a course, with its schemes of marks, its rubric and its notebooks, and the options that name them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from grader.instructor.marking.schemes import DEFAULT, SCHEMES

COURSE, LABS = Path("instructor", "course"), Path("labs")


def course_option() -> argparse.ArgumentParser:
    """Return a parser with the option --course, to be a parent of the commands that need the folder."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--course", type=Path, help=f"folder of the course (default: {COURSE}, or that of the lab)")
    return parser


def course_of(options: argparse.Namespace) -> Path:
    """Return the folder that the options name, or that of the assignment or lab."""
    lab = getattr(options, "lab", "")
    return options.course or (LABS / lab / COURSE.name if lab else COURSE)


def add_scheme(command: Any) -> None:
    """Add the option that names a scheme; the value is for `grader.instructor.marking.schemes.load_scheme`."""
    command.add_argument(
        "--scheme",
        default="",
        metavar="NAME",
        help=f"a file of COURSE/{SCHEMES} without .toml (default: the only one, or {DEFAULT} if there are several)",
    )
