"""The commands for students: check the tree that they belong to, warm up, draft the report, and hand it all in."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.program_starts import expect_packages
from grader.arguments import add_lab
from grader.assignment import LONG, ROOT
from grader.assignment_file import load_assignment, load_named
from grader.screen import Screen
from grader.student import check, report_draft, submit, warmup
from grader.student.surroundings import surroundings


def check_command(options: argparse.Namespace) -> int:
    """Run the quick checks on the student's own folder."""
    expect_packages("grader", "torch")
    assignment = load_named(options.lab)
    asked = [kind for kind in LONG if getattr(options, kind)]
    for kind in asked:
        if not assignment.long_checks.get(kind):
            raise UsageError(f"expected --{kind} only for an assignment with a {kind}; {assignment.id} has none")
    return check.main(options.only, asked, Screen(), ROOT / assignment.home, assignment)


def submit_command(options: argparse.Namespace) -> int:
    """Pack the files of the student's folder that are handed in."""
    assignment = load_named(options.lab)
    return submit.main(options.out, ROOT / assignment.home, assignment)


def warmup_command(options: argparse.Namespace) -> int:
    """Run the tests of the warm-up notebooks."""
    expect_packages("grader", "torch")
    return warmup.main(options.notebooks, Screen())


def env_command(options: argparse.Namespace) -> int:
    """Print the machine and the versions that figures in a report depend on."""
    screen = Screen()
    for name, value in surroundings(load_assignment()).items():
        screen(f"{name}: {value}")
    return 0


def report_draft_command(options: argparse.Namespace) -> int:
    """Write a report that begins with the student's own figures."""
    return report_draft.main(options.out, options.match, Screen(), force=options.force)


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    checking = commands.add_parser("check", help="run the quick checks on this folder and say what to do first")
    checking.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="run only this part or check, such as network or network.layers; may be repeated",
    )
    checking.add_argument("--match", action="store_true", help="also play the match, if the assignment has one (takes minutes)")
    checking.add_argument(
        "--training", action="store_true", help="also train, if the assignment has a training (takes minutes)"
    )
    add_lab(checking)
    checking.set_defaults(run=check_command)

    submitting = commands.add_parser("submit", help="pack this folder so that it can be handed in, and say what is missing")
    submitting.add_argument(
        "--out",
        type=Path,
        default=Path("submission.zip"),
        metavar="FILE.zip",
        help="archive to write (default: submission.zip)",
    )
    add_lab(submitting)
    submitting.set_defaults(run=submit_command)

    warming = commands.add_parser("warmup", help="run the tests of the warm-up notebooks, without Jupyter")
    warming.add_argument("notebooks", nargs="*", type=Path, metavar="FILE.ipynb", help="notebooks (default: all of warmup/)")
    warming.set_defaults(run=warmup_command)

    env = commands.add_parser("env", help="show the machine and the versions that figures in a report depend on")
    env.set_defaults(run=env_command)

    drafting = commands.add_parser("report-draft", help="write a report that begins with your own figures and pictures")
    drafting.add_argument(
        "--out",
        type=Path,
        default=Path(report_draft.FOLDER, "report.md"),
        metavar="FILE",
        help="Markdown (.md) or notebook (.ipynb) to write (default: report/report.md)",
    )
    drafting.add_argument(
        "--match",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a match that evaluate.py --json wrote, or records of one (.jsonl; those of ladder.py are below build/ladder)",
    )
    drafting.add_argument("--force", action="store_true", help="replace the file if it exists")
    drafting.set_defaults(run=report_draft_command)
