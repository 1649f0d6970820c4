"""`grade --only`, `--regrade` and `--whole-match`: which checks run again, and what becomes of the other verdicts."""

import errno
import json
from dataclasses import replace

import pytest
from packing import ENGINE, WORK

from grader.pipeline import class_grading, grading, run_folder
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, PASSED, Verdict, read_results
from grader.pipeline.run import RunRecord

EVERYTHING = 25
MATCH = "minimax.win_rate"


@pytest.fixture
def ran(runs, monkeypatch):
    """The checks that ran, one set for each run; `ran.failing` and `ran.unsure` name those that do not pass.

    `ran.dies_after` is the number of those that are decided before the run is interrupted."""

    class Ran(list):
        failing, unsure, dies_after, games = (), (), None, None

    found = Ran()

    def run_checks(run, listener, stopping):
        own = set()  # several runs may go on at once
        found.append(own)
        games = run.folder / "games.jsonl"
        found.games = games.read_text(encoding="utf-8") if games.exists() else None
        for check in run.assignment.checks:
            if check.id not in run.requested or check.id in run.verdicts:
                continue
            if len(own) == found.dies_after:
                raise KeyboardInterrupt
            own.add(check.id)
            if check.id == MATCH:
                games.write_text("the games\n", encoding="utf-8")
            status = COULD_NOT_GRADE if check.id in found.unsure else FAILED if check.id in found.failing else PASSED
            run.record(Verdict.of(check, status, "As it is.", check.points if status == PASSED else 0))
        return grading.Ended(0, "", grading.environment(run.assignment))

    monkeypatch.setattr(grading, "run_checks_here", run_checks)
    return found


@pytest.fixture
def change(monkeypatch):
    """`change(ids)`: as if a file that decides these checks had changed."""

    def now(*ids):
        from grader.pipeline import judging

        real = judging.check_digests

        def digests(*arguments):
            return {check: "new" if check in ids else digest for check, digest in real(*arguments).items()}

        monkeypatch.setattr("grader.pipeline.judging.check_digests", digests)
        monkeypatch.setattr("grader.pipeline.order.grader_digest", lambda *_: f"new {ids}")

    return now


def by_id(results):
    return {check["id"]: check for check in results["checks"] if check["status"] != "awaiting_marks"}


def test_only_the_checks_that_failed_are_graded_again(pack, ran, grade, results, tmp_path):
    path, ran.failing = pack(".zip", WORK, "ada"), ("network.load", MATCH)
    grade(path)
    before, ran.failing = results("ada"), ()
    code, out, _ = grade(path, "--regrade", "failed")
    after = results("ada")
    assert code == 0 and len(ran[0]) == EVERYTHING and ran[1] == {"network.load", MATCH}
    assert "2 of 25 checks are graded again; the verdicts of the others are kept" in out
    assert (before["points"], after["points"]) == (39, 70) and after["seed"] == before["seed"]
    assert results("ada", "earlier/1") == before
    # The same command finds nothing to do, so that it can be repeated after a kill.
    grade(path, "--regrade", "failed")
    assert len(ran) == 2


def test_a_change_grades_the_checks_again_that_it_can_affect(pack, ran, grade, results, change):
    path = pack(".zip", WORK, "ada")
    grade(path)
    before = by_id(results("ada"))
    change("network.load", "network.layers")
    assert grade(path, "--regrade", "changed")[0] == 0 and ran[1] == {"network.load", "network.layers"}
    after = by_id(results("ada"))
    assert {i for i in before if before[i]["basis"] != after[i]["basis"]} == ran[1]
    grade(path, "--regrade", "changed")
    grade(path)
    assert len(ran) == 2


def test_a_part_that_was_handed_in_again_is_graded_again_and_the_other_part_is_kept(pack, ran, grade, results, tmp_path):
    path = pack(".zip", WORK, "ada")
    grade(path)
    pack(".zip", {**WORK, ENGINE: b"int other;\n"}, "ada")
    grade(path, "--regrade", "changed")
    assert ran[1] == {i for i in by_id(results("ada")) if i.startswith("minimax.")}
    assert (tmp_path / "out/ada/games.jsonl").read_text(encoding="utf-8") == "the games\n" and ran.games is None


def test_a_requested_check_is_graded_again_and_later_the_rest_that_a_change_affects(pack, ran, grade, results, change):
    path = pack(".zip", WORK, "ada")
    grade(path)
    change("network.load", "network.layers")
    grade(path, "--only", "network.load")
    assert ran[1] == {"network.load"} and len(by_id(results("ada"))) == EVERYTHING
    code, out, _ = grade(path)
    assert code == 0 and ran[2] == {"network.layers"} and "1 of 25 checks are graded again" in out


