"""How our programs end: by Ctrl-C, by a wrong call, or because nobody reads their output any more."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import FrameType
from typing import Any, NoReturn

from common.errors import UsageError
from common.harmless_text import on_screen

INTERRUPTED = 128 + signal.SIGINT


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that answers a wrong call with one sentence, without the lines of usage before it."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As in the base class, but a command refuses what it does not know itself, and so under its own name."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Print the sentence, which may quote a hostile file name, and exit with code 2."""
        self.exit(2, on_screen(f"{self.prog}: {message.removesuffix('.')} (see --help)") + "\n")


def leave_on_ctrl_c(sentence: str) -> None:
    """Let Ctrl-C end this process at once with a sentence and exit code 130, until `interruptible` is called.

    Call it before slow imports: an exception in the middle of one of them can be lost or reported as another.
    """

    def leave(number: int, frame: FrameType | None) -> None:
        os.write(sys.stderr.fileno(), f"\n{sentence}\n".encode())
        os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a process in the background may ignore Ctrl-C
        signal.signal(signal.SIGINT, leave)


def expect_packages(program: str, *names: str) -> None:
    """End this process with a sentence and exit code 2 if a package is missing: most often, the environment is not active."""
    if missing := [name for name in names if find_spec(name) is None]:
        print(
            f"{program}: expected the packages of requirements.txt; {', '.join(missing)} cannot be found: run source "
            ".venv/bin/activate, or install them as section 2 of docs/handout.md says",
            file=sys.stderr,
        )
        raise SystemExit(2)


def interruptible() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_program(name: str, main: Callable[[], int], *, starts_slowly: bool = False) -> int:
    """Run the main function of a program and return its exit code.

    A UsageError becomes a sentence on standard error and exit code 2. If the reader of the output has gone away, as in
    `... | head`, the program ends quietly.

    Args:
        name: what the sentence begins with.
        starts_slowly: whether what `leave_on_ctrl_c` has set stays in force until `main` calls `interruptible`.
    """
    if not starts_slowly:
        interruptible()
    try:
        code = main()
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(on_screen(f"{name}: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Python would write what is left when it exits, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
