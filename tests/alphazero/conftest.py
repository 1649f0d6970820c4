"""Import the reference solution, instead of the stubs, as the package AlphaZero."""

import importlib
import sys
from pathlib import Path

import pytest

REFERENCE = Path(__file__).resolve().parents[2] / "instructor" / "reference"


@pytest.fixture(scope="session")
def reference():
    """Return a function that imports a module of the reference by name."""

    def load(name):
        sys.path.insert(0, str(REFERENCE))
        try:
            module = importlib.import_module(f"AlphaZero.{name}")
        finally:
            sys.path.remove(str(REFERENCE))
        assert Path(module.__file__).is_relative_to(REFERENCE)
        return module

    return load
