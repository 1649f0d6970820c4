"""Every test of this folder must leave no engine behind."""

import pytest


@pytest.fixture(autouse=True)
def _leaves_no_engine(no_engine_left):
    """See tests/conftest.py."""
