"""Shared by all tests: where things are, the framework's engines, built once, and programs loaded as modules."""

import importlib.util
import signal
import subprocess
import sys
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


@pytest.fixture(scope="session")
def load_module():
    """Loads a file that no import reaches, as a module of its own under the file's name."""

    def load(path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # where a dataclass looks its annotations up
        spec.loader.exec_module(module)
        return module

    return load
