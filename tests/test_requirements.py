"""The programs of students and `make grade` run with the packages of requirements.txt and no others."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
STARTS = (
    ["-m", "grader", "--help"],
    ["-m", "grader", "grade", "--help"],
    ["-m", "grader", "check", "--help"],
    ["-m", "arena", "--help"],
    ["train.py", "--help"],
    ["human_play.py", "--help"],
    ["Minimax/evaluate.py", "--help"],
    ["Minimax/judge.py", "--help"],
)

# Python reads a module of this name when it starts; here it hides packages.
HIDE = """
import sys
class Hidden:
    names = {names!r}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def key(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def with_what_they_need(names):
    """Return the keys of these distributions and of all that they require here."""
    found, waiting = set(), [key(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        waiting += [key(re.match(r"[\w.-]+", line).group()) for line in required if "extra ==" not in line]
    return found


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """An environment in which only the packages of requirements.txt can be imported."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    kept = with_what_they_need([re.match(r"[\w.-]+", line).group() for line in lines if line and line[0] != "#"])
    kept |= {"setuptools", "pip"}
    by_name = metadata.packages_distributions()
    hidden = {name for name, owners in by_name.items() if not kept & {key(owner) for owner in owners}}
    assert {"yaml", "nbformat", "nh3", "hypothesis"} & set(by_name) <= hidden and "numpy" not in hidden
    place = tmp_path_factory.mktemp("student")
    (place / "sitecustomize.py").write_text(HIDE.format(names=hidden), encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(place)}


@pytest.mark.parametrize("minor", range(11, 15))
def test_each_python_that_the_guides_name_gets_one_package_called_pygame(minor):
    """Both packages hold a module `pygame`, and pygame has no build for 3.14."""
    lines = [line.partition("#")[0] for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()]
    needed = [Requirement(line) for line in lines if line]
    kept = {one.name for one in needed if one.marker is None or one.marker.evaluate({"python_version": f"3.{minor}"})}
    assert kept & {"pygame", "pygame-ce"} == {"pygame" if minor < 14 else "pygame-ce"} and "torch" in kept


GUIDES = ("requirements.txt", "README.md", "CONTRIBUTING.md", "docs/instructor.md", "docs/kit_readme.txt")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        *((name, "Python 3.11 to 3.14") for name in GUIDES),
        ("Makefile", "not (3, 11) <= sys.version_info < (3, 15)"),
        ("pyproject.toml", 'requires-python = ">=3.11,<3.15"'),
    ],
)
def test_the_guides_name_the_pythons_that_have_all_packages(name, sentence):
    assert sentence in (ROOT / name).read_text(encoding="utf-8")


def run(words, environment):
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_packages_are_hidden(student):
    done = run(["-c", "import numpy, torch, pytest, jinja2, tqdm; import hypothesis"], student)
    assert done.returncode == 1 and "No module named 'hypothesis'" in done.stderr


@pytest.mark.parametrize("words", STARTS, ids=" ".join)
def test_a_program_starts_with_the_requirements_alone(words, student):
    done = run(words, student)
    assert done.returncode == 0, done.stderr


def test_a_submission_is_graded_with_the_requirements_alone(student, tmp_path):
    place = tmp_path / "one"
    (place / "AlphaZero").mkdir(parents=True)
    shutil.copy(ROOT / "instructor/reference/AlphaZero/mcts_pure.py", place / "AlphaZero")
    words = ["-m", "grader", "grade", str(place), "--profile", "smoke", "--out", str(tmp_path / "results")]
    done = run(words, student)
    assert done.returncode in (0, 1) and "mcts_pure.tree               passed" in done.stdout, done.stderr + done.stdout
    assert (tmp_path / "results/one/report.html").exists()
