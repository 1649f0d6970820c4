"""`python -m grader COMMAND`. Exit codes: 0 done, 1 what was examined fell short, 2 the call was wrong."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from grader import check, doctor, submit
from grader.assignment import load_assignment
from grader.class_grading import Order, grade_class
from grader.errors import CouldNotGrade, UsageError
from grader.grading import require_strong
from grader.sandbox import LEVELS, find_sandbox
from grader.submission import read_submission
from grader.summary import table
from grader.text import on_screen
from grader.workspace import build_workspace


class Screen:
    """Lines for a person; a line that begins with a carriage return is replaced by the next one on a terminal."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._width = 0
        self._last = ""

    def __call__(self, line: str) -> None:
        in_place = line.startswith("\r")
        line = on_screen(line.strip("\r\n"))  # what a submission wrote may be in it
        if in_place and (not self._terminal or line == self._last):
            return
        if self._width:
            print("\r" + " " * self._width + "\r", end="")
        self._last, self._width = (line, len(line)) if in_place else ("", 0)
        print(line, end="" if in_place else "\n", flush=True)


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
    for line in table(rows):
        screen(line)
    return max(row.exit_code for row in rows)


def complain(sentence: str) -> None:
    """A sentence on standard error."""
    print(on_screen(sentence), file=sys.stderr, flush=True)


def check_command(options: argparse.Namespace) -> int:
    """Run the quick checks on the student's own folder."""
    return check.main(options.only, [kind for kind in ("match", "training") if getattr(options, kind)], Screen())


def submit_command(options: argparse.Namespace) -> int:
    """Pack what is collected from the student's own folder."""
    return submit.main(options.out)


def doctor_command(options: argparse.Namespace) -> int:
    """Try whether the confinement holds on this machine."""
    return doctor.main(options.level, Screen())


def workspace_command(options: argparse.Namespace) -> int:
    """Lay out a runnable tree: framework and submission."""
    assignment = load_assignment()
    submission = read_submission(options.submission, assignment)
    place = build_workspace(assignment, submission, options.folder)
    print(on_screen(f"{len(submission.files)} files of {submission.name} over the framework in {place}"))
    return 0


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that shows what a file's name made it complain of as a terminal can bear it."""

    def error(self, message: str) -> NoReturn:
        super().error(on_screen(message))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = Parser(prog="python -m grader", description="Grade submissions of this assignment.")
    commands = main.add_subparsers(dest="command", required=True)

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

    examining = commands.add_parser("doctor", help="try whether the confinement of submissions holds on this machine")
    examining.add_argument("--level", choices=LEVELS, help="(default: the strongest that works)")
    examining.set_defaults(run=doctor_command)

    workspace = commands.add_parser("workspace", help="lay out framework + submission as a runnable tree")
    workspace.add_argument("submission", type=Path)
    workspace.add_argument("folder", type=Path)
    workspace.set_defaults(run=workspace_command)

    # A student's kit has none of these.
    if find_spec("grader.author"):
        import_module("grader.author").add_commands(commands, Screen())
    return main


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except (UsageError, CouldNotGrade) as error:
        complain(f"grader: {error}")
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted; the same command, without --again, continues where it stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
