"""Run the reference as a student would, but in this process, so that torch is loaded only once."""

import io
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from grader.assignment_file import load_assignment
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace

ROOT = Path(__file__).resolve().parents[2]
OF_A_WORKSPACE = ("AlphaZero", "unwritten")


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    """Return a workspace with the framework, the reference and all of training/, as `make train` builds it."""
    assignment = load_assignment()
    submission = read_submission(ROOT / "instructor" / "reference", assignment)
    place = build_workspace(assignment, submission, tmp_path_factory.mktemp("workspace") / "reference")
    shutil.copytree(ROOT / "training", place / "training", dirs_exist_ok=True)
    return place


@pytest.fixture
def run_file(workspace, tmp_path, monkeypatch):
    """Return a function that runs a file of the workspace in tmp_path and returns the names that the file defines."""

    def forget():
        for name in [name for name in sys.modules if name.split(".")[0] in OF_A_WORKSPACE]:
            del sys.modules[name]

    forget()
    monkeypatch.syspath_prepend(workspace)
    monkeypatch.chdir(tmp_path)
    yield lambda program, name="module": runpy.run_path(str(workspace / program), run_name=name)
    forget()


@pytest.fixture
def call(run_file, monkeypatch, capsys):
    """Return a function that runs a program of the workspace in tmp_path and returns (exit code, stdout, stderr)."""

    def run(program, *arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            run_file(program, "__main__")
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def refusal(call):
    """Return a function that runs a program, asserts that it refuses, and returns its message, the last line of stderr."""

    def run(program, *arguments):
        code, out, err = call(program, *arguments)
        *usage, sentence = err.splitlines()
        assert (code, out) == (2, "") and sentence.startswith(f"{program}: ")
        assert not usage or usage[0].startswith("usage: ")
        return sentence

    return run
