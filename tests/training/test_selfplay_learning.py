"""How a run of self-play learns: its learning rate, its optimiser over a restart, and the networks that its workers use."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import torch
from selfplay_run_tools import arguments, games_of, resumed, state_of
from torch.nn import functional as F

from games.catalog import rules_of
from games.nogo.rules import NoGoRules
from training.inference.evaluators import InferenceNetwork
from training.inference.networks import GameNetwork, new_model
from training.selfplay import learner, workers
from training.selfplay.presets import RUN_PRESETS
from training.selfplay.worker_networks import to_bytes
from training.selfplay.workers import SelfPlayWorker


@pytest.fixture
def steps(monkeypatch):
    """Note each training step: its learning rate, and a copy of Adam's first moment of the first weights before it."""
    noted, make = [], learner.trainable_network

    def watched(*settings):
        network = make(*settings)
        train_step, first = network.train_step, next(network.model.parameters())

        def step(*batch_and_rate):
            moments = network.optimizer.state.get(first)
            noted.append((batch_and_rate[-1], None if moments is None else moments["exp_avg"].clone()))
            return train_step(*batch_and_rate)

        network.train_step = step
        return network

    monkeypatch.setattr(learner, "trainable_network", watched)
    monkeypatch.setattr(learner, "learns_faster_in_bfloat16", lambda *_: False)  # it tries a few steps of its own
    return noted


def test_the_learning_rate_falls_linearly_to_a_tenth_and_a_restart_goes_on_with_the_moments_of_adam(started, steps, tmp_path):
    assert started(arguments(tmp_path, "--learning-rate", 0.01, games=40))[0] == 0
    rates = [rate for rate, _ in steps]
    assert all(later <= earlier for earlier, later in pairwise(rates)) and len(set(rates)) > 3
    ends = {round(0.01 * (1 - 0.9 * games / 40), 9) for games in range(41)}  # a step is made after some of the games
    assert {round(rate, 9) for rate in rates} <= ends and 0.005 < rates[0] < 0.01
    assert rates[-1] == pytest.approx(0.001)

    played, moments = len(games_of(tmp_path)), state_of(tmp_path)["optimizer"]["state"][0]
    before = len(steps)
    assert started(resumed(tmp_path, "--games", 80))[0] == 0
    rate, first = steps[before]
    assert torch.equal(first, moments["exp_avg"]) and first.any()
    assert 0.001 < rate <= 0.01 * (1 - 0.9 * played / 80)
    assert int(moments["step"]) == before


def test_a_run_tells_how_it_gets_on_before_its_first_game_has_ended(started, monkeypatch, tmp_path):
    monkeypatch.setattr(learner, "SHOW_EVERY_S", 0.0)
    monkeypatch.setattr(workers, "TASK_S", 0.0)  # each move is a task of its own
    code, _, err = started(arguments(tmp_path, "--cpu-minutes", 5, games=16))
    shown = [line for line in err.splitlines() if line.startswith("0 of 16 games, ")]
    assert code == 0 and len(shown) >= 4 and "0.0 of 5 CPU minutes, 0.0 games/s, " in shown[0]
    assert not any(line.endswith(" 0 evaluations/s") for line in shown)
    times = [game["cpu_s"] for game in games_of(tmp_path)]
    assert len(times) >= 16 and times[0] > np.median(times), "the time before the first game ended counts as its time"


def test_the_loss_of_a_game_network_is_that_of_the_handout_and_one_step_follows_its_gradient():
    rules, rng = NoGoRules(4, 3), np.random.default_rng(1)
    torch.manual_seed(1)
    model = new_model("residual", rules, 1, 8)
    with torch.no_grad():  # make the L2 term as important as the others
        for weights in model.parameters():
            weights += torch.empty_like(weights).uniform_(-2, 2)
    network = GameNetwork(model, "cpu")
    states = rng.integers(0, 2, (16, rules.planes, 3, 4)).astype(np.float32)
    probs = rng.dirichlet(np.ones(rules.actions), 16).astype(np.float32)
    winners = rng.choice([-1.0, 1.0], 16).astype(np.float32)

    before = {name: weights.detach().clone().requires_grad_() for name, weights in model.named_parameters()}
    model.train()
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    log_probs, values = torch.func.functional_call(model, before | buffers, (torch.from_numpy(states),))
    l2 = 0.5e-4 * sum((weights**2).sum() for name, weights in before.items() if "bias" not in name)
    error = ((values[:, 0] - torch.from_numpy(winners)) ** 2).mean()
    expected = error + F.cross_entropy(log_probs, torch.from_numpy(probs)) + l2
    expected.backward()
    entropy = torch.distributions.Categorical(logits=log_probs).entropy().mean()

    given = network.train_step(states, probs, winners, 0.01)
    assert given == pytest.approx((expected.item(), entropy.item()), rel=1e-4)
    assert l2.item() > 0.1
    for name, weights in model.named_parameters():  # Adam's first step has the length of the learning rate
        gradient = before[name].grad
        clear = gradient.abs() > 1e-4
        moved = (weights - before[name]).detach()
        assert torch.allclose(moved[clear], -0.01 * gradient[clear].sign(), atol=1e-4), name


def opinionated(kind, rules, seed, blocks=1, filters=8):
    """A network whose outputs differ clearly from those with another seed."""
    torch.manual_seed(seed)
    model = new_model(kind, rules, blocks, filters)
    with torch.no_grad():
        for weights in model.parameters():
            weights += torch.empty_like(weights).uniform_(-0.3, 0.3)
        for _ in range(10):  # batch norms with statistics of their own
            model((torch.rand(64, rules.planes, rules.height, rules.width) < 0.3).float())
    return model.eval()


def test_a_worker_forgets_the_evaluations_of_earlier_weights():
    settings = {"games_at_once": 2, "playouts": 4, "match_playouts": 4, "backend": "torch", "network": "residual"}
    config = dataclasses.replace(RUN_PRESETS["nogo_5"], **settings)
    models = [opinionated("residual", config.rules(), seed, config.blocks, config.filters) for seed in (1, 2)]
    worker = SelfPlayWorker(config, (1, 0), 0)
    states = np.repeat(config.rules().batch(1).feature_planes(), 64, axis=0)  # all symmetries of the empty board are the same
    for model in models:
        worker.play(to_bytes(model))
        _, expected = InferenceNetwork(model, 5, 5, dtype=torch.float32)(states)
        _, values = worker._evaluate(states)
        assert values == pytest.approx(expected, abs=0.05)  # as bfloat16 rounds
    first, second = (InferenceNetwork(model, 5, 5)(states)[1][0] for model in models)
    assert abs(first - second) > 0.2


@pytest.mark.parametrize("kind", ["plain", "residual", "pooled"])
@pytest.mark.parametrize("game", ["nogo", "go"])
@pytest.mark.parametrize("library", ["torch", "openvino"])
def test_new_weights_of_any_network_are_computed_as_by_torch(request, any_library, kind, game, library):
    if library == "openvino":
        request.getfixturevalue("openvino")
    rules = rules_of(game, 5, 4)
    networks = [opinionated(kind, rules, seed) for seed in (1, 2)]
    states = (np.random.default_rng(1).random((20, rules.planes, 4, 5)) < 0.3).astype(np.float32)
    fast, given = InferenceNetwork(networks[0], 5, 4, dtype=torch.float32, library=library), []
    for model in (networks[0], networks[1], networks[0]):
        fast.load(model)
        with torch.no_grad():
            log_probs, values = model(torch.from_numpy(states))
        given.append(fast(states))
        assert np.abs(given[-1][0] - log_probs.exp().numpy()).max() < 1e-5
        assert np.abs(given[-1][1] - values[:, 0].numpy()).max() < 1e-5
    assert np.abs(given[0][0] - given[1][0]).max() > 0.01 and np.abs(given[0][1] - given[1][1]).max() > 0.01