def test_only_some_checks_of_a_new_submission_then_others_then_the_rest(pack, ran, grade, results, assignment):
    path = pack(".zip", WORK, "ada")
    grade(path, "--only", "network")
    network = {check.id for check in assignment.named("network")}
    assert ran == [network] and set(by_id(results("ada"))) == network
    grade(path, "--only", "network")
    assert len(ran) == 1
    grade(path, "--only", "mcts_pure.tree")
    assert ran[1] == {"mcts_pure.tree"} and set(by_id(results("ada"))) == {*network, "mcts_pure.tree"}
    grade(path)
    assert ran[2] == {check.id for check in assignment.checks} - network - {"mcts_pure.tree"}
    assert len(by_id(results("ada"))) == EVERYTHING


def test_a_part_that_is_absent_is_not_called_graded_before(pack, ran, grade):
    _, out, _ = grade(pack(".zip", {ENGINE: WORK[ENGINE]}, "ada"), "--only", "mcts_pure", "--only", "minimax.build")
    assert ran == [{"minimax.build"}] and "graded again" not in out


@pytest.mark.parametrize("more", [1, -1])
def test_a_check_whose_points_were_changed_is_graded_again_whatever_was_requested(
    more, pack, ran, grade, assignment, change, monkeypatch, tmp_path
):
    path, ran.failing = pack(".zip", WORK, "ada"), ("network.load",)
    grade(path)
    change()
    known, ran.failing = assignment.check("network.layers"), ()
    worth = replace(known, points=known.points + more)
    checks = tuple(worth if check.id == worth.id else check for check in assignment.checks)
    monkeypatch.setattr("grader.pipeline.commands.load_named", lambda _: replace(assignment, checks=checks))
    assert grade(path, "--regrade", "failed")[0] == 0 and ran[1] == {"network.load", "network.layers"}
    kept = {verdict.id: verdict for verdict in read_results(tmp_path / "out/ada/results.json").program}
    assert kept["network.layers"].points == kept["network.layers"].max_points == worth.points


def test_only_an_unknown_check_is_a_wrong_call(pack, ran, grade):
    code, _, err = grade(pack(".zip", WORK, "ada"), "--only", "netwrok")
    assert code == 2 and err.startswith("grader: expected a check such as minimax.build or a part among minimax, ") and not ran


def test_a_killed_regrade_continues_with_the_verdicts_that_it_took_over(pack, ran, grade, results, change):
    path = pack(".zip", WORK, "ada")
    grade(path)
    before = by_id(results("ada"))
    change("network.load", "network.layers", "mcts_pure.tree")
    ran.dies_after = 1
    assert grade(path, "--regrade", "changed")[0] == 130
    ran.dies_after = None
    assert grade(path, "--regrade", "changed")[0] == 0
    assert [len(run) for run in ran[1:]] == [1, 2] and not ran[1] & ran[2]
    after = by_id(results("ada"))
    assert {i for i in before if before[i]["basis"] != after[i]["basis"]} == ran[1] | ran[2]
    assert len(after) == EVERYTHING and results("ada", "earlier/1")["points"] == 70


@pytest.mark.parametrize("when", ["the first files are written", "the earlier run has been moved"])
def test_a_full_disk_or_a_kill_at_the_start_of_a_regrade_costs_no_verdict(
    when, pack, ran, grade, results, monkeypatch, tmp_path
):
    path, ran.failing = pack(".zip", WORK, "ada"), ("network.load",)
    grade(path)
    before, ran.failing = results("ada"), ()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def killed(folder):
        keep_earlier(folder)
        raise KeyboardInterrupt

    keep_earlier, early = run_folder.keep_earlier, when == "the first files are written"
    with monkeypatch.context() as once:
        once.setattr(RunRecord, "write", full) if early else once.setattr(run_folder, "keep_earlier", killed)
        assert grade(path, "--regrade", "failed")[0] == (2 if early else 130)
    assert results("ada", "" if early else "earlier/1") == before and len(ran) == 1
    assert grade(path, "--regrade", "failed")[0] == 0 and ran[1] == {"network.load"}
    assert results("ada")["seed"] == before["seed"] and results("ada", "earlier/1") == before
    assert not (tmp_path / "out/ada/.next").exists()


def test_a_whole_match_goes_on_with_the_games_that_were_played_and_runs_no_other_check(pack, ran, grade, results, tmp_path):
    path = pack(".zip", WORK, "ada")
    grade(path)
    assert results("ada")["whole_match"] is False
    grade(path, "--whole-match")
    assert ran[1] == {MATCH} and ran.games == "the games\n" and results("ada")["whole_match"] is True
    grade(path)
    grade(path, "--whole-match")
    assert len(ran) == 2


