"""The autograder for Gradescope, run in a bare folder as Gradescope runs it in its container.

`require_valid` is written from Gradescope's documentation (https://gradescope-autograders.readthedocs.io/en/latest/specs/): no
field that it does not name, every value of the documented kind, and nothing that would be shown to students by mistake.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from common.errors import UsageError
from grader.__main__ import main
from grader.instructor.returning.autograde import Outcome, Settings, gradescope_json
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, PARTIAL, PASSED, Verdict

ROOT = Path(__file__).resolve().parents[2]
CHECKS = ["minimax.build", "mcts_pure.reuse"]  # one for each part, both decided in seconds
VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
WHOLE = {
    "score": (int, float),
    "execution_time": (int, float),
    "output": str,
    "output_format": FORMATS,
    "test_output_format": FORMATS,
    "test_name_format": FORMATS,
    "visibility": VISIBILITIES,
    "stdout_visibility": VISIBILITIES,
    "extra_data": dict,
    "tests": list,
    "leaderboard": list,
}
TEST = {
    "score": (int, float),
    "max_score": (int, float),
    "status": {"passed", "failed"},
    "name": str,
    "name_format": FORMATS,
    "number": str,
    "output": str,
    "output_format": FORMATS,
    "tags": list,
    "visibility": VISIBILITIES,
    "extra_data": dict,
}


def require_fields(data, fields):
    for name, value in data.items():
        assert name in fields, f"{name} is not a documented field"
        kind = fields[name]
        assert value in kind if isinstance(kind, set) else isinstance(value, kind) and not isinstance(value, bool), name


def require_valid(data):
    """Raise an AssertionError if a results.json is not valid, or would show a person's decision as a number."""
    require_fields(data, WHOLE)
    assert "score" in data or data.get("tests"), "the documentation requires a score or tests"
    for test in data.get("tests", []):
        require_fields(test, TEST)
        # A test without a score is an informational check; then it has no full points either.
        assert ("score" in test) == ("max_score" in test)
        assert 0 <= test.get("score", 0) <= test.get("max_score", 0)
    # Text of a submission is nowhere rendered as HTML.
    assert data["output_format"] == data.get("test_output_format", "text") == "text"
    assert {test["output_format"] for test in data["tests"]} == {"text"}
    assert data["stdout_visibility"] == "hidden"
    if any("score" not in test for test in data["tests"]):
        assert "score" not in data, "a total would count what nobody has graded as 0"
        assert any(test.get("visibility") == "after_published" for test in data["tests"]), "students would see a total"
    return data


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("upload") / "autograder.zip"
    assert main(["gradescope", str(path), "--profile", "smoke", "--checks", *CHECKS]) == 0
    return path


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    """What Gradescope makes of the archive: source/ with its files, and run_autograder beside it."""
    root = tmp_path_factory.mktemp("autograder")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(root / "source")
        shutil.copy(root / "source" / "run_autograder", root)
    (root / "run_autograder").chmod(0o755)
    return root


@pytest.fixture
def container(unpacked):
    """Runs the autograder over what lies in `container.submission`: results.json and what it printed."""

    def run(python=sys.executable, **settings):
        config = tomllib.loads(original) | settings
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in config.items())
        (unpacked / "source" / "config.toml").write_text(text)
        environment = {"PATH": os.environ["PATH"], "AUTOGRADER_ROOT": str(unpacked), "AUTOGRADER_PYTHON": python}
        done = subprocess.run([unpacked / "run_autograder"], cwd=unpacked, env=environment, capture_output=True, text=True)
        run.printed = done.stdout + done.stderr
        return require_valid(json.loads((unpacked / "results" / "results.json").read_text(encoding="utf-8")))

    original = (unpacked / "source" / "config.toml").read_text()
    for name in ("submission", "results", "runs"):
        shutil.rmtree(unpacked / name, ignore_errors=True)
    run.root, run.submission = unpacked, unpacked / "submission"
    run.submission.mkdir()
    yield run
    (unpacked / "source" / "config.toml").write_text(original)


def scores(data):
    return [(test.get("score"), test.get("max_score"), test.get("status")) for test in data["tests"]]


def test_a_right_submission_gets_its_points_and_no_secret_is_shown(container):
    shutil.copytree(ROOT / "instructor" / "reference" / "AlphaZero", container.submission / "AlphaZero")
    # An engine that compiles in a moment.
    shutil.copytree(ROOT / "instructor/submissions/attacks/bases/engine", container.submission, dirs_exist_ok=True)
    data = container()
    assert scores(data) == [(1, 1, "passed"), (1, 1, "passed")], container.printed
    assert [test["number"] for test in data["tests"]] == ["1.1", "2.1"]
    assert "Seed " in container.printed and "Seed" not in json.dumps(data)
    assert str(container.root) not in json.dumps(data)


