"""`grade --plan`: what is left to do and how long it takes, with nothing graded and nothing written."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from packing import WORK

from grader.pipeline import grading, planning, regrading
from grader.pipeline.class_grading import ClassOrder
from grader.pipeline.planning import Costs, Left, class_seconds, expected_games, measured_costs, recorded_costs
from grader.pipeline.results import COULD_NOT_GRADE, PASSED, Verdict, read_results

COSTS = Costs({"network.load": 3.0, "network.layers": 7.0, "minimax.win_rate": 0.0}, 10.0, 2.0, ("one sample",))
MATCH = ("minimax.win_rate",)


@pytest.fixture
def plan(grade, monkeypatch):
    """`plan(paths, options)`: the exit code and the lines that `grade --plan` prints."""
    monkeypatch.setattr(planning, "recorded_costs", lambda *_: {"smoke": [COSTS], "full": [COSTS.scaled(60)]})
    monkeypatch.setattr(planning, "available_cores", lambda: 2)

    def run(*arguments, **options):
        code, out, err = grade(*arguments, "--plan", **options)
        lines = [line for line in out.splitlines() if not line.startswith(("Programs run ", "Python "))]
        return code, lines, err

    return run


def test_the_cost_of_a_class_is_linear_and_shared_by_the_cores():
    work = Left(["network.load", "network.layers"])
    one = class_seconds([work], COSTS, 8, MATCH, 1)
    assert one == 20 and class_seconds([work] * 100, COSTS, 8, MATCH, 1) == 100 * one
    assert class_seconds([work] * 100, COSTS, 8, MATCH, 4) == 25 * one
    # Only a match uses the cores that a class of one leaves free.
    assert class_seconds([work], COSTS, 8, MATCH, 4) == one
    assert class_seconds([Left([*work.checks, *MATCH])], COSTS, 8, MATCH, 4) == one + 8 * 2 / 4
    assert class_seconds([], COSTS, 8, MATCH, 4) == 0


def test_fewer_jobs_than_cores_leave_cores_to_each_match_and_more_jobs_share_them():
    class_ = [Left(MATCH)] * 4
    one, all_games_s = 10.0, 4 * 8 * 2.0
    assert class_seconds(class_, COSTS, 8, MATCH, 4, jobs=1) == 4 * one + all_games_s / 4
    assert class_seconds(class_, COSTS, 8, MATCH, 4, jobs=2) == 2 * one + all_games_s / 4
    assert class_seconds(class_, COSTS, 8, MATCH, 4, jobs=4) == class_seconds(class_, COSTS, 8, MATCH, 4, jobs=9)


def test_games_that_were_played_before_an_interruption_are_not_planned_again():
    assert class_seconds([Left(MATCH, played=6)], COSTS, 8, MATCH, 1) == 10 + 2 * 2
    assert class_seconds([Left(MATCH, played=9)], COSTS, 8, MATCH, 1) == 10


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
    slower = Costs(COSTS.checks, 50.0, 2.0, ("another",))
    monkeypatch.setattr(planning, "recorded_costs", lambda *_: {"smoke": [slower, COSTS]})
    line = plan(pack(".zip", WORK, "ada"))[1][1]
    assert line == "  smoke  about 22 s to 62 s; by the times of another and one sample"


def test_the_plan_of_some_checks_counts_only_these(pack, runs, plan, grade):
    class_ = [pack(".zip", WORK, "ada"), pack(".zip", WORK, "bob")]
    grade(*class_)
    lines = plan(*class_, "--only", "network.layers", "--again")[1]
    assert lines[0] == "2 submissions, 2 cores:" and lines[1] == "  smoke  about 17 s; by the times of one sample"


@pytest.fixture
def takes(runs, monkeypatch):
    """`takes(seconds)`: as if each check that runs took so long, and the match had two games of 5 s on average."""

    def each(seconds):
        def run_checks(run, listener, stopping):
            for check in run.assignment.checks:
                match = {"match": {"games": [{"seconds": 4.0}, {"seconds": 6.0}]}} if check.id in MATCH else {}
                run.record(Verdict.of(check, PASSED, "As expected.", check.points, seconds=seconds, evidence=match))
            return grading.Ended(0, "", grading.environment(run.assignment))

        monkeypatch.setattr(grading, "run_checks_here", run_checks)
        monkeypatch.setattr(grading, "write_report", lambda *_: None)

    return each


def test_results_of_the_class_are_a_better_basis_than_the_reference(pack, takes, plan, grade, assignment, tmp_path):
    takes(2.0)
    class_ = [pack(".zip", WORK, name) for name in ("ada", "bob", "cem")]
    grade(*class_)
    costs = measured_costs([read_results(tmp_path / "out/ada/results.json")], assignment, "")
    assert costs.game_s == 5 and costs.checks["minimax.win_rate"] == 0 and costs.checks["network.load"] == 2
    # 24 checks of 2 s and two games of 5 s each, for three more submissions on two cores.
    lines = plan(*class_, *(pack(".zip", WORK, name) for name in ("dan", "eve", "fay")))[1]
    assert lines[0].startswith("6 submissions, 3 finished")
    assert lines[1] == f"  smoke  about 87 s; by the times of 3 results in {tmp_path / 'out'}"


# ------------------------------------------------------------------------------------- a class of which a part is done


def killed(folder, checks, games=0):
    """Let a finished run look as if the grader had been killed when only these checks were decided."""
    (folder / "results.json").unlink()
    lines = (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["id"] in checks]
    (folder / "verdicts.jsonl").write_text("".join(kept), encoding="utf-8")
    (folder / "games.jsonl").write_text("{}\n" * games, encoding="utf-8")


def test_a_killed_run_is_planned_without_what_it_has_decided(pack, runs, plan, grade, tmp_path):
    path = pack(".zip", WORK, "ada")
    grade(path)
    killed(tmp_path / "out/ada", ["network.load"], games=1)
    # 10 s besides, 7 s for network.layers, and one of two games of 2 s on two cores.
    assert plan(path)[1][1] == "  smoke  about 18 s; by the times of one sample"


def test_a_whole_match_after_an_early_end_is_planned_by_its_games_that_are_left(pack, runs, plan, grade, monkeypatch):
    path = pack(".zip", WORK, "ada")
    grade(path, profile="full")
    monkeypatch.setattr(regrading, "_games_in", lambda _: b"{}\n" * 29)
    line = plan(path, "--whole-match", profile="full")[1][1]
    # 600 s besides, and 35 games of 120 s on two cores.
    assert line == "  full   about 45 min; by the times of one sample"


def test_a_regrade_that_finds_nothing_to_do_is_planned_as_nothing(pack, runs, plan, grade):
    path = pack(".zip", WORK, "ada")
    grade(path)
    assert plan(path, "--regrade", "failed", "--again")[1][0] == "1 submission, 1 finished, 2 cores:"


def test_the_cores_are_shared_by_the_submissions_that_are_left_in_the_plan_and_in_the_grading(
    pack, runs, plan, grade, monkeypatch
):
    class_ = [pack(".zip", WORK, name) for name in ("ada", "bob", "cem")]
    grade(*class_[:2])
    counted = []
    slots = ClassOrder.slots

    def counting(order, submissions):
        counted.append(submissions)
        return slots(order, submissions)

    monkeypatch.setattr(ClassOrder, "slots", counting)
    # 20 s, and two games of 2 s on both cores.
    assert plan(*class_)[1][1] == "  smoke  about 22 s; by the times of one sample"
    out = grade(*class_)[1]
    assert counted == [1] and "3 submissions, 1 at a time" in out


def test_what_the_results_of_the_class_lack_is_planned_by_recorded_times(pack, takes, plan, grade, tmp_path):
    takes(200.0)
    class_ = [pack(".zip", WORK, name) for name in ("ada", "bob", "cem")]
    grade(*class_, "--only", "network.load")
    line = plan(*class_)[1][1]
    # For each of three on two cores: network.layers and the games, which no result has.
    assert line == f"  smoke  about 16 s; by the times of 3 results in {tmp_path / 'out'} and one sample"
    assert "one sample" not in plan(*class_, "--only", "network.load", "--again")[1][1]


def test_a_check_that_could_not_begin_costs_no_known_time(assignment):
    seen = {"network.load": (PASSED, 2.0), "network.layers": (COULD_NOT_GRADE, 0.0), "network.outputs": (COULD_NOT_GRADE, 9.0)}
    verdicts = [Verdict.of(assignment.check(i), status, "", seconds=seconds) for i, (status, seconds) in seen.items()]
    result = SimpleNamespace(seconds=11.0, program=verdicts)
    assert measured_costs([result], assignment, "").checks == {"network.load": 2.0, "network.outputs": 9.0}


def test_a_recorded_profile_that_the_assignment_lacks_is_not_planned(assignment, monkeypatch):
    monkeypatch.setattr(planning, "machine_speed", lambda *_: 1.0)
    profiles = {name: profile for name, profile in assignment.profiles.items() if name != "full"}
    assert recorded_costs(replace(assignment, profiles=profiles), 1).keys() == {"quick"}
