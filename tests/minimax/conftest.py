"""Every test of this folder must leave no engine behind."""

import os
import subprocess
from pathlib import Path

import pytest

from arena.engine.guardian import MARK


def left_behind():
    """Engines whose match (its process begins their mark) is over, or is this one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            marks = [text for text in entry.read_bytes().split(b"\0") if text.startswith(MARK.encode() + b"=")]
        except OSError:
            continue
        matches = [int(mark.split(b"=")[1].split(b"-")[0]) for mark in marks]
        if any(match == os.getpid() or not Path(f"/proc/{match}").exists() for match in matches):
            found.append(entry.parent.name)
    return found


@pytest.fixture(autouse=True)
def nothing_left_running():
    yield
    assert left_behind() == []


@pytest.fixture(scope="session")
def pbrain(tmp_path_factory):
    """An engine of the Gomocup protocol, built once."""
    program = tmp_path_factory.mktemp("pbrain") / "pbrain-windows"
    source = Path(__file__).with_name("pbrain.cpp")
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["g++", *flags, str(source), "-o", str(program)], check=True)
    return program
