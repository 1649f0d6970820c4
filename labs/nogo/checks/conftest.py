"""The fixtures of the checks of NoGo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from labs.support.cases import Case, Cases


@pytest.fixture(scope="session")
def cases() -> Cases:
    """The source of cases with their correct answers."""
    from grader.judge.support.oracle import BANK, is_kit

    if is_kit():
        from labs.support.cases import StoredCases

        return StoredCases.read(BANK)
    from labs.nogo.trusted.families import FAMILIES
    from labs.support.cases import DrawnCases

    return DrawnCases(FAMILIES)


@pytest.fixture(scope="session")
def our_board() -> Callable[[Case], Any]:
    """Gives our own board after the moves of a case, or None in a kit, which has no rules of ours."""
    from grader.judge.support.oracle import is_kit

    if is_kit():
        return lambda case: None
    from labs.nogo.trusted.families import after_moves

    return after_moves
