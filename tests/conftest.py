"""Shared by all tests: where things are, and the framework's engines, built once."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def engines():
    """The folder with sample, baseline and reference, as `make engines` builds them."""
    subprocess.run(["make", "-s", "engines"], cwd=ROOT, check=True)
    return ROOT / "build" / "engines"
