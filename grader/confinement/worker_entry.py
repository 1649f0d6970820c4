"""Start `grader.confinement.worker` inside the sandbox, where the SHOWN files are the only visible part of the grader."""

import importlib.util
import sys
import types
from pathlib import Path

MODULES = (
    "plain",
    "layers",
    "boards",
    "cells",
    "blame",
    "searched_trees",
    "stand_in",
    "loading",
    "optimiser_steps",
    "network_calls",
    "worker",
)  # each module comes after those that it imports
SHOWN = ("worker_entry.py", *(f"{name}.py" for name in MODULES))


def load_file(name: str) -> types.ModuleType:
    """Load a module of the package from its file, since the folder around it cannot be listed."""
    full = f"grader.confinement.{name}"
    spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = sys.modules[full] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    # These stand in for the packages, whose other files are missing; they are removed before the student's code is loaded.
    packages = ("grader", "grader.confinement")
    sys.modules.update({name: types.ModuleType(name) for name in packages})
    loaded = [load_file(name) for name in MODULES]
    for name in packages:
        del sys.modules[name]
    loaded[-1].main(Path(sys.argv[1]), sys.argv[2:])
