"""The commands `collect` and `unpack`."""

from __future__ import annotations

import argparse
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

from common.errors import UsageError
from grader.arguments import add_lab
from grader.instructor.collecting.collect import TABLE, CollectOrder, collect
from grader.instructor.collecting.keeping import SUBMISSIONS
from grader.instructor.collecting.notebooks import WARMUP
from grader.instructor.collecting.outcomes import lines
from grader.instructor.collecting.times import A_MOMENT, moment
from grader.instructor.collecting.unpacking import unpack
from grader.instructor.course import course_of
from grader.screen import Screen


def collect_command(options: argparse.Namespace) -> int:
    """Collect the submissions of a class and print a table."""
    screen = Screen()
    if options.warmup and options.lab:
        raise UsageError(f"expected --lab or --warmup; got both, --lab {options.lab} and --warmup")
    due = options.due
    if due is not None and due.tzinfo is None:
        due = due.astimezone()
        screen(f"The due date has no time zone; that of this machine is assumed: {due.isoformat()}.")
    counts = dict(options.counts)
    order = CollectOrder(
        tuple(options.archives),
        options.out,
        options.roster,
        due,
        options.grace,
        options.pattern,
        counts,
        options.in_time_first,
        WARMUP if options.warmup else options.lab or None,
        course_of(options),
        options.times,
    )
    try:
        collected = collect(order, screen)
    except OSError as error:
        raise UsageError(f"the collection cannot be written: {error.filename or options.out}: {error.strerror}") from error
    screen("")
    for line in (*lines(collected.rows), *collected.left_out):
        screen(line)
    if collected.lab == WARMUP:
        screen(
            f"The list is {options.out / TABLE}. Grade, in {course_of(options)}: nbgrader generate_assignment {WARMUP} --force "
            f"(once), then nbgrader autograde {WARMUP}"
        )
        return collected.exit_code
    if not any((options.out / SUBMISSIONS).glob("*")):
        screen(f"The list is {options.out / TABLE}. There is nothing to grade yet.")
        return collected.exit_code
    lab = f" --lab {collected.lab}" if collected.lab else ""
    grading = f"python -m grader grade{lab} {shlex.quote(str(options.out / SUBMISSIONS))}/* --profile full --out results"
    screen(f"The list is {options.out / TABLE}. Grade: {grading}")
    return collected.exit_code


def unpack_command(options: argparse.Namespace) -> int:
    """Unpack a submission, and say what stays out of the folder."""
    screen = Screen()
    count, refused = unpack(options.submission, options.folder)
    for path, reason in refused.items():
        screen(f"{path} stays out: {reason}.")
    screen(f"{options.folder} holds {count} {'file' if count == 1 else 'files'} of {options.submission}.")
    return 0


def _due_date(text: str) -> datetime:
    try:
        return moment(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {A_MOMENT}; got {text!r}") from None


def _minutes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise argparse.ArgumentTypeError(f"expected a whole number of minutes, at least 0; got {text!r}")
    return int(text)


def _choice(text: str) -> tuple[str, int]:
    student, _, number = text.rpartition("=")
    if not student or not number.isascii() or not number.isdigit():
        raise argparse.ArgumentTypeError(f"expected the id of a student and the number of an attempt, ID=N; got {text!r}")
    return student, int(number)


def add_commands(commands: Any, course: argparse.ArgumentParser) -> None:
    """Add these commands to the subparsers of `python -m grader`; `course` has the option --course."""
    collecting = commands.add_parser(
        "collect", parents=[course], help="extract the submissions of a class from a platform's downloads"
    )
    collecting.add_argument(
        "archives",
        nargs="*",
        type=Path,
        metavar="ARCHIVE",
        help="class download of a learning platform, folder of archives, or one student's archive",
    )
    collecting.add_argument("--out", type=Path, required=True, metavar="DIR", help="new folder, or an earlier collection")
    add_lab(collecting)
    collecting.add_argument(
        "--warmup", action="store_true", help="collect the warm-up's notebooks, and put them into COURSE/submitted for nbgrader"
    )
    collecting.add_argument(
        "--roster",
        type=Path,
        metavar="CSV",
        help="students of the course, with a column id, and optionally submission, first_name, last_name, email, canvas_id, "
        "moodle_id, dropped (default: every id that is found is a student)",
    )
    collecting.add_argument(
        "--due", type=_due_date, metavar="ISO", help="due date with its time, such as 2026-12-01T23:59+01:00"
    )
    collecting.add_argument(
        "--grace", type=_minutes, metavar="MIN", help="minutes after the due date that still count as in time"
    )
    collecting.add_argument(
        "--times",
        type=Path,
        metavar="CSV",
        help="id,submitted_at: times that you looked up, where the platform gives none (an empty one withdraws an earlier "
        "one); or the grading worksheet of Moodle",
    )
    collecting.add_argument(
        "--in-time-first",
        action=argparse.BooleanOptionalAction,
        help="count the last attempt in time; a late one counts only if all are late (default: the last attempt counts)",
    )
    collecting.add_argument("--pattern", help="how files are named, such as '{name}_{id}_{file}', with {id}, {name} or {email}")
    collecting.add_argument(
        "--counts",
        action="append",
        default=[],
        type=_choice,
        metavar="ID=N",
        help="count attempt N of a student, until a new attempt comes; may be repeated",
    )
    collecting.set_defaults(run=collect_command, interrupted="Interrupted; the same command collects again.")

    unpacking = commands.add_parser("unpack", help="unpack a submission without its links, to repair it by hand")
    unpacking.add_argument("submission", type=Path, metavar="SUBMISSION", help="archive of one submission")
    unpacking.add_argument("folder", type=Path, metavar="FOLDER", help="new or empty folder")
    unpacking.set_defaults(run=unpack_command)
