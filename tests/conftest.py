"""Shared by all tests: where things are, and the framework's engines, built once."""

import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A shell has its background jobs ignore Ctrl-C, and the programs that they start too, some of which are tested on it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def engines():
    """The folder with sample, baseline and reference, as `make engines` builds them."""
    subprocess.run(["make", "-s", "engines"], cwd=ROOT, check=True)
    return ROOT / "build" / "engines"
