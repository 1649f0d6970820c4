"""The gradient of a step, a policy that begins sharpened, and how much of a value's error is chance; on NoGo 5x5."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from training.alphago.config import StagesConfig
from training.alphago.reinforce import Episodes, Reinforce
from training.alphago.value import error_floor
from training.inference.networks import new_model
from training.supervised.learning import save_checkpoint
from training.supervised.settings import CallError

CONFIG = Path(__file__).resolve().parents[2] / "training" / "configs" / "alphago_nogo_5.toml"


@pytest.fixture
def begin(tmp_path):
    """Begins a policy gradient from a policy that has learnt nothing, with some settings in place of those in the file."""
    torch.set_num_threads(1)
    config = StagesConfig.read(CONFIG)

    def begin(name="run", **settings):
        checkpoint = tmp_path / name / "supervised" / "checkpoint.pt"
        if not checkpoint.exists():
            checkpoint.parent.mkdir(parents=True)
            torch.manual_seed(1)
            save_checkpoint(checkpoint, {"model": new_model("pooled", config.rules, 1, 8).state_dict(), "samples": 0})
        small = {"games": 4, "check_games": 2, "match_games": 2, **settings}
        return Reinforce(replace(config, reinforce=replace(config.reinforce, **small)), tmp_path / name, torch.float32)

    return begin


def states_and_legal(training, count):
    boards = training.config.rules.batch(count)
    return boards.feature_planes(), boards.legal


def test_what_all_results_of_a_step_share_does_not_change_the_policy(begin):
    learnt = []
    for name, shift in (("one", 0.0), ("other", 0.5)):
        training = begin(name, learning_rate=1.0)
        results = np.array([0.5, -1.0, -1.0], dtype=np.float32) + np.float32(shift)
        training._ascend(Episodes(*states_and_legal(training, 3), np.array([6, 9, 7]), results, 0.5))
        learnt.append({name: weights.numpy() for name, weights in training.model.state_dict().items()})
    for name, weights in learnt[0].items():
        np.testing.assert_allclose(weights, learnt[1][name], atol=1e-5)
    before = training.supervised.state_dict()
    assert max(float(np.abs(learnt[0][name] - before[name].numpy()).max()) for name in before) > 0.01


def test_a_step_notes_the_length_of_its_gradient_and_the_entropy_over_legal_moves(begin):
    training = begin(max_gradient=1e-3)
    states, legal = states_and_legal(training, 2)
    legal[:, 5:] = False
    training._ascend(Episodes(states, legal, np.array([0, 1]), np.array([1.0, -1.0], dtype=np.float32), 0.5))
    (norm,), (entropy,) = training.gradient_norms, training.entropies
    assert norm > 1e-3, "it is that before clipping"
    probs = training._baseline(states[:1])[0][0, :5].astype(float)
    probs /= probs.sum()
    assert abs(entropy + (probs * np.log(probs)).sum()) < 1e-4


def test_a_sharpened_policy_begins_as_the_supervised_one_to_a_power(begin):
    training = begin(sharpness=2.0, steps=2, check_every=1, pool_every=10)
    states = torch.from_numpy(states_and_legal(training, 1)[0])
    with torch.no_grad():
        usual, sharp = (network(states)[0].exp().numpy() for network in (training.supervised.eval(), training.model))
    np.testing.assert_allclose(sharp, usual**2 / (usual**2).sum(), rtol=1e-4)
    assert np.ptp(sharp) > 1.5 * np.ptp(usual) > 0
    assert training._opponent(np.random.default_rng(1)) is training._first
    assert training._first.state_dict().keys() == training.supervised.state_dict().keys()
    training.run()
    assert [row["steps"] for row in training.rows] == [0, 1, 2]
    assert training.rows[0]["entropy"] == training.rows[0]["score_against_pool"] == ""
    assert all(row["entropy"] > 0 and row["gradient_norm"] > 0 for row in training.rows[1:])
    assert begin(sharpness=2.0, pool_every=10).rows == training.rows
    with pytest.raises(CallError, match=r"expected sharpness = 2\.0, as when the pool in .* was begun; got 1\.0"):
        begin(pool_every=10)


def test_without_sharpening_a_run_begins_as_before(begin):
    training = begin(steps=2, check_every=2)
    supervised, first = training.supervised.state_dict(), training._first.state_dict()
    assert all(torch.equal(supervised[name], first[name]) for name in supervised)
    training.run()
    assert [row["steps"] for row in training.rows] == [2]
    state = torch.load(training.folder / "checkpoint.pt", weights_only=True)
    earlier = {name: value for name, value in state.items() if name not in ("gradient_norms", "entropies")}
    del earlier["settings"]["sharpness"]
    save_checkpoint(training.folder / "checkpoint.pt", earlier)
    assert begin().steps == 2


def test_the_floor_of_the_value_error_is_the_chance_in_the_games_alone():
    rng = np.random.default_rng(1)
    expected = rng.uniform(-1, 1, size=20000)
    results = np.where(rng.random((4, 20000)) < (1 + expected) / 2, 1.0, -1.0)
    measured = error_floor(results, expected + 0.2)
    floor = float((1 - expected**2).mean())
    assert abs(measured["floor"] - floor) < measured["floor_error_95"] < 0.02
    assert abs(measured["network_above_floor"] - 0.04) < 0.01
    assert abs(measured["mean_above_floor"] - expected.var()) < 0.02
    assert error_floor(results[[0, 0]], results[0]) == {
        "floor": 0.0,
        "floor_error_95": 0.0,
        "network_above_floor": 0.0,
        "mean_above_floor": round(float(results[0].var()), 4),
    }
