"""Run `python -m grader COMMAND`. Exit codes: 0 done, 1 the examined work fell short, 2 the call was wrong."""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")
    expect_packages("grader", "numpy", "pytest", "jinja2", "tqdm")

import argparse
import errno
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from common.errors import UsageError
from common.files import has_no_room
from common.program_ends import Parser, take_any_character
from common.program_starts import interruptible
from grader.errors import CouldNotGrade
from grader.screen import complain

ROOMS = ("pipeline", "student", "confinement", "instructor")
# What a path on the command line can be the fault of.
UNUSABLE = {errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with the commands of each room that this tree contains."""
    main = Parser(
        prog="python -m grader",
        description="Check, hand in and grade submissions of this assignment.",
        epilog="python -m grader COMMAND --help shows the options of a command.",
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for room in ROOMS:
        if Path(__file__).with_name(room).is_dir():  # a student's kit has no grader/instructor/
            import_module(f"grader.{room}.commands").add_commands(commands)
    return main


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    options = argparse.Namespace()
    take_any_character()
    try:
        options = parser().parse_args(arguments)
        interruptible()
        return options.run(options)
    except (UsageError, CouldNotGrade) as error:
        complain(f"grader: {error}")
    except BrokenPipeError:
        # Nobody reads any more, as in `... | head`. Python would write what is left when it exits, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno in UNUSABLE:
            complain(f"grader: expected a file or folder that this command can use; {error.filename}: {error.strerror}")
        elif has_no_room(error):
            complain(f"grader: nothing can be written ({error.strerror}): make room, and give the same command again")
        else:
            raise
    except KeyboardInterrupt:
        # Set by the commands whose finished parts are kept.
        print(f"\n{getattr(options, 'interrupted', 'Interrupted.')}", file=sys.stderr)
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
