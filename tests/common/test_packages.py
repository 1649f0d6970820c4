"""Started outside the environment, a program names the missing packages instead of showing a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from grader.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("program", "missing"),
    [
        (["-m", "grader", "check"], "numpy, pytest, jinja2"),
        (["Minimax/evaluate.py"], "numpy, tqdm"),
        (["Minimax/judge.py"], "numpy"),
        (["Minimax/ladder.py"], "numpy, tqdm"),
    ],
)
def test_outside_the_environment_one_sentence_names_the_packages(program, missing):
    # -S leaves out the folder of installed packages, as a Python outside the environment does.
    done = subprocess.run([sys.executable, "-S", *program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert f"; {missing} cannot be found: run source .venv/bin/activate" in done.stderr


@pytest.mark.parametrize("command", ["check", "warmup"])
def test_a_python_without_torch_is_told_before_the_student_code_runs(command, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else name)
    with pytest.raises(SystemExit) as ended:
        main([command])
    assert ended.value.code == 2 and "torch cannot be found: run source .venv/bin/activate" in capsys.readouterr().err
