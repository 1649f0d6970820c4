"""The fixtures of the checks of MuZero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from labs.support.cases import Case, Cases


@pytest.fixture(scope="session")
def cases() -> Cases:
    """The source of cases with their right answers."""
    from grader.judge.support.oracle import BANK, is_kit

    if is_kit():
        from labs.support.cases import StoredCases

        return StoredCases.read(BANK)
    from labs.muzero.trusted.families import FAMILIES
    from labs.support.cases import DrawnCases

    return DrawnCases(FAMILIES)


@pytest.fixture(scope="session")
def own_predictions() -> Callable[[np.ndarray, Case], dict[str, np.ndarray] | None] | None:
    """What our own model predicts with a training's weights; None in a kit, which has no such model."""
    from grader.judge.support.oracle import is_kit

    if is_kit():
        return None
    from labs.muzero.trusted.families import trained_predictions

    return trained_predictions
