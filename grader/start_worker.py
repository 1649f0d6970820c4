"""Starts `grader.worker` inside the sandbox, where nothing of the grader can be seen but the files of SHOWN."""

import importlib
import sys
import types
from pathlib import Path

SHOWN = ("start_worker.py", "worker.py", "plain.py")

if __name__ == "__main__":
    # In place of the package itself, which would import more than is there; gone again before the student's code is loaded.
    package = types.ModuleType("grader")
    package.__path__ = [str(Path(__file__).parent)]
    sys.modules["grader"] = package
    worker = importlib.import_module("grader.worker")
    del sys.modules["grader"]
    worker.main(Path(sys.argv[1]))
