"""The commands that give results back: to the class, and as an autograder for Gradescope."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from grader.arguments import add_lab, at_least_one
from grader.instructor.course import course_of
from grader.instructor.returning import give_back, gradescope
from grader.instructor.returning.autograde import VISIBILITIES, Settings
from grader.screen import Screen


def give_back_command(options: argparse.Namespace) -> int:
    """Make a folder for each student, and the page of the class."""
    order = give_back.GiveBackOrder(
        results=tuple(options.results),
        marks=options.marks,
        out=options.out,
        course=course_of(options),
        lab=options.lab,
        scheme=options.scheme,
        roster=options.students,
        collection=options.collection,
        with_zips=options.zip,
        ladder=options.ladder,
        allow_weak_sandbox=options.allow_weak_sandbox,
    )
    return give_back.main(order, Screen())


def gradescope_command(options: argparse.Namespace) -> int:
    """Build the autograder for Gradescope."""
    settings = Settings(
        profile=options.profile,
        checks=tuple(options.checks),
        minutes=options.minutes,
        allow_weak_sandbox=options.allow_weak_sandbox,
        visibility=options.visibility,
        lab=options.lab,
    )
    return gradescope.main(options.out, settings, Screen())


def add_commands(commands: Any, course: argparse.ArgumentParser) -> None:
    """Add these commands to the subparsers of `python -m grader`.

    Args:
        course: has the option `--course`.
    """
    returning = commands.add_parser("give-back", parents=[course], help="make a folder for each student, and a class page")
    returning.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="results.json, its folder, or a folder of such folders"
    )
    add_lab(returning)
    returning.add_argument(
        "--marks", type=Path, required=True, metavar="CSV", help="marks.csv, which python -m grader marks writes"
    )
    returning.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the students' folders")
    returning.add_argument(
        "--scheme", default="", metavar="NAME", help="scheme by which the marks were totalled (default: as marks.csv says)"
    )
    returning.add_argument(
        "--students", type=Path, metavar="CSV", help="roster, if submissions are not named by the students' ids"
    )
    returning.add_argument(
        "--collection",
        type=Path,
        metavar="FOLDER",
        help="folder that collect wrote: also make archives that give the folders to a whole class on Moodle or Canvas",
    )
    returning.add_argument("--zip", action="store_true", help="also pack each student's folder as a .zip")
    returning.add_argument(
        "--ladder", type=at_least_one, metavar="N", help="play a round robin of N games for each pair of engines"
    )
    returning.add_argument(
        "--allow-weak-sandbox", action="store_true", help="run the ladder even if the confinement is too weak for submissions"
    )
    interrupted = "Interrupted; every game so far is kept, and the same command continues."
    returning.set_defaults(run=give_back_command, interrupted=interrupted)

    uploading = commands.add_parser("gradescope", help="build an autograder to upload to Gradescope")
    uploading.add_argument("out", type=Path, metavar="OUT.zip", help="the archive to write")
    add_lab(uploading)
    uploading.add_argument("--profile", default=Settings.profile, help=f"how thoroughly to grade (default: {Settings.profile})")
    uploading.add_argument(
        "--checks", nargs="+", default=[], metavar="CHECK", help="checks or parts, such as network (default: all)"
    )
    uploading.add_argument(
        "--minutes", type=float, default=Settings.minutes, help=f"stop grading after this time (default: {Settings.minutes:g})"
    )
    uploading.add_argument(
        "--visibility",
        choices=VISIBILITIES,
        default=Settings.visibility,
        help="when students see the checks (default: visible)",
    )
    uploading.add_argument(
        "--allow-weak-sandbox",
        action="store_true",
        help="grade even if the container's confinement is too weak for submissions (default: refuse and say why)",
    )
    uploading.set_defaults(run=gradescope_command)
