"""What the programs of a match tell whoever called them wrongly: one sentence, exit code 2."""

from __future__ import annotations

import os

from Minimax.arena.engine import EngineSpec


class UsageError(ValueError):
    """The call was wrong: what was expected, what came and what to do."""


def engine_at(path: str) -> EngineSpec:
    """The engine at a path.

    Raises:
        UsageError: there is no program there.
    """
    if not os.path.exists(path):
        raise UsageError(f"expected an engine at {path}; nothing is there (make engines builds ours into build/engines/)")
    if path.endswith((".cpp", ".cc")):
        raise UsageError(
            f"expected a program; {path} is its source: build it with g++ -std=c++17 -O2 -I Minimax {path} -o engine"
        )
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise UsageError(f"expected a program; {path} cannot be executed")
    return EngineSpec(path=path)
