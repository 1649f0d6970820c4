"""Types of command-line arguments that several commands share."""

from __future__ import annotations

import argparse
from typing import Any


def at_least_one(text: str) -> int:
    """Read a whole number of at least 1."""
    return _at_least(1, text)


def seed(text: str) -> int:
    """Read the seed of a random generator, a whole number of at least 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}; got {text!r}")
    return number


def add_lab(command: Any) -> None:
    """Add the option that names a lab in place of the main assignment; the value is for `grader.assignment_file.load_named`."""
    command.add_argument(
        "--lab", default="", metavar="NAME", help="a lab below labs/, such as nogo (default: the main assignment)"
    )
