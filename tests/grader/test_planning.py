"""`grade --plan`: what is left to do and how long it takes, with nothing graded and nothing written."""

import pytest
from packing import WORK

from grader.pipeline import grading, planning
from grader.pipeline.planning import Costs, class_seconds, expected_games, measured_costs
from grader.pipeline.results import PASSED, Verdict, read_results

COSTS = Costs({"network.load": 3.0, "network.layers": 7.0, "minimax.win_rate": 0.0}, 10.0, 2.0, "one sample")
MATCH = ("minimax.win_rate",)


@pytest.fixture
def plan(grade, monkeypatch):
    """`plan(paths, options)`: the exit code and the lines that `grade --plan` prints."""
    monkeypatch.setattr(planning, "recorded_costs", lambda *_: {"smoke": [COSTS], "full": [COSTS.scaled(60)]})
    monkeypatch.setattr(planning, "available_cores", lambda: 2)

    def run(*arguments, **options):
        code, out, err = grade(*arguments, "--plan", **options)
        return code, out.splitlines()[1:], err

    return run


def test_the_cost_of_a_class_is_linear_and_shared_by_the_cores():
    work = ["network.load", "network.layers"]
    one = class_seconds([work], COSTS, 8, MATCH, 1)
    assert one == 20 and class_seconds([work] * 100, COSTS, 8, MATCH, 1) == 100 * one
    assert class_seconds([work] * 100, COSTS, 8, MATCH, 4) == 25 * one
    # Only a match uses the cores that a class of one leaves free.
    assert class_seconds([work], COSTS, 8, MATCH, 4) == one
    assert class_seconds([[*work, *MATCH]], COSTS, 8, MATCH, 4) == one + 8 * 2 / 4
    assert class_seconds([], COSTS, 8, MATCH, 4) == 0


def test_a_match_is_expected_to_end_after_fewer_games_than_planned_but_only_a_little(assignment):
    assert 50 < expected_games(assignment, "full") < 64
    assert expected_games(assignment, "quick") <= 8


def test_the_plan_counts_what_is_left_and_writes_nothing(pack, runs, plan, grade, tmp_path):
    damaged = pack(".zip", WORK, "cem")
    damaged.write_bytes(damaged.read_bytes()[:200])
    class_ = [pack(".zip", WORK, "ada"), pack(".zip", WORK, "bob"), damaged]
    code, lines, _ = plan(*class_)
    assert code == 0 and runs == [] and not (tmp_path / "out").exists()
    assert lines[0] == "3 submissions, 1 not readable (cem), 2 cores:"
    # Ten seconds for the checks, ten besides, and no match under this profile is longer than its two games.
    assert lines[1] == "  smoke  about 24 s; by the times of one sample"
    assert lines[2].startswith("  full   about ") and "with --whole-match (" in lines[2]
    grade(class_[0])
    # Another grader is moving an earlier result at the moment.
    (tmp_path / "out/ada/earlier/.moving").mkdir(parents=True)
    before = sorted((tmp_path / "out").rglob("*"))
    assert plan(*class_)[1][0] == "3 submissions, 1 finished, 1 not readable (cem), 2 cores:"
    assert sorted((tmp_path / "out").rglob("*")) == before


def test_a_profile_without_recorded_times_is_named_before_the_others(pack, plan, monkeypatch):
    monkeypatch.setattr(planning, "recorded_costs", lambda *_: {"full": [COSTS]})
    lines = plan(pack(".zip", WORK, "ada"))[1]
    assert lines[1].startswith("  smoke  no times are recorded; grade 3 submissions") and lines[2].startswith("  full ")


def test_a_plan_by_two_records_is_a_range(pack, plan, monkeypatch):
    slower = Costs(COSTS.checks, 50.0, 2.0, "another")
    monkeypatch.setattr(planning, "recorded_costs", lambda *_: {"smoke": [slower, COSTS]})
    line = plan(pack(".zip", WORK, "ada"))[1][1]
    assert line == "  smoke  about 22 s to 62 s; by the times of another and one sample"


def test_the_plan_of_some_checks_counts_only_these(pack, runs, plan, grade):
    class_ = [pack(".zip", WORK, "ada"), pack(".zip", WORK, "bob")]
    grade(*class_)
    lines = plan(*class_, "--only", "network.layers", "--again")[1]
    assert lines[0] == "2 submissions, 2 cores:" and lines[1] == "  smoke  about 17 s; by the times of one sample"


def test_results_of_the_class_are_a_better_basis_than_the_reference(pack, runs, plan, grade, monkeypatch, assignment, tmp_path):
    def run_checks(run, listener, stopping):
        for check in run.assignment.checks:
            match = {"match": {"games": [{"seconds": 4.0}, {"seconds": 6.0}]}} if check.id in MATCH else {}
            run.record(Verdict.of(check, PASSED, "As expected.", check.points, seconds=2.0, evidence=match))
        return grading.Ended(0, "", grading.environment(run.assignment))

    monkeypatch.setattr(grading, "run_checks_here", run_checks)
    monkeypatch.setattr(grading, "write_report", lambda *_: None)
    class_ = [pack(".zip", WORK, name) for name in ("ada", "bob", "cem")]
    grade(*class_)
    costs = measured_costs([read_results(tmp_path / "out/ada/results.json")], assignment, "")
    assert costs.game_s == 5 and costs.checks["minimax.win_rate"] == 0 and costs.checks["network.load"] == 2
    # 24 checks of 2 s and two games of 5 s each, for three more submissions on two cores.
    lines = plan(*class_, *(pack(".zip", WORK, name) for name in ("dan", "eve", "fay")))[1]
    assert lines[0].startswith("6 submissions, 3 finished")
    assert lines[1] == f"  smoke  about 87 s; by the times of 3 results in {tmp_path / 'out'}"
