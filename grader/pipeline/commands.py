"""The commands that take a submission: grade it, or lay it out as a runnable tree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common.text import on_screen
from grader.assignment import load_assignment
from grader.confinement.sandbox import LEVELS, find_sandbox
from grader.pipeline.class_grading import grade_class
from grader.pipeline.grading import require_strong
from grader.pipeline.order import Order
from grader.pipeline.submission import read_submission
from grader.pipeline.summary import summary_lines
from grader.pipeline.workspace import build_workspace
from grader.screen import Screen, complain


def grade_command(options: argparse.Namespace) -> int:
    """Grade each path in turn and show what each came to; one that cannot be read does not keep the others from it."""
    assignment = load_assignment()
    assignment.profile(options.profile)
    sandbox = find_sandbox(options.sandbox)
    require_strong(sandbox, options.paths, assignment, options.allow_weak_sandbox)
    screen = Screen()
    screen(sandbox.sentence)
    order = Order(assignment, options.profile, options.out, sandbox, options.seed, options.again, options.looked_at)
    rows = grade_class(options.paths, order, screen, complain)
    screen("")
    for line in summary_lines(rows):
        screen(line)
    return max(row.exit_code for row in rows)


def workspace_command(options: argparse.Namespace) -> int:
    """Lay out a runnable tree: framework and submission."""
    assignment = load_assignment()
    submission = read_submission(options.submission, assignment)
    place = build_workspace(assignment, submission, options.folder)
    print(on_screen(f"{len(submission.files)} files of {submission.name} over the framework in {place}"))
    return 0


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    grading = commands.add_parser("grade", help="grade submissions (folders or archives)")
    grading.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    grading.add_argument("--profile", default="quick", help="quick (default), full or smoke")
    grading.add_argument("--out", type=Path, default=Path("results"), help="folder for results (default: results)")
    grading.add_argument("--seed", type=int, help="repeat a run's hidden positions and games (default: drawn afresh)")
    grading.add_argument("--again", action="store_true", help="grade also what is finished; the earlier result is kept")
    grading.add_argument("--sandbox", choices=LEVELS, help="force a level (default: the strongest that works)")
    grading.add_argument("--allow-weak-sandbox", action="store_true", help="grade also at a level too weak for submissions")
    grading.add_argument(
        "--looked-at",
        action="store_true",
        help="grade also what resembles a source that was handed out: a person has looked at it, and it counts",
    )
    grading.set_defaults(run=grade_command)

    workspace = commands.add_parser("workspace", help="lay out framework + submission as a runnable tree")
    workspace.add_argument("submission", type=Path)
    workspace.add_argument("folder", type=Path)
    workspace.set_defaults(run=workspace_command)
