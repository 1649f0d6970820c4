"""Submissions made from the reference by one change, and their grading with the briefest profile."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from class_downloads import collect, download  # noqa: F401  fixtures
from course_tools import api, course, graded_as, opened  # noqa: F401  fixtures
from marks_tools import school, write  # noqa: F401  fixtures
from odd_workers import worker  # noqa: F401  fixture
from packing import pack, read, refusal  # noqa: F401  fixtures

from grader.__main__ import main
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import find_sandbox
from grader.instructor import release
from grader.pipeline import grading
from grader.pipeline.listeners import Lines
from grader.pipeline.order import Order
from grader.pipeline.results import PASSED, Verdict

REFERENCE = Path(__file__).resolve().parents[2] / "instructor" / "reference"


@pytest.fixture(scope="session")
def assignment():
    return load_assignment()


@pytest.fixture
def submission(tmp_path):
    """Makes a copy of the reference: `submission(name, {path: new text, or (old, new), or None to remove})`."""

    def make(name, changes=None):
        folder = tmp_path / "in" / name
        shutil.copytree(REFERENCE, folder)
        for path, change in (changes or {}).items():
            target = folder / path
            if change is None:
                shutil.rmtree(target) if target.is_dir() else target.unlink()
            elif isinstance(change, tuple):
                text = target.read_text()
                assert text.count(change[0]) == 1, f"{path}: {change[0]!r} stands there {text.count(change[0])} times"
                target.write_text(text.replace(*change))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(change)
        return folder

    return make


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """The archive of the student kit, as it is handed out."""
    out = tmp_path_factory.mktemp("release")
    assert release.main(out, seed=1, cases=4, jobs=1) == 0
    return out / "gomoku.zip"


@pytest.fixture
def kit(tmp_path, released, engines):
    """The kit unpacked in an empty folder, with the baseline built: `kit(arguments)` runs its grader there."""
    with zipfile.ZipFile(released) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "gomoku/build/engines").mkdir(parents=True)
    shutil.copy(engines / "baseline", tmp_path / "gomoku/build/engines")

    def run(*arguments):
        command = [sys.executable, "-m", "grader", *map(str, arguments)]
        return subprocess.run(command, cwd=run.folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})

    run.folder = tmp_path / "gomoku"
    return run


@pytest.fixture
def graded(tmp_path, assignment, engines, checks_run_here):
    """Grades a submission with the profile smoke, by some checks or all: results by check id, and the whole."""

    def run(folder, seed=1, only=None):
        lines = []
        checks = tuple(check for check in assignment.checks if only is None or check.id in only)
        order = Order(replace(assignment, checks=checks), "smoke", tmp_path / "out", find_sandbox(), seed=seed)
        results = grading.grade(folder, order, listener=Lines(lines.append)).to_json()
        return {check["id"]: check for check in results["checks"]}, results

    return run


# ----------------------------------------------------------------------- a class, with checks that take no time


@pytest.fixture
def runs(monkeypatch):
    """The names of the runs whose checks were run, by checks that pass at once."""
    found = []

    def run_checks(run, listener, stopping):
        found.append(run.folder.name)
        for check in run.assignment.checks:
            if check.id in run.requested:
                run.record(Verdict.of(check, PASSED, "As expected.", check.points))
        return grading.Ended(0, "", grading.environment(run.assignment))

    monkeypatch.setattr(grading, "build_opponent", lambda *_: None)
    monkeypatch.setattr(grading, "run_checks_here", run_checks)
    return found


@pytest.fixture
def grade(tmp_path, capsys):
    """`grade(paths, options)`: exit code, what was said, and what was complained of."""

    def run(*arguments, profile="smoke"):
        code = main(["grade", *map(str, arguments), "--profile", profile, "--out", str(tmp_path / "out")])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def results(tmp_path):
    return lambda name, place="": json.loads((tmp_path / "out" / name / place / "results.json").read_text(encoding="utf-8"))
