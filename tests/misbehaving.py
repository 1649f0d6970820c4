"""The engine that misbehaves on request (misbehaving_engine.py), as a seat of a game."""

import sys
from pathlib import Path

from arena.engine.engine_process import EngineSpec

PROGRAM = Path(__file__).with_name("misbehaving_engine.py")


def misbehaving(fault="none", at=2):
    """The engine with this fault, which it shows at its answer number `at`, counted from 1."""
    return EngineSpec(path=fault, command=(sys.executable, "-S", str(PROGRAM), fault, str(at)))
