"""Check that no test in this folder leaves an engine running."""

import pytest

from arena.engine.specs import engine_at


@pytest.fixture(autouse=True)
def _leaves_no_engine(no_engine_left):
    """See tests/conftest.py."""


@pytest.fixture
def ours(engines):
    """Engines whose games are determined by their seeds."""
    return tuple(engine_at(str(engines / name)) for name in ("sample", "baseline"))
