"""The command that totals a class."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from grader.arguments import add_lab, at_least_one
from grader.instructor.course import add_scheme, course_of
from grader.instructor.marking import marks
from grader.instructor.marking.standing import Policy


def marks_command(options: argparse.Namespace) -> int:
    """Total program points and marks by a scheme, and write the tables."""
    chosen = marks.MarksOptions(
        results=tuple(options.results),
        students=options.students,
        course=course_of(options),
        lab=options.lab,
        scheme=options.scheme,
        out=options.out,
        collected=options.collected,
        by_hand=options.by_hand,
        gradebook=options.gradebook,
        overrides=options.overrides,
        policy=Policy(options.missing_as_zero, options.unknown_as_on_time),
        canvas_assignment=options.canvas_assignment,
    )
    return marks.main(chosen)


def add_commands(commands: Any, course: argparse.ArgumentParser) -> None:
    """Add these commands to the subparsers of `python -m grader`; `course` has the option --course."""
    marking = commands.add_parser(
        "marks", parents=[course], help="total the marks of a class, with tables for Canvas and Moodle"
    )
    marking.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="results.json, its folder, or a folder of such folders"
    )
    marking.add_argument("--students", type=Path, metavar="CSV", required=True, help="roster, as for gradebook")
    marking.add_argument("--out", type=Path, metavar="FOLDER", required=True, help="folder for the tables and the journal")
    add_lab(marking)
    add_scheme(marking)
    marking.add_argument("--collected", type=Path, metavar="CSV", help="collected.csv: who handed in nothing, who was late")
    marking.add_argument("--by-hand", type=Path, metavar="CSV", help="marks: id,item,points,comment")
    marking.add_argument("--gradebook", type=Path, metavar="FILE", help="nbgrader's gradebook.db, with marks from formgrader")
    marking.add_argument("--overrides", type=Path, metavar="CSV", help="decisions: id,item,points,reason,by")
    marking.add_argument(
        "--missing-as-zero",
        action="store_true",
        help="give 0 to a student without a result, as if nothing was handed in, and let the 0 of a missing student be final "
        "although the owners of some submissions are not known",
    )
    marking.add_argument(
        "--unknown-as-on-time", action="store_true", help="count a submission whose time is not known as on time"
    )
    marking.add_argument(
        "--canvas-assignment", type=at_least_one, metavar="N", help="number of the assignment in Canvas (in its address)"
    )
    marking.set_defaults(run=marks_command)
