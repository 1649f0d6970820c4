"""Supervised training and its export: it learns, goes on where it ended, deepens without a change, refuses in sentences."""

import ast
import csv
import errno
import hashlib
import json
import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from common.errors import UsageError
from common.locks import held_folder
from games.gomoku.rules import GomokuRules
from training import export
from training.supervised import learning as supervised
from training.supervised.dataset import GamesError
from training.supervised.learning import Training, deepened, make_model
from training.supervised.settings import CallError, SupervisedConfig

ROOT = Path(__file__).resolve().parents[2]
SIZE = 6
SETTINGS = {
    "size": SIZE,
    "depths": [[0, 1], [192, 2]],
    "samples": 320,
    "batch_size": 32,
    "learning_rate": 0.05,
    "weight_decay": 1e-4,
    "value_weight": 1.0,
    "td_lambda": 0.9,
    "score_scale": 400,
    "check_every": 128,
    "seed": 3,
}


def game(seed):
    """A game in which the best move is always where the last one lies, and the sign of the score says whose turn it is."""
    moves = random.Random(seed).sample(range(SIZE**2), 24)
    best = moves[:-1]
    scores = [800 if ply % 2 else -800 for ply in range(1, 24)]
    return {"seed": seed, "opening": 1, "winner": -1, "moves": moves, "best": best, "scores": scores, "random": list(range(24))}


