"""Self-play in 8-bit integers. In most tests NNCF is replaced, and the convolutions "in 8-bit integers" are in float32."""

import copy

import numpy as np
import pytest
from selfplay_run_tools import arguments, games_of, state_of

from training.inference.evaluators import InferenceNetwork
from training.inference.openvino_model import OpenVinoModel
from training.selfplay import worker_networks
from training.selfplay.presets import RunConfig
from training.selfplay.worker_networks import OwnNetwork, to_bytes

SIZE = (5, 4)


def leaves(count, seed=1):
    return (np.random.default_rng(seed).random((count, 9, *SIZE[::-1])) < 0.3).astype(np.float32)


@pytest.fixture
def quantised(monkeypatch):
    """NNCF's stand-in; the list has the positions of each conversion."""
    calls = []

    def quantise(self, states, *, bias_correction=False):
        calls.append(states)
        self.int8 = self.body

    monkeypatch.setattr(OpenVinoModel, "quantise", quantise)
    return calls


def assert_plays_as(found, network):
    states = leaves(12, seed=5)
    probs, values = network.policy_value(states, 2, 3)
    fast_probs, fast_values = found(states)
    assert np.abs(fast_probs - probs).max() < 1e-5 and np.abs(fast_values - values[:, 0]).max() < 1e-5


def test_each_new_network_is_converted_with_the_latest_leaves(openvino, quantised, make_network):
    networks = [make_network(*SIZE, 1, seed=seed) for seed in (1, 2, 3)]
    fast = InferenceNetwork(networks[0].model, *SIZE, library="openvino")
    for number, network in enumerate(networks[1:], 1):
        positions = leaves(20, seed=number)
        fast.load(network.model, positions)
        assert fast.description == "openvino, int8 on cpu" and np.array_equal(quantised[-1], positions)
        assert_plays_as(fast, network)
    assert len(quantised) == 2 and fast.evaluations == 24


def test_a_network_that_8_bit_integers_would_change_too_much_is_computed_exactly(openvino, monkeypatch, make_network):
    network, other = make_network(*SIZE, 1), make_network(*SIZE, 1, seed=2)
    wrong = OpenVinoModel(copy.deepcopy(other.model), (9, *SIZE[::-1])).body
    monkeypatch.setattr(OpenVinoModel, "quantise", lambda self, _: setattr(self, "int8", wrong))
    fast = InferenceNetwork(other.model, *SIZE, library="openvino")
    fast.load(network.model, leaves(40))
    assert fast.description == "openvino, float32 on cpu"
    assert_plays_as(fast, network)


def test_a_worker_converts_its_network_as_soon_as_its_searches_have_leaves(openvino, quantised, make_network, monkeypatch):
    monkeypatch.setattr(worker_networks, "LEAVES", 6)
    network, newer = make_network(*SIZE, 1), make_network(*SIZE, 1, seed=2)
    config = RunConfig(*SIZE, n_in_row=4, blocks=1, backend="int8")
    own = OwnNetwork(config)
    own.use(to_bytes(network.model))
    seen = [leaves(3, seed=seed) for seed in range(8)]
    for number, states in enumerate(seen):
        own(states)
        assert ("int8" in own.description) == (number >= 5)
    assert np.array_equal(quantised[0], np.stack([states[number % 3] for number, states in enumerate(seen[:6])]))
    own.use(to_bytes(newer.model))
    assert np.array_equal(quantised[1], np.stack([states[number % 3] for number, states in enumerate(seen)][2:]))
    assert_plays_as(own, newer)


def test_a_run_in_8_bit_integers_by_nncf(openvino, started, tmp_path):
    pytest.importorskip("nncf", reason="NNCF is not installed")
    folder = tmp_path / "run"
    code, out, err = started(arguments(folder, "--backend", "int8", "--playouts", 16, "--reuse", 40, games=200))
    assert code == 0 and "In self-play, the network is computed by openvino, int8 on cpu" in err, err
    assert "Statistics" not in out + err
    by = [row["by"] for row in state_of(folder)["computed_by"]]
    assert by[0] != by[1] == "openvino, int8 on cpu"
    steps = sorted({game["steps"] for game in games_of(folder)})
    assert len(steps) > 2 and min(np.diff(steps)) >= 128


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "expected openvino and nncf; nncf missing: python -m pip install nncf"),
        (
            ["--inference-server", "on", "--workers", "2"],
            "expected --backend auto, torch or openvino with --inference-server on; got int8",
        ),
    ],
)
def test_a_call_that_cannot_work_gets_a_sentence(openvino, monkeypatch, started, tmp_path, more, sentence):
    monkeypatch.setattr(
        "training.inference.int8_conversion.importlib.util.find_spec", lambda name: name if name != "nncf" or more else None
    )
    code, out, err = started([*arguments(tmp_path / "run"), "--backend", "int8", *more])
    assert code == 2 and sentence in out + err
