"""`python -m grader doctor` says what holds here, fails what does not, and weak levels are refused for submissions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader import __main__ as program
from grader import doctor
from grader.sandbox import LEVELS, Sandbox, find_sandbox

ROOT = Path(__file__).resolve().parents[2]
ALONE = {"children", "memory", "uncounted memory", "file size", "CPU time", "nested namespace", "signals"}  # at every level


def test_the_strongest_level_holds_everything():
    if find_sandbox().level != LEVELS[0]:
        pytest.skip("no bubblewrap here")
    findings = doctor.examine(find_sandbox())
    assert [finding.line for finding in findings if not finding.holds] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_same_holds_for_an_ordinary_user():
    somebody = ["setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups"]
    starts = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import grader'], check=True)"
    if subprocess.run([*somebody, sys.executable, "-c", starts], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("the interpreter lies where root alone can reach it")
    done = subprocess.run([*somebody, sys.executable, "-m", "grader", "doctor"], cwd=ROOT, capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if line.startswith("FAILS")] == [] and done.returncode == 0, done.stderr


def test_the_weakest_level_fails_what_needs_namespaces_and_says_what_to_do():
    lines = []
    assert doctor.main("rlimits", lines.append) == 1
    failed = {line[7:23].strip() for line in lines if line.startswith("FAILS")}
    assert {"files", "network", "processes", "daemon"} <= failed and not failed & ALONE
    assert all("To do: " in line for line in lines if line.startswith("FAILS"))


def test_a_level_is_weak_where_programs_could_write_what_the_grader_writes(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [level for level in LEVELS if not Sandbox(level, False).weak] == ["bubblewrap"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert [level for level in LEVELS if not Sandbox(level, True).weak] == ["bubblewrap", "unshare"]
    assert all(Sandbox(level, False).weak for level in LEVELS)


def test_submissions_are_refused_at_a_weak_level_unless_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(program, "find_sandbox", lambda _: Sandbox("rlimits", False))
    folder = tmp_path / "work"
    folder.mkdir()
    assert program.main(["grade", str(folder), "--out", str(tmp_path / "out")]) == 2
    assert "--allow-weak-sandbox" in capsys.readouterr().err
    monkeypatch.setattr(program, "grade", lambda *_, **__: pytest.fail("graded") if not options else options.pop())
    options = [{"could_not_grade": [], "submission": "work", "points": 0.0, "max_program_points": 70.0, "awaiting_marks": 30.0}]
    assert program.main(["grade", str(folder), "--out", str(tmp_path / "out"), "--allow-weak-sandbox"]) == 0


def test_an_interpreter_behind_a_link_is_confined_as_strongly(tmp_path):
    (tmp_path / "linked").symlink_to(sys.prefix, target_is_directory=True)
    code = "from grader.sandbox import find_sandbox; print(find_sandbox().level)"
    done = subprocess.run([tmp_path / "linked/bin/python", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == find_sandbox().level
