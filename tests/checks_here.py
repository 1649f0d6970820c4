"""The checks of a grading in this process, where torch is loaded, in place of a process of their own."""

import contextlib
import io
import os

import pytest

from grader.pipeline import grading
from grader.pipeline.run import FOLDER_VARIABLE


def run_checks_here(monkeypatch):
    """Let the checks of gradings run in this process, and the report look only briefly for where games were lost."""
    monkeypatch.setattr(grading, "run_checks_here", run_here)
    monkeypatch.setattr("arena.view.losses.GAME_S", 0.2)


def run_here(run, listener, stopping):
    """Takes the place of `grading.run_checks_here`; nothing ends a check that takes too long."""
    os.environ[FOLDER_VARIABLE] = str(run.folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as log:
            code = pytest.main(grading.pytest_arguments(run.assignment))
    finally:
        del os.environ[FOLDER_VARIABLE]
    grading.tell(run, set(), listener)
    return grading.Ended(int(code), log.getvalue()[-4000:], grading.environment(run.assignment))
