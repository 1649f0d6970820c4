"""How our programs start: Ctrl-C, Windows and a missing package get a sentence before anything slow is imported.

This module imports only what Python has loaded by itself, or nearly so: until `leave_on_ctrl_c` is called, Ctrl-C would show
where an import was.
"""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 128 + signal.SIGINT


def leave_on_ctrl_c(sentence: str) -> None:
    """Let Ctrl-C end this process at once with a sentence and exit code 130, until `interruptible` is called.

    Call it before slow imports: an exception in the middle of one of them can be lost or reported as another. On Windows, where
    these imports would fail, the process ends here.
    """
    _expect_no_windows()

    def leave(number: int, frame: object) -> None:
        os.write(sys.stderr.fileno(), f"\n{sentence}\n".encode())
        os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a process in the background may ignore Ctrl-C
        signal.signal(signal.SIGINT, leave)


def _expect_no_windows() -> None:
    """End this process with a sentence and exit code 2 on Windows, which lacks the modules fcntl and resource."""
    if sys.platform == "win32":
        print(
            "expected Linux, WSL or macOS; this is Windows itself: work inside WSL, as section 2 of docs/handout.md says",
            file=sys.stderr,
        )
        raise SystemExit(2)


def expect_packages(program: str, *names: str) -> None:
    """End this process with a sentence and exit code 2 if a package is missing: most often, the environment is not active."""
    from importlib.util import find_spec

    if missing := [name for name in names if find_spec(name) is None]:
        print(
            f"{program}: expected the packages of requirements.txt; {', '.join(missing)} cannot be found: run source "
            ".venv/bin/activate, or install them with python -m pip install -r requirements.txt",
            file=sys.stderr,
        )
        raise SystemExit(2)


def interruptible() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)
