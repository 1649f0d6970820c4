"""The commands that take a submission and grade it or lay it out as a runnable tree."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.harmless_text import on_screen
from grader.arguments import add_lab, at_least_one, seed
from grader.assignment_file import load_named
from grader.confinement.sandbox import LEVELS, find_sandbox
from grader.pipeline.class_grading import ClassOrder, grade_class
from grader.pipeline.grading import require_strong
from grader.pipeline.order import Order, Regrade
from grader.pipeline.planning import plan_class
from grader.pipeline.submission import read_submission
from grader.pipeline.summary import summary_lines
from grader.pipeline.workspace import build_workspace
from grader.screen import Screen


def grade_command(options: argparse.Namespace) -> int:
    """Grade the paths, several at once, and print a summary; a path that cannot be read does not stop the others."""
    assignment = load_named(options.lab)
    assignment.profile(options.profile)
    if options.whole_match and not assignment.long_checks.get("match"):
        raise UsageError(
            f"expected --whole-match for an assignment with a match; {assignment.title} has none: leave --whole-match out"
        )
    sandbox = find_sandbox(options.sandbox)
    require_strong(sandbox, options.paths, assignment, options.allow_weak_sandbox)
    screen = Screen()
    for line in (sandbox.sentence, *assignment.python_notes()):
        screen(line)
    only = tuple(check.id for name in options.only for check in assignment.named(name))
    order = Order(
        assignment,
        options.profile,
        options.out,
        sandbox,
        options.seed,
        options.again,
        options.looked_at,
        options.whole_match,
        Regrade(only, options.regrade) if only or options.regrade else None,
    )
    if options.plan:
        if options.ray_address is not None:
            screen("The plan is for this machine alone, not for the cluster.")
        for line in plan_class(options.paths, order, options.jobs):
            screen(line)
        return 0
    class_order = ClassOrder(order, options.jobs, options.ray_address)
    rows = grade_class(options.paths, class_order, screen, screen.complain)
    screen("")
    for line in summary_lines(rows):
        screen(line)
    return max(row.exit_code for row in rows)


def workspace_command(options: argparse.Namespace) -> int:
    """Lay out a runnable tree: the framework with the submission over it."""
    assignment = load_named(options.lab)
    submission = read_submission(options.submission, assignment)
    place = build_workspace(assignment, submission, options.folder)
    files = "1 file" if len(submission.files) == 1 else f"{len(submission.files)} files"
    print(on_screen(f"{place} holds the framework with {files} of {submission.name} on top of it."))
    return 0


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of `python -m grader`."""
    grading = commands.add_parser("grade", help="grade submissions (folders or archives)")
    grading.add_argument("paths", nargs="+", type=Path, metavar="SUBMISSION", help="folder or archive of one submission")
    add_lab(grading)
    grading.add_argument("--profile", default="quick", help="how thoroughly to grade: smoke, quick (default) or full")
    grading.add_argument("--out", type=Path, default=Path("results"), help="folder for results (default: results)")
    grading.add_argument(
        "--jobs", type=at_least_one, metavar="N", help="submissions graded at once (default: one on each core)"
    )
    grading.add_argument("--seed", type=seed, help="repeat a run's hidden positions and games (default: a new seed)")
    grading.add_argument("--again", action="store_true", help="grade finished submissions again; earlier results are kept")
    grading.add_argument("--sandbox", choices=LEVELS, help="confinement to use (default: the strongest that works here)")
    grading.add_argument(
        "--allow-weak-sandbox", action="store_true", help="grade even if the confinement is too weak for submissions"
    )
    grading.add_argument(
        "--looked-at",
        action="store_true",
        help="also grade files that resemble handed-out sources, because a person has looked at them and lets them count",
    )
    grading.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CHECK",
        help="grade only this check or part, such as network; an earlier result keeps its verdicts on the other checks",
    )
    grading.add_argument(
        "--regrade",
        choices=("failed", "changed"),
        help="grade again only the checks of an earlier result that did not pass, or those that a change since then can affect",
    )
    grading.add_argument(
        "--whole-match",
        action="store_true",
        help="play every game of the match; by default it ends when the points are known with 95 %% confidence",
    )
    grading.add_argument(
        "--ray-address", metavar="HOST:PORT", help="grade on the machines of this Ray cluster (auto: the one on this machine)"
    )
    grading.add_argument("--plan", action="store_true", help="only say how long the grading will take")
    interrupted = "Interrupted; every verdict so far is kept, and the same command continues."
    grading.set_defaults(run=grade_command, interrupted=interrupted)

    workspace = commands.add_parser("workspace", help="lay out the framework and a submission as a runnable tree")
    workspace.add_argument("submission", type=Path, metavar="SUBMISSION", help="folder or archive of one submission")
    workspace.add_argument("folder", type=Path, metavar="FOLDER", help="new or empty folder for the tree")
    add_lab(workspace)
    workspace.set_defaults(run=workspace_command)
