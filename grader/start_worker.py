"""Starts `grader.worker` inside the sandbox, where nothing of the grader can be seen but the files of SHOWN."""

import importlib.util
import sys
import types
from pathlib import Path

MODULES = ("plain", "worker")  # each after what it imports
SHOWN = ("start_worker.py", *(f"{name}.py" for name in MODULES))


def load(name: str) -> types.ModuleType:
    """A module of the package from its file alone, since the folder around it may not be listed."""
    spec = importlib.util.spec_from_file_location(f"grader.{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = sys.modules[f"grader.{name}"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    # In place of the package itself, which would import more than is there; gone again before the student's code is loaded.
    sys.modules["grader"] = types.ModuleType("grader")
    loaded = [load(name) for name in MODULES]
    del sys.modules["grader"]
    loaded[-1].main(Path(sys.argv[1]))
