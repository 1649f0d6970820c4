"""Shared by all tests: where things are, the framework's engines, built once, and programs loaded as modules."""

import importlib.util
import os
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


@pytest.fixture
def busy_core():
    """This thread, and what it starts, on a core that four other programs want too."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    # In sessions of their own, as engines and workers are: schedulers share a core among sessions first.
    command = [sys.executable, "-S", "-c", "while True: pass"]
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(4)]
    yield
    for other in others:
        other.kill()
        other.wait()
    os.sched_setaffinity(0, before)
