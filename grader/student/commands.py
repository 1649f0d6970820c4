"""The commands for students: check the folder in which they lie, and pack it to be handed in."""

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
    """Pack the files of the student's folder that are handed in."""
    return submit.main(options.out)


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    checking = commands.add_parser("check", help="run the quick checks on this folder and say what to do first")
    checking.add_argument("--only", metavar="PART", help="run one part or check, such as network or network.layers")
    checking.add_argument("--match", action="store_true", help="also play the match against the baseline (minutes)")
    checking.add_argument("--training", action="store_true", help="also train on tic-tac-toe (minutes)")
    checking.set_defaults(run=check_command)

    submitting = commands.add_parser("submit", help="pack this folder so that it can be handed in, and say what is missing")
    submitting.add_argument(
        "--out",
        type=Path,
        default=Path("submission.zip"),
        metavar="FILE.zip",
        help="archive to write (default: submission.zip)",
    )
    submitting.set_defaults(run=submit_command)
