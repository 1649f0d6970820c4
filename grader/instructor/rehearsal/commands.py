"""The commands `python -m grader rehearse` and `python -m grader check-rehearsal`."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common.errors import UsageError
from grader.arguments import at_least_one, seed
from grader.assignment_file import load_assignment
from grader.instructor.collecting.collect import TABLE
from grader.instructor.collecting.keeping import SUBMISSIONS
from grader.instructor.course import COURSE
from grader.instructor.marking.exports import MARKS
from grader.instructor.marking.schemes import load_scheme
from grader.instructor.rehearsal import outcome
from grader.instructor.rehearsal.class_tables import CollectedTable, MarksTable
from grader.instructor.rehearsal.downloads import PLATFORMS
from grader.instructor.rehearsal.pupils import GRADED, draw_class, samples_of_a_class
from grader.instructor.rehearsal.rehearse import (
    BY_HAND,
    DOWNLOAD,
    DUE,
    EXPECTED,
    OVERRIDES,
    ROSTER,
    TIMES,
    require_place,
    write_class,
)
from grader.pipeline.results import RESULTS, Results, read_results
from grader.screen import Screen

MAX_CLASS = 1000
PROFILE = "quick"
COLLECTED, MARKS_FOLDER = "collected", "marks"  # where the printed commands put things


def rehearse_command(options: argparse.Namespace) -> int:
    """Write a made-up class, and say how to go on."""
    if options.students > MAX_CLASS:
        raise UsageError(f"expected a class of at most {MAX_CLASS} students; got {options.students}")
    screen, out = Screen(), options.out
    require_place(out)
    pupils = draw_class(options.students, options.seed, options.platform, samples_of_a_class())
    assignment = load_assignment()
    write_class(pupils, options.platform, options.seed, out, assignment)
    counts = Counter(pupil.outcome for pupil in pupils)
    screen(
        f"{options.students} students, seed {options.seed}, as a download of {options.platform}: "
        f"{', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}. {out / EXPECTED} lists the expected "
        "outcome of each. Continue with"
    )
    for line in _steps(out):
        screen(f"  python -m grader {line}")
    required = load_scheme("", out / COURSE.name, assignment).profile
    screen(
        f"The profile {PROFILE} takes a few minutes for each submission; --profile smoke is a short try. The scheme requires "
        f"--profile {required}, so the totals of this rehearsal are not final."
    )
    return 0


def _steps(out: Path) -> Iterator[str]:
    """Yield the commands of a whole term, as a shell reads them."""

    def path(*names: str) -> str:
        return shlex.quote(str(out.joinpath(*names)))

    roster, results, collected, course = path(ROSTER), path("results"), path(COLLECTED, TABLE), path(COURSE.name)
    submissions = f"{path(COLLECTED, SUBMISSIONS)}/*"
    times = f" --times {path(TIMES)}" if (out / TIMES).exists() else ""
    yield f"collect {path(DOWNLOAD)} --roster {roster} --due {DUE.isoformat()}{times} --out {path(COLLECTED)}"
    yield f"grade {submissions} --profile {PROFILE} --out {results}"
    if find_spec("nbgrader"):
        yield f"gradebook {results} --students {roster} --collected {collected} --course {course}"
    yield (
        f"marks {results} --students {roster} --collected {collected} --by-hand {path(BY_HAND)} --overrides {path(OVERRIDES)} "
        f"--missing-as-zero --course {course} --out {path(MARKS_FOLDER)}"
    )
    yield f"check-rehearsal {results} {path()}"
    if find_spec("copydetect"):
        yield f"similarity {submissions} --out {path('similarity')}"
    marks = path(MARKS_FOLDER, MARKS)
    yield f"give-back {results} --marks {marks} --collection {path(COLLECTED)} --course {course} --out {path('back')}"


def check_rehearsal_command(options: argparse.Namespace) -> int:
    """Compare results, collected.csv and marks.csv with what the rehearsal expects; return 1 if a row differs, else 0."""
    screen, rows = Screen(), outcome.read_expected(options.rehearsal)
    if not options.results.is_dir():
        raise UsageError(f"expected the folder of graded results; got {options.results}")
    tables = {}
    for name, given, usual in (
        (TABLE, options.collected, options.rehearsal / COLLECTED / TABLE),
        (MARKS, options.marks, options.rehearsal / MARKS_FOLDER / MARKS),
    ):
        if given or usual.exists():
            tables[name] = given or usual
        else:
            screen(f"There is no {usual}, so {name} is not compared.")
    collected = CollectedTable(tables[TABLE]) if TABLE in tables else None
    marks = MarksTable(tables[MARKS], options.rehearsal, load_assignment()) if MARKS in tables else None
    wrong = 0
    for row in rows:
        found = list(outcome.differences(row, options.results))
        taken: tuple[str, ...] = ()
        if collected:
            found += collected.differences(row, rows)
        if marks:
            others, taken = marks.compare(row, _results_of(row, options.results))
            found += others
        wrong += bool(found)
        note = f", with the graded points of {len(taken)} checks that are not certain" if taken else ""
        screen(f"{row.id}  {row.outcome:8}  {row.archive:20}  {row.sample:40}  {'; '.join(found) or f'as expected{note}'}")
    screen(f"{len(rows) - wrong} of {len(rows)} as expected.")
    return 1 if wrong else 0


def _results_of(row: outcome.Row, results: Path) -> Results | None:
    """Return the result of a student that `outcome.differences` has found usable, or None."""
    try:
        return read_results(results / row.id / RESULTS) if row.outcome == GRADED else None
    except UsageError:
        return None


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    rehearse = commands.add_parser("rehearse", help="make up a class whose grades are known, to try the course on")
    rehearse.add_argument("students", type=at_least_one, metavar="N", help="number of students on the roster")
    rehearse.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the download and the tables")
    rehearse.add_argument("--seed", type=seed, default=1, help="the same seed gives the same class (default: 1)")
    rehearse.add_argument(
        "--as", dest="platform", choices=PLATFORMS, default="canvas", help="whose download to imitate (default: canvas)"
    )
    rehearse.set_defaults(run=rehearse_command)

    checking = commands.add_parser(
        "check-rehearsal", help="compare the results and marks of a rehearsal with the expected ones"
    )
    checking.add_argument("results", type=Path, metavar="RESULTS", help="folder of graded results")
    checking.add_argument("rehearsal", type=Path, metavar="FOLDER", help="folder that rehearse wrote")
    checking.add_argument(
        "--collected", type=Path, metavar="CSV", help=f"collected.csv (default: that in FOLDER/{COLLECTED}, if there is one)"
    )
    checking.add_argument(
        "--marks", type=Path, metavar="CSV", help=f"marks.csv (default: that in FOLDER/{MARKS_FOLDER}, if there is one)"
    )
    checking.set_defaults(run=check_rehearsal_command)
