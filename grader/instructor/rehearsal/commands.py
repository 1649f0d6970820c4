"""The commands `python -m grader rehearse` and `python -m grader check-rehearsal`."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from common.errors import UsageError
from grader.arguments import at_least_one
from grader.assignment import load_assignment
from grader.instructor.rehearsal import outcome
from grader.instructor.rehearsal.downloads import PLATFORMS
from grader.instructor.rehearsal.rehearse import (
    DOWNLOAD,
    DUE,
    EXPECTED,
    ROSTER,
    draw_class,
    require_place,
    samples_of_a_class,
    write_class,
)
from grader.screen import Screen

MAX_CLASS = 1000


def rehearse_command(options: argparse.Namespace) -> int:
    """Write a made-up class, and say how to go on."""
    if options.students > MAX_CLASS:
        raise UsageError(f"expected a class of at most {MAX_CLASS} students; got {options.students}")
    screen, out = Screen(), options.out
    require_place(out)
    pupils = draw_class(options.students, options.seed, options.platform, samples_of_a_class())
    write_class(pupils, options.platform, options.seed, out, load_assignment())
    counts = Counter(pupil.outcome for pupil in pupils)
    screen(
        f"{options.students} students, seed {options.seed}, as a download of {options.platform}: "
        f"{', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}. {out / EXPECTED} says what must come of "
        "each. Go on with"
    )
    place = shlex.quote(str(out))
    roster = f"{place}/{ROSTER}"
    collected, results, marks = f"{place}/collected", f"{place}/results", f"{place}/marks"
    for line in (
        f"collect {place}/{DOWNLOAD} --roster {roster} --due {DUE.isoformat()} --out {collected}",
        f"grade {collected}/submissions/* --profile smoke --out {results}",
        f"marks {results} --students {roster} --collected {collected}/collected.csv --out {marks}",
        f"check-rehearsal {results} {place}",
    ):
        screen(f"  python -m grader {line}")
    return 0


def check_rehearsal_command(options: argparse.Namespace) -> int:
    """Compare results with what the rehearsal expects; return 1 if a row differs, else 0."""
    screen, rows = Screen(), outcome.read_expected(options.rehearsal)
    if not options.results.is_dir():
        raise UsageError(f"expected the folder of graded results; got {options.results}")
    wrong = 0
    for row in rows:
        found = list(outcome.differences(row, options.results))
        wrong += bool(found)
        screen(f"{row.id}  {row.outcome:8}  {row.archive:20}  {row.sample:40}  {'; '.join(found) or 'as expected'}")
    screen(f"{len(rows) - wrong} of {len(rows)} as expected.")
    return 1 if wrong else 0


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    rehearse = commands.add_parser("rehearse", help="make up a class whose grades are known, to try the course on")
    rehearse.add_argument("students", type=at_least_one, metavar="N", help="number of students on the roster")
    rehearse.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the download and the tables")
    rehearse.add_argument("--seed", type=int, default=1, help="the same seed gives the same class (default: 1)")
    rehearse.add_argument(
        "--as", dest="platform", choices=PLATFORMS, default="canvas", help="whose download to imitate (default: canvas)"
    )
    rehearse.set_defaults(run=rehearse_command)

    checking = commands.add_parser("check-rehearsal", help="compare the results of a rehearsal with what it expects")
    checking.add_argument("results", type=Path, metavar="RESULTS", help="folder of graded results")
    checking.add_argument("rehearsal", type=Path, metavar="FOLDER", help="folder that rehearse wrote")
    checking.set_defaults(run=check_rehearsal_command)
