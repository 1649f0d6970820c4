"""Which oracle this tree has: the live one of the course's own tree, or the bank of a kit."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from grader.checks.oracle import Bank, Oracle


def knows_answers() -> bool:
    """Whether this tree has the grader's own search and network, as a student's kit has not."""
    return find_spec("grader.trusted_oracle") is not None


def find_oracle() -> Oracle:
    """The oracle of this tree."""
    return import_module("grader.trusted_oracle").TrustedOracle() if knows_answers() else Bank.read()
