"""`python -m grader replay` on a real run: repeats verdicts beside the recorded ones, and notices what was altered."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from course_tools import resealed

from common.errors import UsageError
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import find_sandbox
from grader.instructor import replay
from grader.instructor.gradebook_entries import read_entry
from grader.pipeline.grading import environment, grade
from grader.pipeline.judging import grader_digest
from grader.pipeline.order import Order
from grader.pipeline.results import Verdict

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("mcts_pure", "network")
WRONG_SIGN = ("leaf_value = -leaf_value", "leaf_value = leaf_value + 0")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, engines):
    """A finished run of some checks on a submission with one bug, which is gone by now from where it was handed in."""
    place = tmp_path_factory.mktemp("appeal")
    shutil.copytree(ROOT / "instructor" / "reference", place / "alice")
    path = place / "alice" / "AlphaZero" / "mcts_pure.py"
    text = path.read_text()
    assert text.count(WRONG_SIGN[0]) == 1
    path.write_text(text.replace(*WRONG_SIGN))
    whole = load_assignment()
    some = replace(whole, checks=tuple(check for check in whole.checks if check.id.startswith(PARTS)))
    grade(place / "alice", Order(some, "smoke", place / "out", find_sandbox(), seed=3))
    shutil.rmtree(place / "alice")
    return place / "out" / "alice"


@pytest.fixture
def run(recorded, tmp_path):
    """A copy of the run that a test may spoil."""
    return Path(shutil.copytree(recorded, tmp_path / "out" / "alice"))


def call(*arguments, **environment):
    command = [sys.executable, "-m", "grader", "replay", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_verdicts_are_repeated_beside_the_recorded_ones_and_the_record_stays(run, tmp_path):
    before = contents(run)
    code, said, _ = call(run, "mcts_pure", "--out", tmp_path / "again")
    assert code == 0 and "4 of 4 verdicts are the same" in said and "Changed since the grading" not in said
    tree = said[said.index("mcts_pure.tree: same") :]
    recorded, repeated = (next(line for line in tree.splitlines() if word in line) for word in ("recorded", "repeated"))
    assert "failed 0/2: " in recorded and recorded.replace("recorded", "repeated") == repeated
    assert "expected  " in tree and "network" not in said
    assert contents(run) == before
    again = json.loads((tmp_path / "again/alice/results.json").read_text())
    kept = json.loads((run / "results.json").read_text())
    assert (again["seed"], again["profile"], again["digest"]) == (kept["seed"], kept["profile"], kept["digest"])
    layers = [next(c for c in results["checks"] if c["id"] == "network.layers") for results in (again, kept)]
    assert layers[0] == layers[1]  # taken over with its seconds, not decided again


def test_a_verdict_that_differs_is_shown_with_what_differs_since(run, tmp_path):
    """The record of a machine where the check passed, whole in itself."""
    path = run / "results.json"
    results = json.loads(path.read_text())
    tree = next(check for check in results["checks"] if check["id"] == "mcts_pure.tree")
    tree |= {"status": "passed", "points": 2.0, "message": "As expected."}
    results["environment"] |= {"torch": "1.0", "cores": "1"}  # of one of several submissions that were graded at once
    path.write_text(json.dumps(resealed(results, run)))
    lines, cores = [], os.sched_getaffinity(0)
    assert replay.main(path, ["mcts_pure.tree"], tmp_path / "again", lines.append, level=None) == 1
    [changed] = [line for line in lines if line.startswith("Changed since the grading: torch 1.0, now ")]
    again = json.loads((tmp_path / "again/alice/results.json").read_text())
    assert "cores" not in changed and again["environment"]["cores"] == "1" and os.sched_getaffinity(0) == cores
    assert "mcts_pure.tree: DIFFERENT" in lines and lines[-1].startswith("0 of 1 verdicts are the same")


def test_another_run_of_the_same_name_where_the_repetition_goes_is_kept(run, tmp_path, runs):
    there = Path(shutil.copytree(run, tmp_path / "others" / "alice"))
    before, lines = contents(there), []
    replay.main(run, ["mcts_pure.tree"], tmp_path / "others", lines.append, level=None)
    kept = contents(there / "earlier/1")
    assert kept.items() < before.items() and before.keys() - kept.keys() == {Path(".lock"), Path("progress.txt")}
    assert runs == ["alice"]
    assert f"alice: the earlier run is kept in {there / 'earlier/1'}." in lines


def points(run):
    path = run / "results.json"
    path.write_text(path.read_text().replace('"points": 0.0', '"points": 2.0', 1))


def submission(run):
    path = run / "submission.zip"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def verdicts(run):
    path = run / "verdicts.jsonl"
    path.write_text(path.read_text().replace("failed", "passed", 1))


ALTERATIONS = {
    points: "results.json was altered after the grading",
    submission: "submission.zip was altered or removed",
    verdicts: "verdicts.jsonl was altered or removed",
    lambda run: (run / "submission.zip").unlink(): "submission.zip was altered or removed",
    lambda run: (run / "results.json").write_text('{"checks": []}'): "has no checksum",
}


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_what_was_altered_is_noticed_and_not_entered(run, tmp_path, alter):
    alter(run)
    code, said, sentence = call(run, "--out", tmp_path / "again")
    assert code == 2 and said == "" and ALTERATIONS[alter] in sentence and sentence.count("\n") == 1
    assert not (tmp_path / "again").exists()
    with pytest.raises(UsageError, match=ALTERATIONS[alter]):
        read_entry(run / "results.json", load_assignment())


@pytest.mark.parametrize("folder", ["class/ada", "class/ada/earlier/1"])
def test_repeated_runs_are_beside_the_recorded_one(folder):
    assert replay.replays_beside(Path(folder)) == Path("class/replay")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{run}", "mcts_pure.trees"], "a part among mcts_pure, network; got 'mcts_pure.trees' (did you mean mcts_pure.tree?)"),
        (["{run}", "minimax.build"], "expected a check such as"),  # which this run did not have
        (["docs"], "expected a results.json at docs/results.json: No such file"),
        (["nowhere"], "expected a results.json at nowhere: No such file"),
        (["README.md"], "is damaged"),
        (["{run}", "--out", "{run}/.."], "is the recorded run itself"),
        (["{run}", "--sandbox", "rlimits"], "--allow-weak-sandbox"),
    ],
)
def test_a_wrong_call_gets_one_sentence(run, arguments, sentence):
    before = contents(run)
    code, said, error = call(*(argument.format(run=run) for argument in arguments))
    assert code == 2 and sentence in error and error.count("\n") == 1 and said == ""
    assert contents(run) == before


def test_checks_that_the_assignment_no_longer_has_are_named_and_not_called_the_same(run, tmp_path, monkeypatch):
    whole, said = load_assignment(), []
    without = [check for check in whole.checks if check.id != "mcts_pure.tree"]
    only = [check for check in without if check.id in ("mcts_pure.tactics", "minimax.build")]
    monkeypatch.setattr(replay, "load_named", lambda _: replace(whole, checks=tuple(only)))
    code = replay.main(run, [], tmp_path / "again", said.append, level=None)
    assert code == 1 and any(
        "no longer has them: mcts_pure.agreement, mcts_pure.reuse, mcts_pure.tree, network" in s for s in said
    )
    monkeypatch.setattr(replay, "load_named", lambda _: replace(whole, checks=tuple(only[:1])))
    for names in ([], ["mcts_pure"]):
        with pytest.raises(
            UsageError, match=r"expected the checks of .* in assignment\.toml; it has none of them: mcts_pure\.agreement"
        ):
            replay.main(run, names, tmp_path / "again", said.append, level=None)


def test_a_run_that_is_unfinished_and_an_archive_that_was_refused_are_named_as_such(run, tmp_path):
    (run / "results.json").unlink()
    with pytest.raises(UsageError, match="holds an unfinished run; give the same grade command again"):
        replay.read_record(run)
    (tmp_path / "out" / "bob").mkdir()
    (tmp_path / "out" / "bob" / "refused.txt").write_text("bob.zip is a RAR archive\n")
    with pytest.raises(UsageError, match=r"expected a graded run in .*bob; the archive was refused: bob\.zip is a RAR archive"):
        replay.read_record(tmp_path / "out" / "bob")


def test_a_folder_that_no_file_can_have_gets_one_sentence(run, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    code, _, err = call(run, "--out", tmp_path / "loop")
    assert code == 2 and err.startswith("grader: expected a folder at ") and err.count("\n") == 1


def test_the_folder_of_a_class_is_no_run(tmp_path):
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text("{}")
    with pytest.raises(UsageError, match=r"the folder of one graded run, such as .*/ada; .* holds 2 of them"):
        replay.read_record(tmp_path)


def test_a_machine_without_a_compiler_gets_one_sentence(run, tmp_path):
    code, said, error = call(run, "--out", tmp_path / "again", PATH=str(tmp_path))
    assert code == 2 and "expected the C++ compiler g++ on PATH" in error and error.count("\n") == 1 and said == ""


def test_a_match_is_compared_by_counts_and_interval():
    told = "Won 5, lost 3, drew 0 of 8 games (8 distinct; score rate 0.62, 95 % interval 0.31 to 0.86)."
    match = Verdict("minimax.win_rate", "partial", 23.0, 30.0, told, "4.4", seen=told, evidence={"match": {"plays": 8}})
    lines = replay.comparison(match, replace(match, points=20.0, message=told.replace("5", "4", 1)))
    assert lines[0] == "minimax.win_rate: DIFFERENT" and any("compare the intervals" in line for line in lines)
    assert any("recorded  partial 23/30: Won 5" in line for line in lines)
    assert any("repeated  partial 20/30: Won 4" in line for line in lines)


@pytest.mark.parametrize("busy", ["recorded", "repeated"])
def test_a_difference_in_games_of_a_busy_machine_is_told_with_its_likely_cause(busy):
    move_s, starved, fed = [2.0, 2.0], [1.0, 1.0], [0.0, 0.0]
    whole = {**dict.fromkeys(("index", "black", "winner", "seed"), 0), "termination": "five", "faulty": None, "detail": ""}
    whole |= {"moves": [[7, 7], [8, 8]], "move_s": move_s, "move_cpu_s": [1.0, 1.0], "names": ["a", "b"], "opening": None}
    whole |= {"size": 15, "swapped": False, "seconds": 4.0, "repeats": 0}
    verdicts = {
        name: Verdict(
            "minimax.win_rate",
            "partial",
            points,
            30.0,
            "Won some.",
            "4.4",
            evidence={"match": {"games": [{**whole, "withheld_s": starved if name == busy else fed}]}},
        )
        for name, points in (("recorded", 23.0), ("repeated", 25.0))
    }
    lines = replay.comparison(verdicts["recorded"], verdicts["repeated"])
    told = [line for line in lines if "busy machine" in line]
    assert len(told) == 1 and f"{busy} on a busy machine: Other programs withheld 50 % of the time in 1 of 1 games." in told[0]
    assert "repeat it on an idle machine" in told[0]


def test_the_moves_of_self_play_are_no_games_with_engines(load_module, monkeypatch, tmp_path):
    """bench/load.py reads the games of all verdicts; those of an earlier version lie beside the moves of self-play."""
    monkeypatch.syspath_prepend(ROOT / "bench")
    load = load_module(ROOT / "bench" / "load.py")
    evidence = {"games": [{"seed": 1, "moves": [4, 0]}]}
    verdict = Verdict("mcts_alphazero.temperature", "passed", 2.0, 2.0, "As expected.", "5.4", evidence=evidence)
    monkeypatch.setattr(load, "grade", lambda *_: SimpleNamespace(program=(verdict,)))
    (sample,) = load.load_samples(("variants",), ["reference"])
    judged, under = load.judge_submission(sample, "trust", tmp_path, find_sandbox(), 1)
    assert judged[verdict.id].outcome == ("passed", 2.0) and under.games == 0


@pytest.mark.parametrize("games", [[{"index": 3}], 150, ["x"], None])
def test_games_of_an_earlier_version_tell_nothing_of_the_machine(games):
    verdict = Verdict("training.never_loses", "passed", 5.0, 5.0, "As expected.", "5.5", evidence={"games": games})
    assert not any("busy" in line for line in replay.comparison(verdict, verdict))


def test_what_only_a_result_from_a_cluster_names_is_no_change_since_the_grading(assignment):
    sandbox, now = find_sandbox(), environment(assignment)
    there = {**now, "torch": "1.0", "node": "10.0.0.2", "speed": "0.97"}
    results = SimpleNamespace(environment=there, sandbox=sandbox.properties, grader=grader_digest(assignment))
    assert replay.differences(results, sandbox, assignment) == [f"torch 1.0, now {now['torch']}"]