def test_a_match_that_is_requested_again_begins_with_its_first_game(pack, ran, grade):
    path = pack(".zip", WORK, "ada")
    grade(path)
    grade(path, "--only", MATCH, "--again")
    assert ran[1] == {MATCH} and ran.games is None


def test_verdicts_drawn_with_another_seed_are_not_mixed(pack, ran, grade, results):
    path = pack(".zip", WORK, "ada")
    grade(path, "--seed", "5")
    code, _, err = grade(path, "--only", "network", "--seed", "7")
    assert code == 2 and "was graded with seed 5: to grade it with seed 7 as well, add --again" in err
    said = grade(path, "--only", "network", "--seed", "7", "--again")[1]
    assert "is graded again because this has changed: the seed, which all checks of a run share." in said
    assert len(ran[1]) == EVERYTHING and results("ada")["seed"] == 7


def test_a_killed_regrade_that_gets_another_seed_takes_no_verdict_over(pack, ran, grade, results, change):
    path = pack(".zip", WORK, "ada")
    grade(path, "--seed", "5")
    change("network.load", "network.layers")
    ran.dies_after = 1
    grade(path, "--regrade", "changed")
    ran.dies_after = None
    assert grade(path, "--seed", "7")[0] == 0
    assert len(ran[-1]) == EVERYTHING and results("ada")["seed"] == 7 and results("ada", "earlier/1")["seed"] == 5


def test_a_verdict_that_was_taken_over_is_sealed_with_the_rest(pack, ran, grade, tmp_path):
    path = pack(".zip", WORK, "ada")
    grade(path)
    grade(path, "--only", "network.load", "--again")
    verdicts = tmp_path / "out/ada/verdicts.jsonl"
    assert len(verdicts.read_text(encoding="utf-8").splitlines()) == EVERYTHING
    assert len(json.loads((tmp_path / "out/ada/run.json").read_text(encoding="utf-8"))["taken_over"]) == EVERYTHING - 1
    verdicts.write_text(verdicts.read_text(encoding="utf-8").replace("As it is.", "As it was."), encoding="utf-8")
    grade(path)
    assert len(ran[-1]) == EVERYTHING


def test_a_finished_check_is_graded_again_only_where_that_is_asked_for(pack, ran, grade, change):
    path = pack(".zip", WORK, "ada")
    grade(path)
    code, out, _ = grade(path, "--only", "network", "--only", MATCH)
    assert code == 0 and len(ran) == 1 and "already graded" in out
    grade(path, "--only", "network.load", "--again")
    assert ran[1] == {"network.load"}
    grade(path, "--only", "network.load", "--again")
    assert ran[2] == {"network.load"}
    change("network.load", "network.layers", MATCH)
    grade(path, "--only", "network")
    assert ran[3] == {"network.load", "network.layers"}


@pytest.mark.parametrize("first", [(), ("--only", "network", "--only", "minimax")])
def test_some_checks_between_an_interruption_and_the_rest_cost_nothing_that_was_decided(first, pack, ran, grade, results):
    path, ran.dies_after = pack(".zip", WORK, "ada"), 4
    assert grade(path, *first)[0] == 130 and MATCH in ran[0]
    ran.dies_after = None
    grade(path, "--only", "network.load", "--only", "network.layers")
    assert ran[1] == {"network.load", "network.layers"} - ran[0] and by_id(results("ada")).keys() == ran[0] | ran[1]
    seed = results("ada")["seed"]
    grade(path)
    assert ran[2] == by_id(results("ada")).keys() - ran[0] - ran[1] and len(by_id(results("ada"))) == EVERYTHING
    assert results("ada")["seed"] == seed


def test_the_games_of_an_interrupted_match_are_kept_for_the_command_that_plays_it(pack, ran, grade, tmp_path):
    path, ran.dies_after = pack(".zip", WORK, "ada"), 1
    assert grade(path)[0] == 130 and MATCH not in ran[0]
    (tmp_path / "out/ada/games.jsonl").write_text("sixty games\nhalf a ga", encoding="utf-8")
    ran.dies_after = None
    grade(path, "--only", "network.load")
    grade(path)
    assert MATCH in ran[2] and ran.games == "sixty games\n"


