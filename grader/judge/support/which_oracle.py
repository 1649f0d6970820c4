"""Find the oracle of this tree: the bank of a kit, or the trusted modules of the instructor's tree."""

from __future__ import annotations

from grader.judge.support.oracle import Bank, Oracle, is_kit


def find_oracle() -> Oracle:
    """Return the oracle of this tree."""
    if is_kit():
        return Bank.read()
    from grader.judge.trusted.answers import TrustedOracle

    return TrustedOracle()
