"""What train.py does around the algorithm: resuming after a kill, which network stays, the estimate, the curves, the calls."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import torch

from common.errors import UsageError
from grader.judge.support.drawn_weights import random_weights
from training.loop.curves import COLUMNS, LearningCurves, picture_of
from training.loop.estimate import TICTACTOE_ENDS, Ends, Span, ends_of, span_in_words
from training.loop.following import RunClock
from training.loop.kept_networks import BestNetwork, Strength, known
from training.loop.state import read_state, restore, state_of, write_state
from training.loop.verifying import Measurement

ROOT = Path(__file__).resolve().parents[2]
STATE = Path("tmp/training_state.pt")
# Saves the state after each game at which that is possible.
SAVE_OFTEN = """
import runpy, sys
import training.loop.following as following
following.SAVE_EVERY_S, following.SAVING_SHARE = 0.0, 1e9
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def start(workspace, folder, *arguments):
    """Start train.py in a folder, saving its state often."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-c", SAVE_OFTEN, workspace / "train.py", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(workspace)}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Wait for a program and return (exit code, stdout, stderr)."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def results(folder):
    return {name: (folder / name).read_bytes() for name in ("tmp/training.csv",)} | {
        path.name: {key: tensor.numpy().tobytes() for key, tensor in torch.load(path, weights_only=True).items()}
        for path in [folder / "tmp/current_policy.model", *(folder / "model").glob("*.model")]
    }


# ------------------------------------------------------------------------------------------------------- resuming


def test_a_run_that_was_killed_and_resumed_gives_the_same_networks_and_curves(workspace, call, tmp_path):
    arguments = ("--games", 6, "--seed", 3)
    assert call("train.py", *arguments)[0] == 0
    folder, kills, seen = tmp_path / "killed", 0, -1
    process = start(workspace, folder, *arguments)
    while process.poll() is None:
        try:
            games = read_state(folder / STATE, plain_values_only=True)["counters"]["games_played"]
        except UsageError:
            games = -1
        if kills < 1 and games > max(seen, 0):
            process.kill()
            process.communicate()
            kills, seen = kills + 1, games
            process = start(workspace, folder, "--resume")
        time.sleep(0.02)
    code, out, err = finish(process)
    assert (code, err, kills) == (0, "", 1) and f"continued after {seen} games" in out
    assert results(folder) == results(tmp_path)


def test_the_state_holds_the_samples_the_optimiser_and_the_random_generators(run_file, tmp_path):
    make = run_file("train.py")["TrainPipeline"]
    pipeline = make()
    pipeline.n_playout, pipeline.batch_size = 5, 16
    for _ in range(5):
        pipeline.step()
    write_state(tmp_path / "state.pt", state_of(pipeline, {"preset": "tictactoe"}))
    drawn = random.random(), np.random.random(), torch.rand(1).item()
    again = make()
    assert restore(again, read_state(tmp_path / "state.pt")) == []
    assert (random.random(), np.random.random(), torch.rand(1).item()) == drawn
    assert again.games_played == 5 and again.n_playout == 5 and len(again.data_buffer) == len(pipeline.data_buffer)
    for sample, copy in zip(pipeline.data_buffer, again.data_buffer, strict=True):
        assert all(
            np.array_equal(one, other) and np.asarray(one).dtype == np.asarray(other).dtype
            for one, other in zip(sample, copy, strict=True)
        )
    moments = [net.optimizer.state_dict()["state"][0]["exp_avg"] for net in (pipeline.policy_value_net, again.policy_value_net)]
    assert torch.equal(*moments) and moments[0].any()


def test_an_optimiser_without_a_state_is_named_and_the_rest_is_restored(run_file, tmp_path):
    make = run_file("train.py")["TrainPipeline"]
    pipeline, again = make(), make()
    del pipeline.policy_value_net.optimizer
    write_state(tmp_path / "state.pt", state_of(pipeline, {}))
    (sentence,) = restore(again, read_state(tmp_path / "state.pt"))
    assert "PolicyValueNet.optimizer" in sentence and "starts again from nothing" in sentence


@pytest.mark.parametrize(
    ("content", "words"), [(None, "no file is there"), (b"text", "it holds something else"), (b"PK\3\4", "something else")]
)
def test_a_missing_or_damaged_state_gets_one_sentence(refusal, tmp_path, content, words):
    (tmp_path / "tmp").mkdir()
    if content is not None:
        (tmp_path / STATE).write_bytes(content)
    assert words in refusal("train.py", "--resume") and "start without --resume" in refusal("train.py", "--resume")


def test_ctrl_c_names_the_games_after_which_resuming_continues(run_file, tmp_path, capsys):
    pipeline = run_file("train.py")["TrainPipeline"]()

    def step():
        pipeline.games_played += 1
        if pipeline.games_played == 7:  # states are saved after each fifth game
            raise KeyboardInterrupt

    pipeline.step = step
    pipeline.run()
    assert pipeline.about.was_interrupted  # and so train.py ends with 130
    saved = read_state(tmp_path / STATE, plain_values_only=True)["counters"]["games_played"]
    assert f"Interrupted after 7 games; the saved state is the one after {saved} games.\n" in capsys.readouterr().err


def test_a_run_at_its_end_is_resumed_only_with_more_games(call, refusal):
    assert call("train.py", "--games", 2, "--seed", 1)[0] == 0
    more = "this one has played 2 games, and {} are planned: give a larger number of --games"
    assert more.format(2) in refusal("train.py", "--resume")
    assert more.format(1) in refusal("train.py", "--resume", "--games", "1")
    code, out, _ = call("train.py", "--resume", "--games", 3)
    assert code == 0 and "Seed 1, 3 games of tictactoe, continued after 2 games" in out


def test_an_unfinished_run_is_put_aside_by_the_next_and_can_still_be_resumed(run_file, tmp_path, capsys):
    make = run_file("train.py")["TrainPipeline"]
    earlier = make()
    (tmp_path / "tmp").mkdir()
    write_state(
        tmp_path / STATE, {**state_of(earlier, {"preset": "tictactoe", "is_over": False}), "counters": {"games_played": 60}}
    )
    new = make()
    new.game_batch_num = 0
    new.run()
    assert "The earlier run (tictactoe, 60 games) is kept in tmp/earlier_1" in capsys.readouterr().out
    assert read_state(tmp_path / "tmp/earlier_1/training_state.pt")["counters"]["games_played"] == 60


def test_a_damaged_state_and_the_network_of_another_board_are_put_aside_too(call, tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / STATE).write_text("junk")
    code, out, err = call("train.py", "--games", 1)
    assert (code, err) == (0, "") and "which is not the state of a run, is kept in tmp/earlier_1." in out
    (tmp_path / STATE).unlink()
    weights = random_weights(4, 4, 1, seed=1)
    torch.save({key: torch.as_tensor(value) for key, value in weights.items()}, tmp_path / "tmp/current_policy.model")
    assert (
        "The network of another board in tmp/current_policy.model is kept in tmp/earlier_2."
        in call("train.py", "--games", 1)[1]
    )
    assert (tmp_path / "tmp/earlier_1/training_state.pt").read_text() == "junk"
    assert (tmp_path / "tmp/earlier_2/current_policy.model").is_file()
    assert "earlier" not in call("train.py", "--games", 1)[1]


@pytest.mark.parametrize("folder", ["tmp", "model"])
def test_a_file_in_place_of_a_folder_is_refused_in_one_line(call, tmp_path, folder):
    (tmp_path / folder).write_text("")
    code, _, err = call("train.py", "--games", 1)
    assert code == 2 and err.startswith(f"train.py: expected a folder {tmp_path / folder} that can be written; ")
    assert err.count("\n") == 1


def test_a_second_training_in_the_same_folder_is_refused(workspace, tmp_path, call):
    process = start(workspace, tmp_path, "--seed", 1)
    while not (tmp_path / STATE).exists() and process.poll() is None:
        time.sleep(0.05)
    try:
        code, _, err = call("train.py", "--games", 1)
        assert code == 2 and err.startswith("train.py: expected no other training in") and err.count("\n") == 1
    finally:
        process.kill()
        process.communicate()


# ------------------------------------------------------------------------------------------------- the best network


def strength(**changes):
    values = {"board": (3, 3, 3), "games": 50, "passed": 2, "losing_lines": 4, "verified": False, "win_ratio": 0.5}
    return Strength(**{**values, "opponent_playouts": 25, **changes})


def saved(tmp_path, run, content, force=False, **changes):
    """Save a network of a run and return where it is."""
    best = BestNetwork(str(tmp_path / "best.model"), run)
    best.force = force
    best.save(lambda path: Path(path).write_text(content), strength(**changes))
    return Path(best.saved_in).name


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verified": True, "passed": 8, "losing_lines": 0}, "is a verified network"),
        ({"board": (4, 4, 3)}, "is a network for 4x4, 3 in a row"),
        ({"passed": 3}, "is at least as good"),
        ({}, "is at least as good"),
        ({"losing_lines": 3}, "is at least as good"),
    ],
)
def test_a_verified_or_better_network_and_one_of_another_board_stay_unless_forced(tmp_path, changes, reason):
    saved(tmp_path, "first", "old", **changes)
    assert saved(tmp_path, "second", "new") == "best.1.model"
    assert BestNetwork(str(tmp_path / "best.model"), "second").reason_to_stay((3, 3, 3), strength()) == reason
    assert ((tmp_path / "best.model").read_text(), (tmp_path / "best.1.model").read_text()) == ("old", "new")
    assert saved(tmp_path, "third", "forced", force=True) == "best.model"
    assert (tmp_path / "best.model").read_text() == "forced"


def test_a_network_of_unknown_strength_stays(tmp_path):
    (tmp_path / "best.model").write_text("who knows")
    assert saved(tmp_path, "second", "new", verified=True) == "best.1.model"
    saved(tmp_path, "third", "x", force=True)
    (tmp_path / "best.model").write_text("changed since")
    assert known(tmp_path / "best.model").strength is None and saved(tmp_path, "fourth", "new", verified=True) == "best.2.model"


def test_a_worse_network_makes_room_and_is_kept(tmp_path):
    saved(tmp_path, "first", "old")
    best = BestNetwork(str(tmp_path / "best.model"), "second")
    for passed, place in ((1, "best.1.model"), (4, "best.model"), (5, "best.model")):
        best.save(lambda path, passed=passed: Path(path).write_text(f"new {passed}"), strength(passed=passed))
        assert Path(best.saved_in).name == place
    files = {path.name: path.read_text() for path in tmp_path.glob("*.model")}
    assert files == {"best.model": "new 5", "best.2.model": "old"}
    assert known(tmp_path / "best.2.model").run == "first"


@pytest.mark.parametrize("written", ["", "par"])
def test_a_run_that_was_killed_while_it_saved_its_network_goes_on_in_the_same_file(tmp_path, written):
    def killed(path):
        Path(path).write_text(written)
        raise SystemExit

    saved(tmp_path, "first", "old")
    path = str(tmp_path / "best.model")
    with pytest.raises(SystemExit):
        BestNetwork(path, "first").save(killed, strength(passed=3))
    other = BestNetwork(path, "second")
    assert other.reason_to_stay((3, 3, 3), strength(passed=8)) == "is a network of unknown strength"
    again = BestNetwork(path, "second")
    again.continue_run("first", path)
    again.save(lambda path: Path(path).write_text("new"), strength(passed=3))
    assert again.saved_in == path and Path(path).read_text() == "new" and known(Path(path)).run == "first"
    assert [file.name for file in tmp_path.glob("*.model")] == ["best.model"]


@pytest.mark.parametrize(
    ("where", "step", "name"), [(os, "replace", "best.model"), (Path, "unlink", "best.toml")], ids=["before", "after"]
)
def test_a_network_that_makes_room_keeps_its_text_through_a_kill(tmp_path, monkeypatch, where, step, name):
    done = getattr(where, step)

    def killed(path, *more, **named):
        if Path(path).name == name:
            raise SystemExit
        return done(path, *more, **named)

    saved(tmp_path, "first", "old")
    with monkeypatch.context() as patch:
        patch.setattr(where, step, killed)
        with pytest.raises(SystemExit):
            saved(tmp_path, "second", "new", passed=8)
    place = tmp_path / ("best.model" if step == "replace" else "best.1.model")
    assert place.read_text() == "old" and known(place).run == "first"
    assert saved(tmp_path, "second", "new", passed=8) == "best.model"
    assert known(tmp_path / "best.1.model").run == "first" and known(tmp_path / "best.model").run == "second"


# ---------------------------------------------------------------------------------------- the estimate and the curves


NO_LOOK = Span(0.0, 0.0, 0.0)


def test_the_estimate_counts_down_to_the_ends_of_other_seeds_and_their_last_look():
    ends = Ends((200, 400), 2000, 50, Span(80.0, 100.0, 150.0))
    assert [ends.remaining_games(played) for played in (0, 150, 200)] == [(280, 400, 550), (130, 250, 400), (80, 200, 350)]
    assert ends.remaining_games(201) == (279, 299, 349) and ends.remaining_games(400) == (80, 100, 150)
    assert ends.remaining_games(401) == (129, 149, 199)  # longer than any other run: perhaps the next look
    many = Ends((100, 200, 300, 400, 1000), 2000, 50, NO_LOOK)
    assert many.remaining_games(0) == (200, 300, 400), "the span leaves out the shortest and the longest run"
    assert many.remaining_games(100) == (100, 200, 300) and many.remaining_games(301) == (99, 399, 699)
    assert Ends((), 100, 50, NO_LOOK).remaining_games(30).expected == 70
    assert Ends((200,), 100, 50, Span(99.0, 99.0, 99.0)).remaining_games(30).expected == 70


def test_the_usual_numbers_of_games_are_those_of_the_records():
    record = json.loads((Path(__file__).parents[2] / "bench/records/train_3x3.json").read_text(encoding="utf-8"))
    plain = [
        row["games"] for row in record["rows"] if row.keys() == {"submission", "seed", "games", "training_cpu_s", "exact_cpu_s"}
    ]
    assert list(TICTACTOE_ENDS[: len(plain)]) == plain and len(plain) == 8
    assert ends_of("tictactoe", 2000, 50, stops_when_verified=True).in_words == "usually 200 to 400"
    assert ends_of("tictactoe", 100, 50, stops_when_verified=True).in_words == "at most 100"


def test_the_clock_counts_the_time_of_a_look_as_done(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("training.loop.following.time.monotonic", lambda: now[0])
    clock, ends = RunClock(0), Ends((20,), 100, 10, Span(30.0, 30.0, 30.0))
    assert clock.remaining(ends) is None
    for games in range(1, 11):
        now[0] += 60.0 if games == 1 else 2.0  # the first game is slow, as torch is, and does not count
        clock.played(games)
    assert clock.remaining(ends) == ((80.0, 80.0, 80.0), 0.2)
    now[0] += 40.0
    assert clock.remaining(ends) == ((40.0, 40.0, 40.0), 10 / 30)
    clock.measured()
    assert clock.remaining(ends).seconds.expected == 80.0
    now[0] += 1000.0
    assert clock.remaining(ends).seconds == (0, 0, 0), "what takes longer than all runs before is never negative"


def test_spans_are_rounded_in_one_unit_so_that_they_do_not_tremble():
    assert [span_in_words(Span(s, s, s)) for s in (3, 44, 54, 61, 5999, 6000, 5 * 86400)] == [
        "10 s", "40 s", "50 s", "1 min", "100 min", "2 h", "5 days"
    ]  # fmt: skip
    assert [span_in_words(Span(*s)) for s in ((12, 20, 38), (20, 90, 130), (110, 115, 120))] == ["10-40 s", "1-2 min", "2 min"]


def test_the_picture_is_a_wellformed_svg_with_each_curve_and_the_title_escaped(tmp_path):
    curves = LearningCurves(tmp_path / "t.csv", tmp_path / "t.svg")
    curves.draw("nothing yet")
    assert not (tmp_path / "t.svg").exists()
    for games in range(1, 61):
        measured = Measurement(0.5, 12, 100) if games % 20 == 0 else None
        curves.add(games, (3.0 - games / 60, 2.0), 25, measured)
    curves.add(61, None, 25, None)
    curves.draw("seed <1> & co")
    root = ElementTree.fromstring((tmp_path / "t.svg").read_text())
    tags = [element.tag.split("}")[1] for element in root.iter()]
    assert tags.count("polyline") == 4 and tags.count("circle") == 3
    assert [text for text in root.itertext() if "seed <1> & co" in text]
    rows = list(csv.reader((tmp_path / "t.csv").read_text().splitlines()))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 61
    assert LearningCurves(tmp_path / "u.csv", tmp_path / "u.svg", curves.rows[:20]).rows == curves.rows[:20]
    assert len((tmp_path / "u.csv").read_text().splitlines()) == 21
    assert "nan" not in picture_of([("1", "0", "0", "25", "", "", "")], "zeros")


@pytest.mark.parametrize(
    ("entropies", "curves"),
    [(("nan", "2.0", "1.5"), 4), (("inf", "2.0", "-inf"), 4), (("nan", "nan", "nan"), 2), (("-2.0", "-1.5", "-1.0"), 2)],
)
def test_a_wrong_entropy_leaves_the_rest_of_the_picture(entropies, curves):
    rows = [(str(50 * number), "2.5", entropy, "25", "", "", "") for number, entropy in enumerate(entropies, start=1)]
    drawn = picture_of(rows, "title")
    tags = [element.tag.split("}")[1] for element in ElementTree.fromstring(drawn).iter()]
    assert tags.count("polyline") == curves and "nan" not in drawn and "inf" not in drawn
    ElementTree.fromstring(picture_of([("50", "inf", "nan", "25", "", "", "")], "nothing to draw"))


# --------------------------------------------------------------------------------------------------- calls


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--seed", "-1"], "expected --seed from 0 to 4294967295; got -1"),
        (["--seed", "4294967296"], "got 4294967296"),
        (["--resume", "--seed", "1"], "expected no --seed with --resume"),
        (["--resume", "--init-model", "x"], "expected no --init-model with --resume"),
        (["--resume", "--preset", "gomoku_11"], "expected no --preset with --resume"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(call, arguments, words):
    code, out, err = call("train.py", *arguments)
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize("where", ["AlphaZero", ".."])
def test_training_in_a_folder_above_or_below_train_py_is_refused(workspace, where):
    folder = workspace / where
    before = sorted(os.listdir(folder))
    done = subprocess.run([sys.executable, workspace / "train.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"train.py: expected to be started in {workspace}") and f"cd {workspace}" in done.stderr
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("program", "library"),
    [
        (["train.py"], "torch"),
        (["-m", "training.losing_lines", "nothing.model"], "torch"),
        (["human_play.py"], "numpy"),
        (["-m", "training.look"], "numpy"),
        (["-m", "grader", "check"], "numpy"),
    ],
    ids=lambda value: "",
)
def test_ctrl_c_while_a_library_is_imported_gets_one_sentence(workspace, tmp_path, program, library):
    # A module that takes the place of the library, and says when it is being imported.
    (tmp_path / f"{library}.py").write_text("import time; print('importing', flush=True); time.sleep(60)\n")
    (tmp_path / "nothing.model").write_text("x")
    arguments = [str(workspace / part) if part.endswith(".py") else part for part in program]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{workspace}:{ROOT}"}
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code == 130 and err.strip() in ("Interrupted before the first game.", "Interrupted.")


@pytest.mark.parametrize("program", [["train.py"], ["-m", "training.losing_lines", "x"]])
def test_outside_the_environment_one_sentence_names_the_packages(workspace, tmp_path, program):
    # -S leaves out the folder of installed packages, as a Python outside the environment does.
    command = [sys.executable, "-S", *program]
    done = subprocess.run(command, cwd=workspace, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert "numpy, torch" in done.stderr and "source .venv/bin/activate" in done.stderr


def test_a_state_named_by_its_absolute_path_is_not_put_aside(call, tmp_path, monkeypatch):
    monkeypatch.setattr("training.loop.earlier.WORTH_KEEPING_GAMES", 1)
    assert call("train.py", "--games", 1, "--seed", 1)[0] == 0
    state = read_state(tmp_path / STATE)
    state["about_run"]["is_over"] = False
    write_state(tmp_path / STATE, state)
    code, out, err = call("train.py", "--resume", tmp_path / STATE, "--games", 2)
    assert (code, err) == (0, "") and "earlier" not in out and not (tmp_path / "tmp/earlier_1").exists()


def test_a_fast_run_says_how_it_goes_on_and_that_it_does_not_without_the_option(call):
    _, out, _ = call("train.py", "--games", 1, "--seed", 1, "--fast")
    assert "To continue with more games: python train.py --resume --fast --games 2" in out
    code, out, err = call("train.py", "--resume", "--games", 2)
    assert (code, err) == (0, "") and "The run was begun with --fast; from now on your own search plays" in out
    assert "python train.py --resume --games 4" in out


def test_a_run_is_not_resumed_on_another_board(run_file, tmp_path):
    module = run_file("train.py")
    make, settings = module["TrainPipeline"], module["PRESETS"]["tictactoe"]
    path = tmp_path / "state.pt"
    write_state(path, state_of(make(), {"preset": "tictactoe", "is_over": False}))
    settings.n_in_row = 2
    with pytest.raises(UsageError, match="expected the board with which the run began, 3x3 with 3 in a row"):
        restore(make(), read_state(path))
