"""Every test of this folder must leave no engine behind."""

import os
from pathlib import Path

import pytest

from Minimax.arena.engine import MARK


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
