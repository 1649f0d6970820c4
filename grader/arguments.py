"""Types of command-line arguments that several commands share."""

from __future__ import annotations

import argparse
from typing import Any


def at_least_one(text: str) -> int:
    """Read a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1; got {text!r}")
    return number


def add_lab(command: Any) -> None:
    """Add the option that names a lab in place of the main assignment; the value is for `grader.assignment.load_named`."""
    command.add_argument(
        "--lab", default="", metavar="NAME", help="a lab below labs/, such as nogo (default: the main assignment)"
    )
