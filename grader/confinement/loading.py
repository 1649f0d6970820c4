"""How a worker loads the modules of a submission, and what it keeps for later requests.

It is loaded beside `grader.confinement.worker` inside the sandbox.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
from functools import partial
from typing import Any

import numpy as np

from grader.confinement import boards

SCRATCH = os.getcwd()  # what a worker writes belongs there; a student's module may change the working folder
STATE: dict[str, Any] = {}  # the seed of the request, and the network and the training that later requests use


def seed_generators() -> None:
    """Seed the global random generators with the request's seed, in [0, 2**32)."""
    random.seed(STATE["seed"])
    np.random.seed(STATE["seed"])
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(STATE["seed"])


def load_module(name: str) -> Any:
    """Import a module. Seed the generators again after its first import, which may draw numbers, or add a generator (torch)."""
    if name in sys.modules:
        return sys.modules[name]
    module = importlib.import_module(name)
    seed_generators()
    return module


board_at = partial(boards.board_at, load=load_module)