def test_an_empty_submission_waits_for_a_person_and_is_no_zero(container):
    data = container()
    assert scores(data) == [(None, None, None)] * 3
    assert "2 of 2 checks could not be graded" in data["output"] and "not a zero" in data["output"]
    assert "No required file was found in Minimax/" in data["tests"][0]["output"]


def test_a_wrong_engine_fails_its_check_even_where_the_instructor_allows_a_weak_confinement(container):
    (container.submission / "Minimax").mkdir()
    engine = '#include "AIController.h"\nstd::string ai_name = "mine";\nint broken = <b>no number</b>;\n'
    (container.submission / "Minimax" / "engine.cpp").write_text(engine)
    data = container(checks=["minimax.build"], sandbox="rlimits", allow_weak_sandbox=True)
    assert scores(data) == [(0, 1, "failed")] and "does not compile" in data["tests"][0]["output"], container.printed


def test_a_broken_archive_is_answered_with_a_sentence_and_no_score(container):
    (container.submission / "work.zip").write_bytes(b"PK\3\4 cut off")
    data = container()
    assert scores(data)[-1] == (None, None, None) and not any("score" in test for test in data["tests"])
    assert "work.zip" in data["output"] and "A person will look at it" in data["output"]
    assert str(container.root) not in data["output"] and "Traceback" not in container.printed


def test_a_weak_confinement_is_refused_unless_the_instructor_has_decided_otherwise(container):
    shutil.copytree(ROOT / "instructor" / "reference", container.submission, dirs_exist_ok=True)
    data = container(sandbox="rlimits")
    assert "expected a confinement that keeps submissions that nobody has read from writing" in data["output"]
    assert not any("score" in test for test in data["tests"])


def test_a_submission_reads_neither_the_grader_nor_the_names_of_students(container):
    shutil.copytree(ROOT / "instructor" / "reference", container.submission, dirs_exist_ok=True)
    metadata, trusted = container.root / "submission_metadata.json", "source/grading/grader/judge/trusted/search.py"
    metadata.write_text("the secret metadata")
    thief = """
def look(path):
    try:
        return open(path).read()[:200]
    except OSError as error:
        return "kept away"
raise RuntimeError(look(%r) + " and " + look(%r))
"""
    (container.submission / "AlphaZero" / "mcts_pure.py").write_text(thief % (str(metadata), str(container.root / trusted)))
    data = container(checks=["mcts_pure.reuse"])
    assert "kept away and kept away" in data["tests"][0]["output"], container.printed
    assert "secret metadata" not in json.dumps(data)


def test_when_the_time_is_used_up_the_rest_waits_for_a_person(container):
    shutil.copytree(ROOT / "instructor" / "reference", container.submission, dirs_exist_ok=True)
    data = container(minutes=0.001)
    assert "was used up" in data["output"] and scores(data) == [(None, None, None)] * 3


def test_a_results_file_is_there_even_if_the_grader_cannot_start(container):
    data = container(python="/nowhere/python")
    assert "ended before the submission was graded" in data["output"] and scores(data) == [(None, None, None)]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"profile": "fast"}, "expected a profile among"),
        ({"checks": ["minimx"]}, "expected a check such as"),
        ({"checks": [1]}, "expected ids of checks, in quotes, for checks; got 1"),
        ({"minutes": 0}, "expected more than 0 minutes"),
        ({"colour": "red"}, "expected keys among"),
        ({"allow_weak_sandbox": "yes"}, "expected bool for allow_weak_sandbox; got 'yes'"),
        ({"visibility": "always"}, "expected a visibility among"),
    ],
)
def test_wrong_settings_are_a_sentence_in_the_output(container, settings, sentence):
    data = container(**settings)
    assert sentence in data["output"] and "not set up correctly" in data["output"]


# ------------------------------------------------------------------------------------------------- the archive


