"""Whole gradings: the reference, the stubs, and submissions that go wrong altogether. Single bugs: `tests/trust/`."""

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.pipeline import grading

ROOT = Path(__file__).resolve().parents[2]
ENGINE_CHECKS = {"minimax.build", "minimax.protocol", "minimax.opening", "minimax.win_rate"}
# What smoke's brief training cannot decide, whoever's code it is.
UNDECIDED = {"training.never_loses", "training.own_search", "minimax.win_rate"}
NO_ENGINE = {f"Minimax/{path.name}": None for path in (ROOT / "instructor/reference/Minimax").glob("*.cpp")}

AS_IN_GRADING = grading.run_checks_here  # in a process of their own; most tests of this file run the checks in this one


def not_full(checks):
    return {i for i, check in checks.items() if check["status"] not in ("passed", "awaiting_marks")}


def running(folder):
    """Command lines of workers and engines that were started below this folder and are still there."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes()
            found += [line] if os.fsencode(folder) in line else []
    return found


def test_the_reference_gets_every_point_that_smoke_can_decide(submission, graded, tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "run_checks_here", AS_IN_GRADING)
    checks, results = graded(submission("reference"))
    assert not_full(checks) <= UNDECIDED
    assert results["max_points"] == 100 and results["max_program_points"] == 70 and results["awaiting_marks"] == 30
    assert {"submission", "profile", "points", "sandbox", "environment", "checks"} <= set(results)
    assert {"id", "status", "points", "max_points", "message", "handout"} <= set(results["checks"][0])
    assert json.loads((tmp_path / "out/reference/results.json").read_text()) == results
    page = (tmp_path / "out/reference/report.html").read_text()
    assert all(check["title"].replace("'", "&#39;") in page for check in results["checks"])
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")  # self-contained
    assert running(tmp_path) == []
    assert not (tmp_path / "out/reference/engine").exists()  # it may be large, and is compiled again where it is needed


def test_checks_that_pytest_is_to_run_by_hand_give_one_sentence():
    command = [sys.executable, "-m", "pytest", "grader/judge", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 4 and done.stderr == "ERROR: the checks are run by python -m grader grade or check\n\n"


def test_a_dollar_sign_in_the_path_of_the_tree_is_no_variable(tmp_path, assignment, monkeypatch):
    """pytest expands variables in the path of its root, and found no folder there."""
    (root := tmp_path / "a$HOME").mkdir()
    monkeypatch.setattr(grading, "ROOT", root)
    (checks := root / assignment.checks_folder).mkdir(parents=True)
    monkeypatch.setattr(grading, "CHECKS", checks)
    (checks / "test_one.py").write_text("def test_one(): pass\n")
    ended = subprocess.run([sys.executable, "-m", "pytest", *grading.pytest_arguments(assignment)], cwd=root, env=os.environ)
    assert ended.returncode == 0


def test_unfilled_stubs_get_nothing_and_one_sentence_each_and_no_engine_is_no_zero(submission, graded):
    stubs = {f"AlphaZero/{p.name}": p.read_text() for p in (ROOT / "AlphaZero").glob("*.py")}
    checks, results = graded(submission("stubs", {**NO_ENGINE, **stubs}))
    assert results["points"] == 0 and set(results["could_not_grade"]) == ENGINE_CHECKS
    for check in checks.values():
        if check["status"] == "awaiting_marks":
            continue
        status, words = (
            "could_not_grade",
            "No required file was found in Minimax/: expected Minimax/*.cpp or Minimax/*.cc or Minimax/*.cxx",
        )
        if check["id"] not in ENGINE_CHECKS:
            status, words = "failed", "Not written yet: AlphaZero/"
        assert check["status"] == status
        assert check["message"].startswith(words) and "\n" not in check["message"]


def test_what_breaks_at_import_is_named_and_the_rest_is_graded(submission, graded):
    broken = {"AlphaZero/mcts_pure.py": "def broken(:\n", "AlphaZero/policy_value_net_torch.py": "import sys\nsys.exit(0)\n"}
    searches = [
        (ROOT / "instructor/reference/AlphaZero" / f"{name}.py").read_text() for name in ("mcts_pure", "mcts_alphaZero")
    ]
    node = re.search(r"^class TreeNode:.*?(?=^class )", searches[0], re.MULTILINE | re.DOTALL)[0]
    own_node = searches[1].replace("from AlphaZero.mcts_pure import TreeNode\n", f"\n\n{node}")
    broken["AlphaZero/mcts_alphaZero.py"] = own_node  # does not lean on the broken file
    some = {*ENGINE_CHECKS, "mcts_pure.tree", "network.layers", "mcts_alphazero.tree"}
    checks, results = graded(submission("broken", {**NO_ENGINE, **broken}), only=some)
    reader = f"read by Python {platform.python_version()}"
    assert checks["mcts_pure.tree"]["message"] == f"SyntaxError: invalid syntax (AlphaZero/mcts_pure.py, line 1, {reader})."
    assert checks["network.layers"]["message"].startswith("SystemExit: 0 (AlphaZero/policy_value_net_torch.py")
    assert checks["mcts_alphazero.tree"]["status"] == "passed" and set(results["could_not_grade"]) == ENGINE_CHECKS


def test_a_part_that_is_missing_is_named_and_no_zero(submission, graded, assignment):
    engine = (ROOT / "Minimax/sample.cpp").read_text(encoding="utf-8")  # answers at once
    some = {check.id for check in assignment.checks} - {"minimax.win_rate"}
    checks, results = graded(submission("half", {**NO_ENGINE, "AlphaZero": None, "Minimax/mine.cpp": engine}), only=some)
    assert checks["mcts_pure.tree"]["status"] == "could_not_grade"
    assert checks["mcts_pure.tree"]["message"].startswith(
        "No required file was found in AlphaZero/: expected AlphaZero/mcts_pure.py or "
    )
    assert checks["minimax.protocol"]["status"] == "passed"
    program = {i for i, check in checks.items() if check["status"] != "awaiting_marks"}
    assert set(results["could_not_grade"]) == program - ENGINE_CHECKS


def test_a_file_that_is_missing_in_a_part_is_named(submission, graded):
    folder = submission("short", {**NO_ENGINE, "AlphaZero/mcts_pure.py": None, "AlphaZero/policy_value_net_torch.py": None})
    checks, results = graded(folder, only={*ENGINE_CHECKS, "mcts_pure.tree"})
    assert checks["mcts_pure.tree"]["status"] == "failed"
    assert checks["mcts_pure.tree"]["message"] == "AlphaZero/mcts_pure.py is missing from the submission."
    assert set(results["could_not_grade"]) == ENGINE_CHECKS


ENGINE = """
#include "AIController.h"
std::string ai_name = "odd";
void init() { %s }
std::pair<int, int> action(std::pair<int, int>) { %s }
"""
ODD_ENGINES = {
    "does not compile": ("int x = ;", "return {7, 7};", "minimax.build", "does not compile: Minimax/odd.cpp"),
    "hangs": ("", "while (true) {}", "minimax.protocol", "timeout"),
    "prints garbage": ('std::cout << "hello\\n";', 'std::cout << "garbage "; return {7, 7};', "minimax.protocol", "malformed"),
    "crashes": ("", "std::abort();", "minimax.protocol", "crash"),
}


LONG = pytest.mark.thorough("a minute of real deadlines")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=LONG) if kind in ("hangs", "prints garbage") else kind for kind in ODD_ENGINES]
)
def test_an_odd_engine_is_graded_to_the_end_and_leaves_nothing(submission, graded, kind, tmp_path):
    init, action, check, words = ODD_ENGINES[kind]
    folder = submission("odd", {**NO_ENGINE, "AlphaZero": None, "Minimax/odd.cpp": ENGINE % (init, action)})
    checks, results = graded(folder)
    assert words in checks[check]["message"] and not ENGINE_CHECKS & set(results["could_not_grade"])
    assert checks["minimax.win_rate"]["points"] == 0
    assert running(tmp_path) == []


@LONG
def test_a_hanging_module_loses_only_its_checks(submission, graded, tmp_path):
    hang = (
        "        if not board.availables:\n            raise ValueError",
        "        while True: pass\n        if not board.availables:\n            raise ValueError",
    )
    some = {"mcts_pure.tree", "mcts_alphazero.tree"}
    checks, results = graded(submission("hang", {**NO_ENGINE, "AlphaZero/mcts_pure.py": hang}), only=some)
    assert checks["mcts_pure.tree"]["message"] == "No reply within 12 s of CPU time."
    assert checks["mcts_alphazero.tree"]["status"] == "passed" and results["could_not_grade"] == []
    assert running(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["grade", "nowhere"], "nothing is there"),
        (["grade", "README.md"], "expected a folder or one of"),
        (["grade", "instructor/reference", "--profile", "slow"], "expected a profile among quick, full, smoke"),
        (["grade", "a/x", "b/x"], "different names"),
        (["grade", "a/x", "b/x", "--plan"], "different names"),
        (["workspace", "instructor/reference", "tests"], "holds other files"),
    ],
)
def test_a_wrong_call_gets_one_sentence(arguments, sentence):
    done = subprocess.run([sys.executable, "-m", "grader", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr
