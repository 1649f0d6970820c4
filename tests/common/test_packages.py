"""Started outside the environment, a program names the missing packages instead of showing a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


PROGRAMS = [
    (["-m", "grader"], "numpy, pytest, jinja2, tqdm"),
    (["Minimax/evaluate.py"], "numpy, tqdm"),
    (["Minimax/judge.py"], "numpy"),
    (["Minimax/ladder.py"], "numpy, tqdm"),
    (["human_play.py"], "numpy"),
]


@pytest.mark.parametrize(("program", "missing"), PROGRAMS)
def test_outside_the_environment_one_sentence_names_the_packages(program, missing):
    # -S leaves out the folder of installed packages, as a Python outside the environment does.
    done = subprocess.run([sys.executable, "-S", *program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert f"; {missing} cannot be found: run source .venv/bin/activate" in done.stderr


@pytest.mark.parametrize(("program", "expected"), PROGRAMS)
def test_a_program_starts_with_the_packages_that_it_names_and_no_others(program, expected):
    required = re.findall(r"^[a-z][a-z0-9-]*", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    others = sorted({"torch", *required} - set(expected.split(", ")))
    # As if the other packages were not installed.
    blocked = f"import sys; sys.modules.update(dict.fromkeys({others})); "
    start = (
        f"runpy.run_module({program[1]!r}"
        if program[0] == "-m"
        else f"sys.path.insert(0, 'Minimax'); runpy.run_path({program[0]!r}"
    )
    code = f"{blocked}import runpy; sys.argv[1:] = ['--help']; {start}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "usage" in done.stdout and "torch" in others


def human_play_without(missing, *options):
    """Run a game of two people, or of those that the options name, as if a package were not installed."""
    blocked = f"import sys, runpy; sys.modules[{missing!r}] = None; "
    game = ["human_play.py", "--black", "human", "--white", "human", *options]
    code = f"{blocked}sys.argv = {game}; runpy.run_path('human_play.py', run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)


NETWORK = ("--terminal", "--game", "nogo", "--white", "gumbel:model/games/nogo_9x9.model")


@pytest.mark.parametrize(("options", "missing"), [((), "pygame"), (("--terminal",), "rich"), (NETWORK, "torch")])
def test_what_a_game_of_people_or_networks_needs_is_named_if_it_is_missing(options, missing):
    done = human_play_without(missing, *options)
    assert done.returncode == 2 and f"; {missing} cannot be found: run source .venv/bin/activate" in done.stderr


def test_a_kit_without_the_searches_for_networks_of_runs_says_so():
    done = human_play_without("training.matches", *NETWORK)
    assert done.returncode == 2 and done.stderr.endswith("; this kit does not contain it\n")


@pytest.mark.parametrize("command", ["check", "warmup"])
def test_a_python_without_torch_is_told_before_the_student_code_runs(command, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torch" else name)
    with pytest.raises(SystemExit) as ended:
        main([command])
    assert ended.value.code == 2 and "torch cannot be found: run source .venv/bin/activate" in capsys.readouterr().err
