"""The commands for those who run or write the course."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from grader.arguments import add_lab, at_least_one, seed
from grader.assignment_file import load_named
from grader.confinement.sandbox import LEVELS
from grader.instructor import gradebook, handout, notebook, release, replay, stubs, trust, warmup
from grader.instructor.collecting import commands as collecting
from grader.instructor.course import add_scheme, course_of, course_option
from grader.instructor.marking import commands as marking
from grader.instructor.rehearsal import commands as rehearsal
from grader.instructor.returning import commands as returning
from grader.instructor.similarity import commands as similarity
from grader.screen import Screen


def stubs_command(options: argparse.Namespace) -> int:
    """Generate the student stubs from the reference, or check that they are up to date."""
    return stubs.main(check=options.check, assignment=load_named(options.lab))


def handout_command(options: argparse.Namespace) -> int:
    """Render the handout's tables from assignment.toml and rubric.toml, or check that they are up to date."""
    return handout.main(check=options.check, assignment=load_named(options.lab))


def notebook_command(options: argparse.Namespace) -> int:
    """Generate the report notebook and the kit's warm-up notebooks, or check that they are up to date."""
    course = course_of(options)
    outcome = notebook.main(course, check=options.check)
    if course.resolve() == notebook.COURSE:  # another course's notebooks are not those of this repository's kit
        outcome = max(outcome, warmup.main(course, check=options.check))
    return outcome


def gradebook_command(options: argparse.Namespace) -> int:
    """Enter the program points of results into nbgrader's gradebook."""
    return gradebook.main(
        gradebook.GradebookOptions(
            results=tuple(options.results),
            course=course_of(options),
            db=options.db,
            students=options.students,
            scheme=options.scheme,
            collected=options.collected,
        )
    )


def replay_command(options: argparse.Namespace) -> int:
    """Repeat verdicts of a graded run and show them beside the recorded ones."""
    level, weak = options.sandbox, options.allow_weak_sandbox
    return replay.main(options.result, options.checks, options.out, Screen(), level=level, allow_weak=weak)


def release_command(options: argparse.Namespace) -> int:
    """Build the student kit, as a folder and as a .zip."""
    return release.main(options.out, seed=options.seed, lab=options.lab)


def trust_command(options: argparse.Namespace) -> int:
    """Grade the samples with a known outcome, and compare."""
    kinds = (options.kind,) if options.kind else tuple(trust.KINDS)
    seeds = range(options.seed, options.seed + options.seeds)
    only = tuple(options.only or ["*"])
    chosen = trust.TrustOptions(only, kinds, seeds, options.out, options.long, options.jobs, options.lab)
    return trust.main(chosen, Screen())


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    course = course_option()
    _add_generators(commands, course)
    collecting.add_commands(commands, course)
    _add_commands_on_results(commands, course)
    marking.add_commands(commands, course)
    _add_commands_on_submissions(commands)
    returning.add_commands(commands, course)
    similarity.add_commands(commands)
    rehearsal.add_commands(commands)


def _add_generators(commands: Any, course: argparse.ArgumentParser) -> None:
    stubs = commands.add_parser("stubs", help="generate the student stubs from the reference")
    add_lab(stubs)
    stubs.add_argument("--check", action="store_true", help="only say which stubs differ")
    stubs.set_defaults(run=stubs_command)

    handout = commands.add_parser("handout", help="render the handout's tables of points and criteria")
    add_lab(handout)
    handout.add_argument("--check", action="store_true", help="only say whether a table differs")
    handout.set_defaults(run=handout_command)

    release = commands.add_parser("release", help="build the student kit and search it for leaks")
    add_lab(release)
    release.add_argument("out", type=Path, metavar="OUT", help="folder for the kit and its .zip")
    release.add_argument("--seed", type=seed, help="seed of the checks' cases, to make a kit again (default: a new seed)")
    release.set_defaults(run=release_command, interrupted="Interrupted; nothing was released.")

    notebook = commands.add_parser("notebook", parents=[course], help="generate the course's report notebook")
    notebook.add_argument("--check", action="store_true", help="only say whether the notebook differs")
    notebook.set_defaults(run=notebook_command)


def _add_commands_on_results(commands: Any, course: argparse.ArgumentParser) -> None:
    gradebook = commands.add_parser("gradebook", parents=[course], help="enter program points into nbgrader's gradebook")
    gradebook.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="results.json, its folder, or a folder of such folders"
    )
    gradebook.add_argument("--db", help="file or URL of the database (default: gradebook.db in the course)")
    gradebook.add_argument(
        "--students",
        type=Path,
        metavar="CSV",
        help="roster with a column id, and optionally submission, first_name, last_name, email",
    )
    add_scheme(gradebook)
    gradebook.add_argument("--collected", type=Path, metavar="CSV", help="collected.csv: when each student handed in")
    gradebook.set_defaults(run=gradebook_command)

    replaying = commands.add_parser("replay", help="repeat verdicts of a graded run, for an appeal")
    replaying.add_argument("result", type=Path, metavar="RESULT", help="folder of a graded run, or its results.json")
    replaying.add_argument(
        "checks", nargs="*", default=[], metavar="CHECK", help="checks or parts, such as network (default: all)"
    )
    replaying.add_argument(
        "--out", type=Path, help=f"folder for repeated runs (default: the folder {replay.REPLAYS} beside RESULT)"
    )
    replaying.add_argument("--sandbox", choices=LEVELS, help="confinement to use (default: the recorded one)")
    replaying.add_argument(
        "--allow-weak-sandbox", action="store_true", help="repeat even if the confinement is too weak for submissions"
    )
    replaying.set_defaults(run=replay_command)


def _add_commands_on_submissions(commands: Any) -> None:
    trusting = commands.add_parser("trust", help="grade the samples with a known outcome (instructor/submissions)")
    add_lab(trusting)
    trusting.add_argument(
        "--only", action="append", metavar="PATTERN", help="samples with a matching name, such as 'pure-*'; may be repeated"
    )
    trusting.add_argument("--kind", choices=trust.KINDS, help="one kind of sample (default: all)")
    trusting.add_argument("--seed", type=seed, default=1, help="first seed of positions and games (default: 1)")
    trusting.add_argument("--seeds", type=at_least_one, default=1, metavar="N", help="number of seeds to try (default: 1)")
    trusting.add_argument("--out", type=Path, default=trust.OUT, help=f"folder for results (default: {trust.OUT})")
    trusting.add_argument("--jobs", type=at_least_one, default=1, metavar="N", help="samples graded at once (default: 1)")
    trusting.add_argument("--long", action="store_true", help="also run the match and the training (minutes per sample)")
    trusting.set_defaults(run=trust_command)