def test_the_archive_has_what_gradescope_asks_for_and_nothing_of_the_instructor(archive, tmp_path, capsys):
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
        modes = {name: stat.S_IMODE(packed.getinfo(name).external_attr >> 16) for name in ("setup.sh", "run_autograder")}
    assert modes == {"setup.sh": 0o755, "run_autograder": 0o755}
    parts = {part for name in names for part in Path(name).parts}
    assert not parts & {"instructor", "tests", "bench", "docs", ".git"}
    assert not any("reference" in part and part != "reference_speed.json" for part in parts)
    assert main(["gradescope", str(tmp_path / "again.zip"), "--profile", "smoke", "--checks", *CHECKS]) == 0
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert "set Autograder points to 2," in capsys.readouterr().out


def test_an_autograder_that_could_not_grade_is_not_built(tmp_path, capsys):
    for words in (["--profile", "fast"], ["--checks", "minimx"], ["--minutes", "41"], ["--minutes", "nan"]):
        assert main(["gradescope", str(tmp_path / "a.zip"), *words]) == 2
    assert main(["gradescope", str(tmp_path / "a.tar")]) == 2
    assert capsys.readouterr().err.count("\n") == 5 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "python"), [("3.12", "python3"), ("3.10", "python3.11")])
def test_the_set_up_installs_a_python_that_is_new_enough_and_torch_without_cuda(unpacked, tmp_path, version, python):
    calls = tmp_path / "calls"
    for name in ("apt-get", "python3", "python3.11"):
        program = tmp_path / name
        new_enough = name == "python3.11" or version == "3.12"
        lines = ["#!/bin/bash", f'echo {name} "$@" >> {calls}', f'if [ "$1" = -c ]; then exit {int(not new_enough)}; fi']
        # A virtual environment is a folder with a copy of this program, which records its calls as well.
        lines.append('if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi')
        program.write_text("\n".join(lines) + "\n")
        program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "AUTOGRADER_ROOT": str(tmp_path / "root")}
    shutil.copytree(unpacked / "source", tmp_path / "root" / "source", ignore=shutil.ignore_patterns("grading"))
    subprocess.run(["bash", tmp_path / "root" / "source" / "setup.sh"], env=environment, check=True)
    said = calls.read_text()
    assert f"{python} -m venv {tmp_path}/root/venv" in said and "install -y g++" in said
    torch = next(line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch"))
    assert f"--index-url https://download.pytorch.org/whl/cpu {torch}\n" in said


# --------------------------------------------------------------------------------------------------- the fields


def verdict(status, points, message="It did.", **found):
    return Verdict("network.load", status, points, 3.0, message, "5.2", "Weights load", **found)


def test_points_and_their_sum_are_those_of_the_verdicts():
    verdicts = (verdict(PASSED, 3.0), verdict(PARTIAL, 1.5), verdict(FAILED, 0.0))
    data = require_valid(gradescope_json(Outcome(verdicts), "after_published"))
    assert scores(data) == [(3.0, 3.0, "passed"), (1.5, 3.0, "failed"), (0.0, 3.0, "failed")]
    assert data["visibility"] == "after_published" and "score" not in data


def test_a_check_that_could_not_be_graded_has_neither_score_nor_status():
    verdicts = (verdict(PASSED, 3.0), verdict(COULD_NOT_GRADE, 0.0, "The machine was busy."))
    data = require_valid(gradescope_json(Outcome(verdicts), "visible"))
    assert not {"score", "max_score", "status"} & data["tests"][1].keys()
    assert "could not be graded" in data["tests"][1]["name"] and data["tests"][2]["visibility"] == "after_published"
    assert "1 of 2 checks could not be graded. A person will look at it" in data["output"]


def test_what_a_submission_says_is_shown_as_text_without_control_characters():
    data = require_valid(
        gradescope_json(Outcome((verdict(FAILED, 0.0, "\x1b[31m<script>\u202e", seen="x" * 10**5),)), "visible")
    )
    assert "<script>" in data["tests"][0]["output"] and "\x1b" not in data["tests"][0]["output"]
    assert "\u202e" not in data["tests"][0]["output"] and len(data["tests"][0]["output"]) < 10**4


def test_the_validator_refuses_what_the_documentation_does_not_allow():
    good = gradescope_json(Outcome((verdict(PASSED, 3.0),)), "visible")
    for change in ({"colour": 1}, {"visibility": "always"}, {"execution_time": "1"}, {"tests": []}, {"output_format": "html"}):
        with pytest.raises(AssertionError):
            require_valid({**good, **change})
    unsure = gradescope_json(Outcome((verdict(COULD_NOT_GRADE, 0.0),)), "visible")
    with pytest.raises(AssertionError):
        require_valid({**unsure, "score": 0})


def test_missing_settings_are_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="expected the settings of this autograder"):
        Settings.read(tmp_path / "config.toml")