@pytest.fixture
def games(tmp_path):
    path = tmp_path / "games.jsonl"
    lines = [{"size": SIZE, "first_seed": 1, "nodes": 1}, *map(game, range(1, 41))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.fixture
def train(reference, games, tmp_path):
    """Makes a training in a folder."""
    reference("policy_value_net_torch")
    torch.set_num_threads(1)

    def make(folder, **settings):
        (tmp_path / folder).mkdir(exist_ok=True)
        training = Training(SupervisedConfig(**{**SETTINGS, **settings}), [games], tmp_path / folder)
        training.dtype = torch.float32  # whichever is faster here would not be the same at every run
        return training

    return make


def rows(training):
    with open(training.run_folder / "metrics.csv", encoding="utf-8") as file:
        return [{name: number for name, number in row.items() if name != "cpu_s"} for row in csv.DictReader(file)]


def weights(training):
    return {name: tensor.clone() for name, tensor in training.model.state_dict().items()}


def assert_same(left, right):
    assert left.keys() == right.keys()
    for name in left:
        torch.testing.assert_close(left[name], right[name], rtol=0, atol=0)


def random_states(count=16):
    return (torch.rand(count, 9, SIZE, SIZE) < 0.3).float()


def test_it_learns_moves_and_values_that_can_be_learnt(train):
    training = train("run", samples=1600, check_every=1600, depths=[[0, 1]], learning_rate=0.1)
    before = training.evaluate()
    training.run()
    assert before["top_1"] < 0.2 and training.latest["top_1"] > 0.5
    assert training.latest["top_5"] >= training.latest["top_1"]
    assert training.latest["value_mse"] < 0.5 * before["value_mse"]
    assert training.latest["policy_loss"] < before["policy_loss"]


def test_a_training_that_was_killed_ends_as_one_that_was_not(train, monkeypatch):
    whole = train("whole")
    whole.run()
    killed = train("killed")
    real_save = killed.save
    monkeypatch.setattr(killed, "save", lambda: (real_save(), killed.samples > 150 and 1 / 0))
    monkeypatch.setattr(supervised, "SAVE_EVERY_S", 0.0)
    with pytest.raises(ZeroDivisionError):
        killed.run()
    again = train("killed")
    again.restore()
    assert again.samples == 160
    again.note({**dict.fromkeys(rows(killed)[0], 0), "samples": 300})  # what a kill between note and save leaves
    again.restore()
    again.run()
    assert_same(weights(again), weights(whole))
    assert [row["samples"] for row in rows(again)] == [row["samples"] for row in rows(whole)] == ["128", "256", "320"]
    assert rows(again)[-1] == rows(whole)[-1]


def test_a_training_that_goes_on_by_other_settings_says_so(train):
    training = train("run", depths=[[0, 1]])
    training.run()
    for samples in (384, 384):
        training = train("run", depths=[[0, 1]], samples=samples)
        training.restore()
    assert [(past["from_samples"], past["samples"]) for past in training.history] == [(0, 320), (320, 384)]
    training.run()
    assert training.samples == 384
    training.config = SupervisedConfig(**{**SETTINGS, "size": 7})
    with pytest.raises(CallError, match="expected a training run on 7x7"):
        training.restore()
    training.config = SupervisedConfig(**{**SETTINGS, "game": "nogo", "network": "residual"})
    with pytest.raises(CallError, match="expected a training run with game = nogo"):
        training.restore()


def test_a_training_that_goes_on_with_another_weight_decay_uses_it(train):
    training = train("run", depths=[[0, 1]], samples=64)
    training.run()
    again = train("run", depths=[[0, 1]], samples=128, weight_decay=0.5)
    again.restore()
    assert [group["weight_decay"] for group in again.optimizer.param_groups] == [0.5, 0.0]


def test_a_training_recorded_under_old_names_of_settings_goes_on(train):
    training = train("run", depths=[[0, 1]])
    training.run()
    state = supervised.load_checkpoint(training.checkpoint)
    state["history"][0]["learn_rate"] = state["history"][0].pop("learning_rate")
    for name in supervised.DEFAULTS:  # younger than the run
        del state["history"][0][name]
    supervised.save_checkpoint(training.checkpoint, state)
    again = train("run", depths=[[0, 1]])
    again.restore()
    assert again.history == training.history


def test_ctrl_c_saves_and_resume_ends_the_training(train, games, tmp_path, monkeypatch, capsys):
    train("unused")
    config = tmp_path / "config.toml"
    config.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()))
    call = [str(config), "--games", games, "--run", str(tmp_path / "run")]
    step = Training.step

    def interrupted(self):
        if self.steps == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(Training, "step", interrupted)
    assert supervised.main(call) == 130
    assert "Interrupted after 96 samples" in capsys.readouterr().err
    assert supervised.main(call) == 2
    assert "without --resume" in capsys.readouterr().err
    monkeypatch.setattr(Training, "step", step)
    assert supervised.main([*call, "--resume"]) == 0
    assert supervised.load_checkpoint(tmp_path / "run" / "checkpoint.pt")["samples"] == 320
    assert supervised.main([*call[:-1], str(tmp_path / "other"), "--resume"]) == 2
    assert "expected a checkpoint at" in capsys.readouterr().err


def test_a_training_that_diverges_stops_and_its_checkpoint_stays_as_it_was(train, monkeypatch):
    training = train("run", depths=[[0, 1]])
    training.step()
    training.save()
    before = training.checkpoint.read_bytes()
    monkeypatch.setattr(Training, "learning_rate", lambda self: 1e30)
    with pytest.raises(UsageError) as told:
        training.run()
    assert str(told.value).startswith("expected finite weights after 64 samples; training has diverged")
    assert f"in {training.checkpoint}: go on with a smaller learning_rate in the settings" in str(told.value)
    assert training.checkpoint.read_bytes() == before


@pytest.mark.parametrize(("in_bfloat16", "faster"), [(0.5, torch.bfloat16), (2.0, torch.float32)])
def test_steps_are_made_in_the_faster_type(train, games, tmp_path, monkeypatch, in_bfloat16, faster):
    def time(step, clock, other=None):
        step()
        return 1.0 if other is None else in_bfloat16

    monkeypatch.setattr(supervised, "shortest_time", time)
    assert Training(SupervisedConfig(**SETTINGS), [games], tmp_path / "run").faster_dtype() is faster


