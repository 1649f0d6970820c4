"""The fixtures of the checks of Go."""

from __future__ import annotations

import pytest

from labs.support.cases import Cases


@pytest.fixture(scope="session")
def cases() -> Cases:
    """The source of cases with their correct answers."""
    from grader.judge.support.oracle import BANK, is_kit

    if is_kit():
        from labs.support.cases import StoredCases

        return StoredCases.read(BANK)
    from labs.go.trusted.families import FAMILIES
    from labs.support.cases import DrawnCases

    return DrawnCases(FAMILIES)
