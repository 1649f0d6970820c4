"""`python -m grader COMMAND`. Exit codes: 0 done, 1 the thing examined fell short, 2 the call was wrong."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from common.errors import UsageError
from common.text import on_screen
from grader.errors import CouldNotGrade
from grader.screen import complain

ROOMS = ("pipeline", "student", "confinement", "instructor")


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that shows what a file's name made it complain of as a terminal can bear it."""

    def error(self, message: str) -> NoReturn:
        super().error(on_screen(message))


def parser() -> argparse.ArgumentParser:
    """The command line: each room that is there brings its own commands."""
    main = Parser(prog="python -m grader", description="Grade submissions of this assignment.")
    commands = main.add_subparsers(dest="command", required=True)
    for room in ROOMS:
        if Path(__file__).with_name(room).is_dir():  # a student's kit has no grader/instructor/
            import_module(f"grader.{room}.commands").add_commands(commands)
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