def test_a_training_goes_on_in_the_type_that_was_faster_when_it_began(train, games, tmp_path, monkeypatch):
    train("run")
    config = SupervisedConfig(**SETTINGS)
    monkeypatch.setattr(Training, "faster_dtype", lambda self: torch.bfloat16)
    begun = Training(config, [games], tmp_path / "run")
    begun.step()
    begun.save()
    monkeypatch.setattr(Training, "faster_dtype", lambda self: torch.float32)
    again = Training(config, [games], tmp_path / "run")
    again.restore()
    assert again.dtype is torch.bfloat16
    state = supervised.load_checkpoint(again.checkpoint)
    del state["dtype"]  # as in the checkpoints of earlier versions
    supervised.save_checkpoint(again.checkpoint, state)
    again = Training(config, [games], tmp_path / "run")
    again.restore()
    assert again.dtype is torch.float32


def test_ctrl_c_during_an_evaluation_loses_no_row(train, monkeypatch):
    training = train("run", depths=[[0, 1]])
    evaluate = Training.evaluate

    def pressed(self):
        signal.getsignal(signal.SIGINT)(signal.SIGINT, None)  # a real signal that came too late would end the tests
        return evaluate(self)

    monkeypatch.setattr(Training, "evaluate", pressed)
    for samples in ("128", "256", "320"):
        with pytest.raises(KeyboardInterrupt):
            training.run()
        training.save()
        assert rows(training)[-1]["samples"] == samples
        training = train("run", depths=[[0, 1]])
        training.restore()


def test_two_processes_do_not_train_in_one_folder(train, games, tmp_path, capsys):
    train("run")
    config = tmp_path / "config.toml"
    config.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()))
    with held_folder(tmp_path / "run", by="training"):
        assert supervised.main([str(config), "--games", games, "--run", str(tmp_path / "run")]) == 2
    assert "another training (process" in capsys.readouterr().err
    assert not (tmp_path / "run" / "checkpoint.pt").exists()


def test_checkpoints_and_folders_that_cannot_be_used_are_refused(train, games, tmp_path, capsys):
    training = train("run", depths=[[0, 2]], samples=32)
    training.run()
    with pytest.raises(CallError, match=r"expected depths of at least the 2 blocks of .*; got 1"):
        train("run", depths=[[0, 1]], samples=64).restore()
    supervised.save_checkpoint(training.checkpoint, {"model": {}, "samples": "elsewhere"})
    with pytest.raises(CallError, match="it is of another program"):
        training.restore()
    assert export.main([str(tmp_path / "run"), str(tmp_path / "x.pt"), "--games", games, "--engine", "x"]) == 2
    assert "it is of another program" in capsys.readouterr().err
    training.checkpoint.write_bytes(b"damaged")
    with pytest.raises(CallError, match="the file is damaged or holds other data"):
        training.restore()
    config, file = tmp_path / "config.toml", tmp_path / "file"
    config.write_text("".join(f"{name} = {value}\n" for name, value in SETTINGS.items()))
    file.touch()
    assert supervised.main([str(config), "--games", games, "--run", str(file)]) == 2
    assert "cannot be used: File exists" in capsys.readouterr().err


def test_weights_from_anywhere_are_measured_on_the_games_held_back(train, games, tmp_path, capsys):
    training = train("a")
    training.run()
    weights, config = tmp_path / "weights.pt", tmp_path / "config.toml"
    export.export_supervised(tmp_path / "a", weights, [games], "abc", blocks=4)
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in SETTINGS.items()))
    call = [str(config), "--games", games, "--evaluate"]
    assert supervised.main([*call, str(weights)]) == 0
    measured = ast.literal_eval(capsys.readouterr().out.splitlines()[-1])
    assert measured == pytest.approx(training.latest, abs=0.02)  # one of the two may be in bfloat16
    config.write_text(config.read_text().replace("size = 6\n", "size = 7\n", 1))
    assert supervised.main([*call, str(weights)]) == 2
    assert "expected weights for the board 7x7; those" in capsys.readouterr().err
    assert supervised.main([*call, str(tmp_path / "none.pt")]) == 2
    assert "expected weights at" in capsys.readouterr().err


