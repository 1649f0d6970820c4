"""How our programs end: by Ctrl-C, by a wrong call, or because the reader of their output has gone."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any, NoReturn

from common.errors import UsageError
from common.harmless_text import on_screen
from common.near_names import meant
from common.program_starts import INTERRUPTED, interruptible

UNKNOWN = "unrecognized arguments"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that answers a wrong call with one sentence, without the lines of usage before it."""

    misspelt = ""  # the first long option of the call that is unknown

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As in the base class, but a command refuses what it does not know itself, and so under its own name."""
        if self._subparsers is None:
            self.misspelt = self._unknown_option(sys.argv[1:] if args is None else args)
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"{UNKNOWN}: {' '.join(unknown)}")
        return options, unknown

    def _unknown_option(self, words: Iterable[str]) -> str:
        """Return the first long option, without its value, that is neither known nor the beginning of a known one."""
        names = (word.partition("=")[0] for word in takewhile(lambda word: word != "--", words) if " " not in word)
        long = (name for name in names if name.startswith("--"))
        return next((name for name in long if not any(known.startswith(name) for known in self._option_string_actions)), "")

    def error(self, message: str) -> NoReturn:
        """Print the sentence, which may quote a hostile file name, and exit with code 2.

        A misspelt option comes first: otherwise, the base class would only say that the option that was meant is missing.
        """
        if self.misspelt and not message.startswith(UNKNOWN):
            message = f"{UNKNOWN}: {self.misspelt}{meant(self.misspelt, self._option_string_actions)}; {message}"
        self.exit(2, on_screen(f"{self.prog}: {message.removesuffix('.')} (see --help)") + "\n")


def take_any_character() -> None:
    """Keep a character from ending the program: one that the terminal's encoding lacks, or a typed byte that is no text."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")


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
    take_any_character()
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
