"""Find the file that the student should write next or that is missing; train.py, human_play.py and others report it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from common.errors import UsageError
from common.near_names import near_name
from common.weights import WeightsError

STUBS_IN_ORDER = ("AlphaZero/mcts_pure.py", "AlphaZero/policy_value_net_torch.py", "AlphaZero/mcts_alphaZero.py")
# The exception that a stub raises, outside of comments; its message names the file, the method and the handout section.
REMINDER = re.compile(
    r'^[^#\n]*raise NotImplementedError\("[^":]+: (?P<method>[^":]+): see handout section (?P<section>[\d.]+)"\)', re.MULTILINE
)


def first_unwritten(error):
    """Return one sentence (without a full stop) about the first unwritten stub, in the order of the handout.

    Args:
        error: the NotImplementedError raised by a stub; used if no unwritten stub is found in these files.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path in STUBS_IN_ORDER:
        try:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                reminder = REMINDER.search(file.read())
        except FileNotFoundError:
            return missing_stub(path)
        if reminder:
            where = f"docs/handout.md, section {reminder['section']}"
            return f"{path} comes first and is not written yet: {reminder['method']}; see {where}"
    return f"not written yet: {error}"


def missing_stub(path):
    """Return one sentence (without a full stop) about a file that is missing; it names one with nearly the same name."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(path))
    others = [f"{os.path.dirname(path)}/{name}" for name in os.listdir(folder)] if os.path.isdir(folder) else []
    near = near_name(path, [other for other in others if other not in STUBS_IN_ORDER])
    if near:
        return f"{path} is missing; {near} has nearly this name: rename it"
    return f"{path} is missing; unpack the assignment again"


@contextmanager
def students_faults_as_sentences() -> Iterator[None]:
    """Turn the errors of stubs that are unwritten, missing or no Python, and of unusable weights, into a UsageError."""
    try:
        yield
    except NotImplementedError as error:
        raise UsageError(f"{first_unwritten(error)}.") from error
    except WeightsError as error:
        raise UsageError(str(error)) from error
    except (SyntaxError, ValueError) as error:  # before Python 3.11.4, null bytes in a file are a ValueError
        if not (sentence := broken_student_file(error)):
            raise
        raise UsageError(f"{sentence}.") from error
    except ModuleNotFoundError as error:
        if not (sentence := missing_student_file(error)):
            raise
        raise UsageError(f"{sentence}.") from error


def broken_student_file(error):
    """Return one sentence (without a full stop) if a stub is no longer Python, otherwise an empty string.

    Args:
        error: the SyntaxError, or a ValueError, which may have another cause.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not isinstance(error, SyntaxError) or error.filename is None:  # Python names no file that contains null bytes
        path = next((path for path in STUBS_IN_ORDER if _contains_null_bytes(os.path.join(root, path))), None)
        return f"{path} contains null bytes, as a file in UTF-16 does: save it as UTF-8" if path else ""
    path = os.path.relpath(error.filename, root)
    if path not in STUBS_IN_ORDER:
        return ""
    line = f": {error.text.strip()}" if error.text else ""
    return f"{path} is not valid Python in line {error.lineno} ({error.msg}){line}"


def _contains_null_bytes(path):
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return b"\0" in file.read()


def missing_student_file(error):
    """Return one sentence (without a full stop) if an import failed because a stub is missing, otherwise an empty string.

    Args:
        error: the ModuleNotFoundError.
    """
    path = f"{(error.name or '').replace('.', '/')}.py"
    return missing_stub(path) if path in STUBS_IN_ORDER else ""