def test_a_manifest_that_cannot_be_written_leaves_the_earlier_one(tmp_path, monkeypatch):
    path = tmp_path / "weights.json"
    export.write_manifest(path, {"sha256": "a", "strength": ["measured by hand"]})
    before = path.read_bytes()

    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", no_room)
    with pytest.raises(OSError, match="No space left"):
        export.write_manifest(path, {"sha256": "b", "strength": []})
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["weights.json"]


def test_deepening_changes_no_output(train):
    training = train("run", depths=[[0, 2]])
    training.run()
    training.model.eval()
    states = random_states()
    deeper = deepened(training.model, GomokuRules(SIZE, SIZE), 5, seed=8).eval()
    assert len(deeper.resnet) == 5
    for before, after in zip(training.model(states), deeper(states), strict=True):
        torch.testing.assert_close(before, after)


def test_the_policy_begins_by_treating_all_points_alike(train):
    """A state moved by a point moves the policy with it."""
    train("run")
    model = make_model(GomokuRules(SIZE, SIZE), 1, seed=1).eval()
    states = torch.zeros(1, 9, SIZE, SIZE)
    states[0, :, 2, 1] = 1.0
    with torch.no_grad():
        logs = [model(torch.roll(states, (down, right), (2, 3))) for down, right in ((0, 0), (1, 2))]
    pictures = [log_probs.reshape(SIZE, SIZE).flip(0) for log_probs, _ in logs]
    torch.testing.assert_close(torch.roll(pictures[0], (1, 2), (0, 1)), pictures[1])
    assert pictures[0].std() > 0


def test_the_learning_rate_warms_up_and_falls_to_nothing(train):
    training = train("run")
    rates = []
    for samples, steps in ((0, 0), (0, 99), (160, 300), (320, 300)):
        training.samples, training.steps = samples, steps
        rates.append(training.learning_rate())
    assert rates == pytest.approx([0.05 / 100, 0.05, 0.025, 0.0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("size = ", "expected a configuration in"),
        ("size = 6\nbloks = 3\n", "differing: .*bloks"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "depths": [[0, 3], [9, 2]]}.items()), "depths that start at 0"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "network": "'plain'"}.items()), "a network of course or residual"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "game": "'nogo'"}.items()), 'network = "residual" or "pooled" in '),
        (
            "".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "network": "'residual'", "depths": [[0, 0]]}.items()),
            "depths of at least 1 block",
        ),
        (
            "".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "batch_size": 0}.items()),
            "batch_size = a whole number",
        ),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "samples": "'many'"}.items()), "whole number of at least 1 .*'many'"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "score_scale": 0}.items()), "score_scale = a number above 0"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "td_lambda": 2}.items()), "td_lambda from 0 to 1"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "depths": []}.items()), "depths = a list of at least one element"),
        ("".join(f"{n} = {v}\n" for n, v in {**SETTINGS, "depths": [[0]]}.items()), r"depths as pairs .*; got \[\[0\]\]"),
    ],
)
def test_a_configuration_that_is_none_is_refused(tmp_path, text, words):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(CallError, match=words):
        SupervisedConfig.read(str(path))


def test_games_that_hold_back_nothing_new_are_refused(tmp_path):
    path = tmp_path / "twice.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in ({"size": SIZE}, game(1), {**game(1), "seed": 20})))
    with pytest.raises(GamesError, match="expected a held-back position that the training part lacks"):
        Training(SupervisedConfig(**SETTINGS), [str(path)], tmp_path)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([[1]], r"a line holds \[1\]"),
        ([{"size": SIZE}, {"seed": 1, "moves": []}], "expected best, opening, random, scores, winner in each game"),
        ([{"size": SIZE}, {**game(1), "best": []}, game(20)], "expected positions with a best move to learn from"),
    ],
)
def test_files_of_something_else_than_games_are_refused(tmp_path, lines, words):
    path = tmp_path / "games.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(GamesError, match=words):
        Training(SupervisedConfig(**SETTINGS), [str(path)], tmp_path)


