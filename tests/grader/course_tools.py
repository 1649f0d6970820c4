"""A copy of the course, results that were never graded, and nbgrader over both: for the tests of notebook and gradebook."""

import functools
import multiprocessing
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.pipeline.results import AWAITING_MARKS, PASSED, Results, Verdict, checksum, digests

ROOT = Path(__file__).resolve().parents[2]
COURSE = ROOT / "instructor" / "course"


def make_results(assignment, name, changes=None):
    """As `grader.pipeline.grading` gives them: full points but for `changes`, check id -> fields of its verdict."""
    verdicts = []
    for item in (*assignment.checks, *assignment.marks):
        values = {"status": PASSED, "points": float(item.points), "message": "As expected.", "seen": "It did."}
        if item not in assignment.checks:
            values = {"status": AWAITING_MARKS, "points": 0.0, "message": "Marked by a person."}
        values |= (changes or {}).get(item.id, {})
        verdicts.append(Verdict(id=item.id, title=item.title, max_points=item.points, handout=item.handout, **values))
    return Results(
        assignment=assignment.id,
        title=assignment.title,
        submission=name,
        digest="0" * 64,
        profile="full",
        seed=7,
        looked_at=False,
        whole_match=False,
        grader="0" * 64,
        sandbox={"level": "namespaces", "weak": False, "sentence": "Programs ran in namespaces."},
        environment={"date": "2026-01-01T00:00:00+0000"},
        seconds=1.0,
        collected=("Minimax/engine.cpp",),
        reports=("report.pdf",),
        ignored=(),
        notes=(),
        verdicts=tuple(verdicts),
    )


def resealed(data, folder):
    """The content of a results.json, changed by hand, as it would be if the grader had written it so."""
    changed = {key: value for key, value in data.items() if key != "checksum"} | {"records": digests(folder)}
    return {**changed, "checksum": checksum(changed)}


@pytest.fixture
def graded_as(tmp_path, assignment):
    """Writes a result's folder below out/: `graded_as(name, {check id: fields}, profile)`; returns results.json."""

    def write(name, changes=None, profile="full"):
        folder = tmp_path / "out" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text("{}")
        (folder / "report.html").write_text(f"<p>report of {name}</p>")
        path = folder / "results.json"
        replace(make_results(assignment, name, changes), profile=profile).sealed(folder).write(folder)
        return path

    return write


@pytest.fixture
def course(tmp_path):
    """A course as it comes from the repository, without what an instructor made in it."""
    folder = tmp_path / "course"
    folder.mkdir()
    for name in ("nbgrader_config.py", "rubric.toml"):
        shutil.copy(COURSE / name, folder)
    for name in ("source", "templates", "schemes"):
        shutil.copytree(COURSE / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def api():
    """nbgrader, which runs a program for the version of its tables once and not for each new gradebook: it takes a second."""
    api = pytest.importorskip("nbgrader.api")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(api, "get_alembic_version", functools.cache(api.get_alembic_version))
        yield api


@pytest.fixture
def opened(api, course):
    """Opens the course's gradebook."""
    return lambda: api.Gradebook(f"sqlite:///{course / 'gradebook.db'}")


def enter(course, *arguments):
    return main(["gradebook", "--course", str(course), *map(str, arguments)])


def nbgrader(course, *arguments):
    """Run nbgrader's own command in the course; its output, or a failed test.

    It runs in a copy of this process (a fork), so that nbgrader is imported once for all commands, which takes seconds.
    """
    from nbgrader.apps import NbGraderApp

    def launch():
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")  # pytest has replaced them
        os.chdir(course)
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        os.environ["PYTHONPATH"] = str(ROOT)
        NbGraderApp.launch_instance([*map(str, arguments)])

    with tempfile.TemporaryFile("w+") as output:
        command = multiprocessing.get_context("fork").Process(target=launch)
        command.start()
        command.join()
        output.seek(0)
        said = output.read()
    assert command.exitcode == 0, said
    return said


def rows(opened):
    """Every score, flag and comment of the gradebook by student and cell."""
    with opened() as gradebook:
        return {
            (submission.student.id, grade.name): (
                grade.auto_score,
                grade.manual_score,
                grade.needs_manual_grade,
                comment.auto_comment,
                comment.manual_comment,
            )
            for submission in gradebook.assignment_submissions("gomoku")
            for sheet in submission.notebooks
            for grade in sheet.grades
            for comment in sheet.comments
            if comment.name == grade.name
        }
