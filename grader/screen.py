"""Print lines for a person at a terminal."""

from __future__ import annotations

import sys

from common.harmless_text import on_screen


class Screen:
    """Prints lines; on a terminal, the next line replaces one that begins with a carriage return."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._width = 0
        self._last = ""

    def __call__(self, line: str) -> None:
        in_place = line.startswith("\r")
        line = on_screen(line.strip("\r\n"))  # the line may quote text from a submission
        if in_place and (not self._terminal or line == self._last):
            return
        self._clear()
        self._last, self._width = (line, len(line)) if in_place else ("", 0)
        print(line, end="" if in_place else "\n", flush=True)

    def complain(self, sentence: str) -> None:
        """Print a sentence to standard error, on a line of its own."""
        self._clear()
        self._last, self._width = "", 0
        complain(sentence)

    def _clear(self) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", flush=True)


def complain(sentence: str) -> None:
    """Print a sentence to standard error."""
    print(on_screen(sentence), file=sys.stderr, flush=True)
