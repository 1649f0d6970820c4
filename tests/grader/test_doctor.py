"""`python -m grader doctor` says what holds on a machine of each kind, and submissions are refused at weak levels."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader import __main__ as program
from grader.confinement import doctor, sandbox
from grader.confinement.sandbox import LEVELS, WITH_NAMESPACES, Sandbox, find_sandbox, try_level
from grader.pipeline import commands, grading
from grader.pipeline.summary import GRADED, SummaryRow

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "tests" / "machine.py"
REFERENCE = ROOT / "instructor" / "reference"
# What each level does not withhold, for a program with a user of its own or that of an ordinary user.
BARE = {"processes", "disk", "number of files", "daemon"}
FAILS = {
    "namespaces": set(),
    "bubblewrap": {"number of files"},
    "landlock": BARE,
    "rlimits": BARE | {"files", "writing"},
}


def failing(lines):
    return {line[7:23].strip() for line in lines if line.startswith("FAILS")}


@pytest.mark.machine
@pytest.mark.parametrize("level", LEVELS)
def test_a_level_withholds_what_it_is_said_to(level):
    if isinstance(try_level(level), str):
        pytest.skip(f"{level}: {try_level(level)}")
    lines = []
    code = doctor.main(level, lines.append)
    told = failing(lines)
    if level == "rlimits":  # where a program has no user of its own, it reaches more
        assert told >= FAILS[level] and "network" not in told
    else:
        assert told == FAILS[level]
    assert code == (1 if told else 0) and ("To do for " in lines[-1]) == bool(told)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another kind of machine")
@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (["--user"], "namespaces"),
        (["--without-namespaces"], "landlock"),
        (["--user", "--without-namespaces"], "landlock"),
    ],
    ids=["user", "root without namespaces", "user without namespaces"],
)
def test_other_machines_offer_the_strongest_level_that_they_can(kind, level):
    for needed in {"namespaces", level}:
        if isinstance(try_level(needed), str):
            pytest.skip(f"{needed}: {try_level(needed)}")
    command = [sys.executable, MACHINE, *kind, "--", sys.executable, "-B", "-m", "grader", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert any(line.startswith(f"Level {level}. ") for line in lines), done.stdout + done.stderr
    assert failing(lines) == FAILS[level]


@pytest.mark.parametrize("name", doctor.PROPERTIES)
def test_a_property_holds_only_if_the_probe_ran(name, tmp_path, monkeypatch):
    ends_at_once = tmp_path / "probes.py"
    ends_at_once.write_text("")
    monkeypatch.setattr(doctor, "PROBES_FILE", ends_at_once)
    (finding,) = doctor.examine(find_sandbox(), [name])
    assert not finding.holds and finding.seen == "The program that tried this gave no result."


def test_a_level_that_does_not_work_is_told_with_the_reason():
    code = "from grader.confinement.sandbox import try_level; print(try_level('namespaces'))"
    command = [sys.executable, MACHINE, "--without-namespaces", "--", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("cannot confine: ") and "Operation not permitted" in done.stdout, done.stderr


def test_a_level_is_weak_where_programs_could_write_what_the_grader_writes(monkeypatch):
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 3)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [level for level in LEVELS if not Sandbox(level, False).weak] == ["namespaces", "bubblewrap", "landlock"]
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 2)
    assert [level for level in LEVELS if not Sandbox(level, False).weak] == ["namespaces", "bubblewrap"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert [level for level in LEVELS if not Sandbox(level, True).weak] == ["namespaces", "bubblewrap", "landlock"]
    assert [level for level in LEVELS if not Sandbox(level, False).weak] == ["namespaces", "bubblewrap"]


@pytest.mark.parametrize("level", WITH_NAMESPACES)
def test_a_level_is_weak_where_the_interpreter_shows_the_repository(level, monkeypatch):
    """As after `python -m venv .` in the repository."""
    monkeypatch.setattr(sys, "prefix", str(ROOT))
    found = Sandbox(level, True)
    assert found.weak and found.properties["weak"] and found.properties["sees_machine_files"]
    assert f"are in {ROOT}, a folder that every program needs. Use a virtual environment" in found.sentence
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert not found.weak and "see only their own files" in found.sentence


@pytest.fixture
def weak(monkeypatch):
    """A machine that offers rlimits alone, and a grading that is only noted."""
    graded = []
    monkeypatch.setattr(commands, "find_sandbox", lambda _: Sandbox("rlimits", False))
    monkeypatch.setattr(commands, "grade_class", lambda paths, *_: graded.extend(paths) or [SummaryRow("work", GRADED)])
    return graded


def test_submissions_are_refused_at_a_weak_level_unless_asked_for(weak, tmp_path, capsys):
    folder = tmp_path / "work"
    folder.mkdir()
    call = ["grade", str(REFERENCE), str(folder), "--out", str(tmp_path / "out")]
    assert program.main(call) == 2 and weak == []
    told = capsys.readouterr().err
    assert "--allow-weak-sandbox" in told and told.count("\n") == 1
    assert program.main([*call, "--allow-weak-sandbox"]) == 0 and weak == [REFERENCE, folder]


def test_the_reference_is_graded_at_a_weak_level_without_consent(weak, tmp_path, capsys):
    assert program.main(["grade", str(REFERENCE), "--out", str(tmp_path / "out")]) == 0
    assert weak == [REFERENCE] and "Weak confinement (rlimits" in capsys.readouterr().out


def test_what_was_altered_of_the_reference_is_a_submission_like_any_other(weak, assignment, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(REFERENCE, copy)
    assert grading.is_own_solution(copy, assignment)
    with open(copy / "AlphaZero" / "mcts_pure.py", "a") as file:
        file.write("import os\n")
    assert not grading.is_own_solution(copy, assignment)
    assert not grading.is_own_solution(ROOT / "instructor" / "submissions" / "attacks" / "endless", assignment)
    assert program.main(["grade", str(copy), "--out", str(tmp_path / "out")]) == 2 and weak == []


def test_the_remedy_is_one_command_that_fits_the_machine(monkeypatch):
    monkeypatch.setattr(sandbox, "find_sandbox", lambda: Sandbox("landlock", False))
    monkeypatch.setattr(sandbox, "CONTAINERS", ())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sandbox, "SWITCHES", (("kernel.ostype", "Other", "1"), ("kernel.ostype", "Linux", "2")))
    assert Sandbox("landlock", False).remedy.endswith("allow them with sudo sysctl -w kernel.ostype=2.")
    monkeypatch.setattr(sandbox, "SWITCHES", ())
    assert Sandbox("landlock", False).remedy.endswith("repeat the command with sudo.")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "docker run --privileged" in Sandbox("landlock", True).remedy
    assert "leave out the option that asks for rlimits" in Sandbox("rlimits", True).remedy
    monkeypatch.setattr(sandbox, "find_sandbox", lambda: Sandbox("namespaces", False))
    assert Sandbox("namespaces", False).remedy == "Grade as an ordinary user."


@pytest.mark.machine
def test_an_interpreter_behind_a_link_is_confined_as_strongly(tmp_path):
    (tmp_path / "linked").symlink_to(sys.prefix, target_is_directory=True)
    code = "from grader.confinement.sandbox import find_sandbox; print(find_sandbox().level)"
    done = subprocess.run([tmp_path / "linked/bin/python", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == find_sandbox().level


@pytest.mark.machine
@pytest.mark.skipif(find_sandbox().level not in WITH_NAMESPACES or os.geteuid() != 0, reason="needs root and namespaces")
def test_files_that_only_root_may_read_are_reached_and_nothing_else():
    code = "import os; os.umask(0o077); from grader.confinement import doctor, sandbox"
    code += "; print(sandbox.find_sandbox().capability, flush=True)"
    code += "; raise SystemExit(doctor.main(None, lambda line: None))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() in sandbox.READ_CAPABILITIES and done.returncode == 0, done.stderr


def test_another_python_than_the_one_that_students_are_told_is_named_first(assignment, monkeypatch, capsys):
    monkeypatch.setattr("grader.confinement.commands.load_named", lambda _: replace(assignment, python="3.9"))
    monkeypatch.setattr(doctor, "main", lambda level, announce: announce("Level") or 0)
    assert program.main(["doctor"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "say that 3.9 grades" in first and second == "Level"