def test_the_configurations_that_are_shipped_can_be_read():
    for size in (11, 15):
        config = SupervisedConfig.read(str(ROOT / f"training/configs/sl_{size}.toml"))
        assert config.size == size and config.blocks_at(config.samples) <= 19
        assert np.isfinite(config.learning_rate)


# ------------------------------------------------------------------------------------------------------- export


def test_exported_weights_answer_as_the_trained_network(train, games, reference, tmp_path):
    training = train("run")
    training.run()
    path = tmp_path / "model" / "6_6_5.pt"
    assert export.main([str(training.run_folder), str(path), "--games", games, "--engine", "abc1234", "--blocks", "4"]) == 0
    network = reference("policy_value_net_torch").PolicyValueNet(SIZE, SIZE, 4)
    state = torch.load(path, weights_only=True)
    assert all(tensor.dtype in (torch.float32, torch.int64) for tensor in state.values())
    network.model.load_state_dict(state, strict=True)
    training.model.eval()
    states = random_states()
    for trained, exported in zip(training.model(states), network.model.eval()(states), strict=True):
        torch.testing.assert_close(trained, exported)
    manifest = json.loads(path.with_suffix(".json").read_text())
    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert manifest["board"] == [SIZE, SIZE, 5] and manifest["samples"] == 320
    assert manifest["configurations"] == [{"from_samples": 0, **SETTINGS, **supervised.DEFAULTS}]
    assert (manifest["blocks"], manifest["blocks_trained"]) == (4, 2)
    played = {"size": SIZE, "first_seed": 1, "nodes": 1, "games": 40, "positions": 40 * 23}
    played["results"] = {"black": 0, "white": 0, "drawn": 40}
    assert manifest["teacher"] == {"engine": "abc1234", "games": [played]}
    assert manifest["held_back"] == {name: round(number, 4) for name, number in training.latest.items()}


def test_the_teachers_results_are_counted_by_colour(tmp_path):
    path = tmp_path / "games.jsonl"
    lines = [{"size": SIZE}, *({**game(seed), "winner": winner} for seed, winner in enumerate((0, 1, 0, -1, 0, 1)))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    results = {"black": 3, "white": 2, "drawn": 1}
    assert export.games_summary(str(path)) == {"size": SIZE, "games": 6, "positions": 6 * 23, "results": results}


def test_games_entered_in_a_manifest_stay_with_the_weights_they_were_played_with(train, games, tmp_path):
    training = train("run", depths=[[0, 1]], samples=64)
    training.run()
    path = tmp_path / "6_6_5.pt"
    call = [str(training.run_folder), str(path), "--games", games, "--engine", "abc1234"]
    assert export.main(call) == 0
    manifest = json.loads(path.with_suffix(".json").read_text())
    manifest["strength"] = [{"opponent": "sample", "games": 2, "won": 2}]
    path.with_suffix(".json").write_text(json.dumps(manifest))
    assert export.main(call) == 0
    assert json.loads(path.with_suffix(".json").read_text())["strength"] == manifest["strength"]
    training.step()
    training.save()
    assert export.main(call) == 0
    assert json.loads(path.with_suffix(".json").read_text())["strength"] == []


def test_what_cannot_be_exported_is_told(train, games, tmp_path, capsys):
    training = train("run", samples=64, depths=[[0, 2]])
    assert export.main([str(training.run_folder), str(tmp_path / "x.pt"), "--games", games, "--engine", "x"]) == 2
    assert "expected a checkpoint at" in capsys.readouterr().err
    training.run()
    call = [str(training.run_folder), str(tmp_path / "x.pt"), "--games", games, "--engine", "x", "--blocks", "1"]
    assert export.main(call) == 2
    assert "expected --blocks of at least 2" in capsys.readouterr().err
    assert not (tmp_path / "x.pt").exists()