def test_an_interrupted_regrade_of_some_checks_continues(pack, ran, grade, results):
    path = pack(".zip", WORK, "ada")
    grade(path)
    ran.dies_after = 1
    assert grade(path, "--only", "network", "--again")[0] == 130
    ran.dies_after = None
    grade(path, "--only", "network", "--again")
    assert not ran[1] & ran[2] and {i.split(".")[0] for i in ran[1] | ran[2]} == {"network"}
    assert len(by_id(results("ada"))) == EVERYTHING and results("ada", "earlier/1")["points"] == 70


def test_a_part_that_is_absent_stays_so_when_an_interrupted_command_for_another_part_is_followed_by_the_whole(
    pack, ran, grade, results
):
    path = pack(".zip", {name: content for name, content in WORK.items() if "Minimax" not in name}, "ada")
    ran.dies_after = 1
    grade(path, "--only", "network")
    ran.dies_after = None
    assert grade(path)[0] == 1 and MATCH not in ran[1]
    assert {i.split(".")[0] for i in results("ada")["could_not_grade"]} == {"minimax"}


def test_a_whole_match_is_played_whatever_else_is_asked_for_in_the_same_command(pack, ran, grade, results):
    path = pack(".zip", WORK, "ada")
    grade(path)
    grade(path, "--only", "network.load", "--again", "--whole-match")
    assert ran[1] == {"network.load", MATCH} and ran.games == "the games\n" and results("ada")["whole_match"] is True
    grade(path, "--whole-match")
    assert len(ran) == 2


def test_what_a_person_has_looked_at_is_graded_whatever_else_is_asked_for_in_the_same_command(pack, ran, grade, results):
    path, ran.unsure = pack(".zip", WORK, "ada"), ("mcts_pure.tree",)
    grade(path)
    ran.unsure = ()
    grade(path, "--only", "network.load", "--again", "--looked-at")
    assert ran[1] == {"network.load", "mcts_pure.tree"} and results("ada")["looked_at"] is True


# ------------------------------------------------------------------------------------------ a request to grade again


@pytest.fixture
def interrupted(pack, ran, grade, monkeypatch):
    """A class of three whose second grading was interrupted: ada is done, bob begun, cem not begun. `again()` continues it."""
    paths = [pack(".zip", WORK, name) for name in ("ada", "bob", "cem")]
    grade(*paths)
    run_checks, begin = grading.run_checks_here, class_grading._ClassGrading.grade

    def dies_in_bob(run, listener, stopping):
        ran.dies_after = 3 if run.folder.name == "bob" else None
        return run_checks(run, listener, stopping)

    def dies_before_cem(self, path):
        if path.stem == "cem":
            raise KeyboardInterrupt
        return begin(self, path)

    with monkeypatch.context() as once:
        once.setattr(grading, "run_checks_here", dies_in_bob)
        once.setattr(class_grading._ClassGrading, "grade", dies_before_cem)
        code, _, err = grade(*paths, "--jobs", "1", "--again")
    assert code == 130 and "the same command continues" in err
    ran.dies_after = None
    ran.clear()
    return lambda *options: grade(*paths, *options)


def earlier(tmp_path):
    return {path.parent.parent.name: path.name for path in (tmp_path / "out").glob("*/earlier/*")}


def test_the_command_that_was_interrupted_while_grading_again_grades_each_submission_once(interrupted, ran, tmp_path):
    plan = interrupted("--again", "--plan")[1]
    assert "3 submissions, 1 finished, " in plan
    code, out, _ = interrupted("--again")
    assert code == 0 and "was interrupted before: what it has graded is not graded a second time" in out
    assert "ada: already graded (" in out and "use --again" not in out
    assert sorted(len(run) for run in ran) == [EVERYTHING - 3, EVERYTHING]
    assert earlier(tmp_path) == {"ada": "1", "bob": "1", "cem": "1"}
    assert not (tmp_path / "out/.again").exists()
    # The request has been fulfilled; the same words are a new one.
    assert interrupted("--again")[0] == 0 and len(ran) == 5


def test_what_is_left_of_a_request_to_grade_again_is_named_by_the_command_without_it(interrupted, ran):
    code, out, _ = interrupted()
    assert code == 0 and "add --again to grade what is left of it" in out and [len(run) for run in ran] == [EVERYTHING - 3]
    interrupted("--again")
    assert len(ran) == 2


def test_another_command_with_again_is_another_request(interrupted, ran):
    code, out, _ = interrupted("--again", "--only", "network.load")
    assert code == 0 and "was interrupted" not in out and ran == [{"network.load"}] * 3


def test_a_damaged_record_of_requests_is_no_request(interrupted, ran, tmp_path):
    (tmp_path / "out/.again").write_text("{", encoding="utf-8")
    interrupted("--again")
    assert len(ran) == 3
