"""What a person is told about a player that cannot go on: an engine's sentence, or where the bug of a Python player is."""

from __future__ import annotations

import re
import sys
import traceback

from common.errors import UsageError

STUDENTS_FILE = re.compile(r"(?:^|/)(AlphaZero/[^/]+\.py)$")
MOST_OF_A_MESSAGE = 200  # characters


class PlayerFault(RuntimeError):
    """Raised by a player that cannot go on; the message is one sentence for a person."""


SENTENCES = (PlayerFault, UsageError, NotImplementedError)  # a stub says what is to be written


def student_line(error: BaseException) -> str:
    """Return the last line of AlphaZero/ in an error's traceback, such as `AlphaZero/mcts_pure.py, line 83`; else ""."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if found := STUDENTS_FILE.search(frame.filename.replace("\\", "/")):
            return f"{found[1]}, line {frame.lineno}"
    return ""


def fault_words(error: BaseException) -> str:
    """Return the sentence of a fault, or the class, the message and the student's line of any other exception."""
    if isinstance(error, SENTENCES):
        return str(error) or repr(error)
    message, place = str(error).partition("\n")[0][:MOST_OF_A_MESSAGE], student_line(error)
    return type(error).__name__ + (f": {message}" if message else "") + (f" ({place})" if place else "")


def show_traceback(error: BaseException) -> None:
    """Write the traceback of a player's exception to standard error, unless it is the sentence of a fault."""
    if not isinstance(error, SENTENCES):
        traceback.print_exception(error, file=sys.stderr)
