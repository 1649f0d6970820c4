"""A submission keeps the grader no longer than its deadlines and its budget, and other programs are not charged to it."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from waiting import PATIENCE_S, eventually

from arena.engine.process import Descendants
from arena.engine.withheld import Core, has_run_delays
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import LEVELS, find_sandbox
from grader.pipeline import grading
from grader.pipeline.budget import LONGEST_STEP_S, Budget, Spending, minutes
from grader.pipeline.grading import grade, grade_submission
from grader.pipeline.listeners import Lines
from grader.pipeline.order import Order
from grader.pipeline.submission import read_submission

ROOT = Path(__file__).resolve().parents[2]
CHECKS = ("mcts_pure.tree", "mcts_pure.reuse", "mcts_alphazero.reuse")
SLEEPS = "\n\nimport time\n\n\nclass MCTSPlayer:\n    def __init__(self, **_):\n        time.sleep(1000)\n"


class Tree:
    """A tree of processes that has used so many CPU seconds."""

    used_s = 0.0

    def cpu_s(self):
        return self.used_s

    def members(self):
        return [7]


@pytest.mark.parametrize(
    ("busy", "own_s", "waited_s", "charged_s"),
    [
        ([0, 0], 0, 0, 8),  # it sleeps on an idle machine
        ([8, 8], 0, 0, 8),  # it sleeps while others have all of the cores
        ([8, 8], 16, 0, 8),  # it computes alone on both cores
        ([8, 8], 8, 8, 4),  # two threads of it, which others leave half of the cores
        ([8, 8], 2, 6, 2),  # one thread of it, which others leave a quarter of one
        ([8, 8], 16, 400, 8),  # its many threads wait for each other alone
        ([8, 0], 4, 4, 8),  # others leave it a core
        ([8, 8], 0, 8, 0.8),  # it gets nothing
    ],
)
def test_what_other_programs_withheld_is_not_used(monkeypatch, busy, own_s, waited_s, charged_s):
    now, cores, delays, tree = [100.0], [Core(0.0, 0.0, 0.0)] * len(busy), {1: 50.0}, Tree()
    monkeypatch.setattr("grader.pipeline.budget.monotonic", lambda: now[0])
    monkeypatch.setattr("grader.pipeline.budget.core_times", lambda: dict(enumerate(cores)))
    monkeypatch.setattr("grader.pipeline.budget.run_delays", lambda pids: delays.items())
    monkeypatch.setattr("grader.pipeline.budget.has_run_delays", lambda: True)
    spending = Spending(tree, 0.0, 100.0, 0.0, dict(enumerate(cores)), dict(delays))
    now[0] += 8
    cores, delays = [Core(float(busy_s), 0.0, 8.0) for busy_s in busy], {1: 50.0 + waited_s}
    tree.used_s = own_s
    spending.look()
    assert spending.used_s == pytest.approx(charged_s)


def test_a_machine_that_was_put_to_sleep_is_not_charged(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("grader.pipeline.budget.monotonic", lambda: now[0])
    monkeypatch.setattr("grader.pipeline.budget.core_times", dict)
    spending = Spending(Tree())
    now[0] += 50_000
    spending.look()
    assert spending.used_s == LONGEST_STEP_S


def test_a_real_sleeper_is_charged_by_the_clock():
    command = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(600)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        started, spending = time.monotonic(), Spending(Descendants(process.pid))
        while time.monotonic() - started < 2.5:
            time.sleep(0.1)
            spending.look()
        passed_s = time.monotonic() - started
        process.kill()
    # The first step may hold what the program waited before it slept; the second holds its sleep alone.
    assert (0.9 if has_run_delays() else 0) < spending.used_s <= passed_s


def test_deadlines_are_of_the_check_and_the_budget_of_all(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("grader.pipeline.budget.monotonic", lambda: now[0])
    monkeypatch.setattr("grader.pipeline.budget.core_times", dict)
    budget = Budget(100.0, {"a": 10.0, "b": 30.0})
    budget.watch(os.getpid())

    def after(seconds, check):
        for _ in range(seconds // 5):
            now[0] += 5
            said = budget.overrun(check)
        return said

    assert after(10, "a") == "" and after(5, "a") == "" and after(10, "a") == "it used up its limit of 10 seconds"
    budget.watch(os.getpid())
    assert after(25, "b") == "" and not budget.spent
    assert after(60, "c") == "the submission used up its budget of 100 seconds" and budget.spent


def test_minutes_are_told_as_such():
    assert (minutes(30), minutes(90 * 60)) == ("30 seconds", "90 minutes")


def in_brief(check_s, budget_s):
    """The assignment with some checks and few seconds for them."""
    whole = load_assignment()
    smoke = replace(whole.profiles["smoke"], check_minutes=check_s / 60, budget_minutes=budget_s / 60)
    checks = tuple(check for check in whole.checks if check.id in CHECKS)
    return replace(whole, checks=checks, profiles={**whole.profiles, "smoke": smoke})


@pytest.fixture
def sleeper(tmp_path):
    """The reference, whose pure search sleeps."""
    folder = tmp_path / "in" / "sleeper"
    shutil.copytree(ROOT / "instructor" / "reference" / "AlphaZero", folder / "AlphaZero")
    with open(folder / "AlphaZero" / "mcts_pure.py", "a", encoding="utf-8") as file:
        file.write(SLEEPS)
    return folder


needs_confinement = pytest.mark.skipif(find_sandbox().level not in LEVELS[:3], reason="it needs a confinement")


@pytest.mark.parametrize(("spent", "set_aside"), [(False, []), (True, ["mcts_pure.agreement"])])
def test_a_check_that_has_its_verdict_and_does_not_end_keeps_it(spent, set_aside):
    assignment, recorded = load_assignment(), []
    verdicts = {"mcts_pure.tree": SimpleNamespace(status="passed")}
    requested = ("mcts_pure.tree", "mcts_pure.agreement")
    run = SimpleNamespace(
        assignment=assignment, verdicts=verdicts, requested=requested, current="mcts_pure.tree", record=recorded.append
    )
    grading._set_aside(run, SimpleNamespace(spent=spent, used_s=1.0), "it took too long")
    assert [verdict.id for verdict in recorded] == set_aside


@needs_confinement
def test_a_check_that_takes_too_long_is_ended_and_the_others_are_graded(sleeper, tmp_path, monkeypatch):
    honest_s = {"mcts_alphazero.reuse": 120.0}  # a slow machine needs more than the few seconds of those that sleep
    monkeypatch.setattr(grading, "Budget", lambda whole_s, deadlines_s, *used: Budget(whole_s, deadlines_s | honest_s, *used))
    order = Order(in_brief(6, 600), "smoke", tmp_path / "out", find_sandbox(), seed=1)
    results = grade(sleeper, order)
    said = {verdict.id: verdict.message for verdict in results.verdicts}
    assert set(results.could_not_grade) == {i for i in CHECKS if i.startswith("mcts_pure")}
    assert "it used up its limit of 6 seconds" in said["mcts_pure.tree"]
    assert results.points == 1.0  # of mcts_alphazero.reuse


@needs_confinement
def test_a_submission_that_used_up_its_budget_is_set_aside_and_does_not_come_back(sleeper, tmp_path):
    announced = []
    order = Order(in_brief(600, 7), "smoke", tmp_path / "out", find_sandbox(), seed=1)
    results = grade(sleeper, order, listener=Lines(announced.append))
    assert set(results.could_not_grade) == set(CHECKS) and results.points == 0
    assert all("used up its budget of 7 seconds" in verdict.message for verdict in results.program)
    assert sum("used up its budget" in line for line in announced) == 1
    assert f"The same for {len(CHECKS) - 1} more checks." in announced
    # As if the grader had been killed before it wrote the results: what was set aside is not begun again.
    (tmp_path / "out" / "sleeper" / "results.json").unlink()
    assert grade(sleeper, order).could_not_grade == results.could_not_grade
    assert not (tmp_path / "out" / "sleeper" / "used.txt").exists()
    lines = (tmp_path / "out" / "sleeper" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == sorted(CHECKS)


@needs_confinement
def test_a_killed_run_goes_on_with_the_budget_that_is_left(sleeper, tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "NOTED_S", 0.5)
    order, killed = Order(in_brief(600, 600), "smoke", tmp_path / "out", find_sandbox(), seed=1), threading.Event()
    noted = tmp_path / "out" / "sleeper" / "used.txt"
    threading.Thread(target=lambda: eventually(noted.exists, PATIENCE_S) and killed.set(), daemon=True).start()
    submission, started_with = read_submission(sleeper, order.assignment), []
    monkeypatch.setattr(grading, "Budget", lambda *values: started_with.append(values[-1]) or Budget(*values))
    for _ in range(2):  # the second run is killed at once
        with pytest.raises(KeyboardInterrupt):
            grade_submission(submission, order, stopping=killed)
    assert started_with[0] == 0 < started_with[1] <= 10
