"""The commands of a student: check the folder that they lie in, and pack it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from grader.screen import Screen
from grader.student import check, submit


def check_command(options: argparse.Namespace) -> int:
    """Run the quick checks on the student's own folder."""
    return check.main(options.only, [kind for kind in ("match", "training") if getattr(options, kind)], Screen())


def submit_command(options: argparse.Namespace) -> int:
    """Pack what is collected from the student's own folder."""
    return submit.main(options.out)


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    checking = commands.add_parser("check", help="run the quick checks on this folder and say what to do first")
    checking.add_argument("--only", metavar="PART", help="one check or part, such as network or network.layers")
    checking.add_argument("--match", action="store_true", help="also the match against the baseline")
    checking.add_argument("--training", action="store_true", help="also the training of tic-tac-toe")
    checking.set_defaults(run=check_command)

    submitting = commands.add_parser("submit", help="pack what this folder hands in, and say what is missing")
    submitting.add_argument(
        "--out", type=Path, default=Path("submission.zip"), metavar="FILE.zip", help="(default: submission.zip)"
    )
    submitting.set_defaults(run=submit_command)
