"""Convolutions in 8-bit integers from a file beside the weights. In most tests the convolutions in the file are in float32."""

import copy
import hashlib
import json
import zipfile
from typing import get_args

import numpy as np
import pytest
import torch

from arena.engine.specs import BACKENDS
from common.errors import UsageError
from games.gomoku.rules import GomokuRules
from training import quantise
from training.inference.evaluators import InferenceNetwork, PlayerBackend, fold, network_to_play
from training.inference.int8_conversion import Differences, measure_differences
from training.inference.int8_file import int8_path, read_int8, write_int8
from training.inference.networks import new_model
from training.inference.openvino_model import OpenVinoModel, graph_bytes
from training.matches import make_agent
from training.single_game import FoldedPolicy

SIZE = (5, 4)
RULES = GomokuRules(*SIZE, 4)
NOTHING_ELSE = {"positions": 20, "games": 2, "playouts": 4, "seed": 1}


def positions(count, seed=1):
    return (np.random.default_rng(seed).random((count, 9, *SIZE[::-1])) < 0.3).astype(np.float32)


def body_of(network):
    """The graph and the constants of the convolutions, in float32."""
    return graph_bytes(OpenVinoModel(fold(network.model), (9, *SIZE[::-1])).body)


def with_convolutions_of(network, other):
    """The network with the other one's layers before the dense ones."""
    mixed = copy.deepcopy(network)
    dense = {name: layer for name, layer in network.model.state_dict().items() if name.startswith(("dense", "flatten"))}
    mixed.model.load_state_dict({**other.model.state_dict(), **dense})
    return mixed


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "weights.pt"
    path.write_bytes(b"any file")
    return path


@pytest.fixture(scope="module")
def kept():
    """The convolutions of the other network, which are converted once."""
    return []


@pytest.fixture
def networks(make_network, tmp_path, kept):
    """(network, its weights, another network whose convolutions are in the file beside the weights)."""
    network, other = make_network(*SIZE, 1), make_network(*SIZE, 1, seed=2)
    path = tmp_path / "weights.pt"
    network.save_model(path)
    if not kept:
        kept.append(body_of(other))
    write_int8(path, *kept[0], {})
    return network, path, other


# -------------------------------------------------------------------------------------------------------- the file


def test_a_file_is_read_as_it_was_written(weights):
    assert read_int8(weights) is None
    path = write_int8(weights, b"<net/>", b"\0\1", {"settings": {"seed": 3}})
    assert path == int8_path(weights) and path.name == "weights.pt.int8" and len(list(path.parent.iterdir())) == 2
    found = read_int8(weights)
    assert (found.graph, found.constants, found.weights) == (b"<net/>", b"\0\1", weights)
    about = json.loads(zipfile.ZipFile(path).read("about.json"))
    assert about["weights_sha256"] == hashlib.sha256(b"any file").hexdigest() and about["settings"] == {"seed": 3}


def damage(path, how):
    content = path.read_bytes()
    if how == "cut short":
        path.write_bytes(content[:-30])
    elif how == "changed":
        place = content.index(b"body.bin") + 10
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
    elif how == "a folder":
        path.unlink()
        path.mkdir()
    else:
        with zipfile.ZipFile(path, "w") as file:
            for name in ("about.json", "body.xml", "body.bin")[: 3 if how == "no digest" else 2]:
                file.writestr(name, '["weights_sha256"]')


@pytest.mark.parametrize("how", ["cut short", "changed", "a folder", "a part missing", "no digest"])
def test_a_damaged_file_is_refused_in_a_sentence(weights, how):
    damage(write_int8(weights, b"<net/>" * 9, b"\0\1" * 9, {}), how)
    with pytest.raises(UsageError, match=r"weights.pt.int8; it is damaged.*training.quantise .*weights.pt, or remove it$"):
        read_int8(weights)


def test_a_file_that_would_fill_the_memory_is_refused(weights, monkeypatch):
    write_int8(weights, b"<net/>", bytes(3000), {})
    assert read_int8(weights) is not None
    monkeypatch.setattr("training.inference.int8_file.MAX_WEIGHTS_BYTES", 2000)
    with pytest.raises(UsageError, match="too large"):
        read_int8(weights)


def test_a_file_of_other_weights_is_refused(weights):
    write_int8(weights, b"<net/>", b"", {})
    weights.write_bytes(b"after another day of training")
    with pytest.raises(UsageError, match="it was made from other weights"):
        read_int8(weights)


# --------------------------------------------------------------------------------------------------------- players


def test_convolutions_come_from_the_file_and_dense_layers_from_the_weights(openvino, networks):
    network, path, other = networks
    states = positions(12)
    probs, values = with_convolutions_of(network, other).policy_value(states, 2, 3)
    fast = network_to_play(network.model, *SIZE, path, backend="int8")
    assert fast.description == "openvino, int8 on cpu" and fast.dtype == torch.int8
    fast_probs, fast_values = fast(states)
    assert np.abs(fast_probs - probs).max() < 1e-5 and np.abs(fast_values - values[:, 0]).max() < 1e-5
    assert np.abs(network.policy_value(states, 2, 3)[0] - probs).max() > 1e-3
    with pytest.raises(ValueError, match="float32 or bfloat16 to load other weights into"):
        fast.load(other.model)


@pytest.mark.parametrize("fastest", [torch.float32, torch.bfloat16, torch.int8])
def test_the_fastest_type_is_taken_where_the_backend_is_left_open(openvino, networks, monkeypatch, fastest):
    network, path, _ = networks
    monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_: float(self.dtype != fastest))
    fast = network_to_play(network.model, *SIZE, path)
    assert fast.dtype == fastest and fast(positions(2))[0].shape == (2, 20)


def test_the_file_serves_the_backends_int8_and_auto_alone(openvino, networks, monkeypatch):
    network, path, _ = networks
    monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_: float(self.dtype != torch.int8))
    for backend in ("torch", "openvino"):
        assert network_to_play(network.model, *SIZE, path, backend=backend).dtype != torch.int8
    path.write_bytes(b"other weights")
    network_to_play(network.model, *SIZE, path, backend="openvino")
    with pytest.raises(UsageError, match="made from other weights"):
        network_to_play(network.model, *SIZE, path)
    int8_path(path).unlink()
    assert network_to_play(network.model, *SIZE, path).dtype != torch.int8
    with pytest.raises(UsageError, match=r"weights.pt.int8 for the backend int8; no file is there: make it with"):
        network_to_play(network.model, *SIZE, path, backend="int8")


def test_without_openvino_torch_plays_and_the_backend_is_refused(make_network, weights):
    write_int8(weights, b"<net/>", b"", {})
    network = make_network(*SIZE, 1)
    assert network_to_play(network.model, *SIZE, weights).library == "torch"
    with pytest.raises(UsageError, match="expected OpenVINO for the backend int8; it is not installed"):
        network_to_play(network.model, *SIZE, weights, backend="int8")
    with pytest.raises(UsageError, match="since OpenVINO computes on the CPU"):
        network_to_play(network.model, *SIZE, weights, backend="int8", device="cuda")
    with pytest.raises(ValueError, match="8-bit integers"):
        InferenceNetwork(network.model, *SIZE, dtype=torch.int8, library="openvino")


def test_a_graph_that_is_none_or_has_other_shapes_is_refused(openvino, networks, make_network):
    network, path, _ = networks
    write_int8(path, b"<net/>", b"", {})
    with pytest.raises(UsageError, match=r"this version of OpenVINO cannot read it: make it again"):
        network_to_play(network.model, *SIZE, path, backend="int8")
    wide = OpenVinoModel(fold(make_network(6, 5, 1).model), (9, 5, 6))
    write_int8(path, *graph_bytes(wide.body), {})
    with pytest.raises(UsageError, match="those in it have other inputs or outputs"):
        network_to_play(network.model, *SIZE, path, backend="int8")


def test_a_pooled_network_plays_on_a_board_for_which_it_was_not_quantised(openvino, tmp_path, monkeypatch):
    monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_: float(self.dtype != torch.int8))
    model, path = new_model("pooled", RULES, 1, 8).eval(), tmp_path / "pooled.model"
    torch.save(model.state_dict(), path)
    write_int8(path, *graph_bytes(OpenVinoModel(fold(model), (9, *SIZE[::-1])).body), {})
    assert network_to_play(model, *SIZE, path).dtype == torch.int8
    elsewhere = network_to_play(model, 6, 6, path)
    assert elsewhere.dtype != torch.int8 and elsewhere(np.zeros((2, 9, 6, 6), dtype=np.float32))[0].shape == (2, 36)
    with pytest.raises(UsageError, match=r"of this network on this board in .*pooled\.model\.int8; those in it"):
        network_to_play(model, 6, 6, path, backend="int8")


def test_agents_and_single_games_use_the_file(openvino, networks):
    network, path, _ = networks
    agent = make_agent(f"policy:{path}?backend=int8", RULES, 1, np.random.default_rng(1))
    assert agent.computed_by == "openvino, int8 on cpu"
    assert make_agent(f"gumbel:{path}?backend=torch", RULES, 1, np.random.default_rng(1), "int8").computed_by.startswith(
        "torch"
    )
    with pytest.raises(UsageError, match="expected backend=auto, torch, openvino or int8"):
        make_agent(f"policy:{path}?backend=int4", RULES, 1, np.random.default_rng(1))
    policy = FoldedPolicy(network, *SIZE, backend="int8", weights=str(path))
    assert policy.description == "openvino, int8 on cpu"
    for wrong in ({"exact": True, "weights": str(path)}, {}):
        with pytest.raises(ValueError, match="for the backend int8"):
            FoldedPolicy(network, *SIZE, backend="int8", **wrong)


def test_the_arena_knows_the_same_backends():
    assert get_args(PlayerBackend) == BACKENDS


# ------------------------------------------------------------------------------------------------------ quantising


def test_differences_are_those_computed_by_hand():
    right = np.array([[0.5, 0.5], [0.9, 0.1]], dtype=np.float32), np.array([0.1, -0.2], dtype=np.float32)
    given = np.array([[0.75, 0.25], [0.4, 0.6]], dtype=np.float32), np.array([0.1, 0.2], dtype=np.float32)
    found = measure_differences(lambda _: given, right, np.zeros((2, 1)))
    first, second = 0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(0.5 / 0.25), 0.9 * np.log(0.9 / 0.4) + 0.1 * np.log(0.1 / 0.6)
    assert found.divergence == pytest.approx((first + second) / 2, abs=1e-4)
    assert (found.same_first, found.value_off) == (0.5, pytest.approx(0.2828, abs=1e-4)) and not found.small
    assert Differences(1.0, 0.9, 0.1).small
    assert not Differences(0.0, 0.89, 0.1).small and not Differences(0.0, 0.9, 0.11).small


def test_leaves_are_different_positions_that_the_searches_evaluated(fixed_evaluator):
    evaluate, seen = fixed_evaluator(20), set()

    def noting(states):
        seen.update(state.tobytes() for state in states)
        return evaluate(states)

    settings = {"games": 2, "playouts": 6, "seed": 4}
    leaves = quantise.leaves_of_searches(noting, RULES, 30, **settings)
    kept = {state.tobytes() for state in leaves}
    assert leaves.shape == (30, 9, 4, 5) and leaves.dtype == np.float32 and len(kept) == 30 and kept < seen
    assert np.array_equal(leaves, quantise.leaves_of_searches(evaluate, RULES, 30, **settings))
    other = quantise.leaves_of_searches(evaluate, RULES, 30, **{**settings, "seed": 5})
    assert not np.array_equal(leaves, other)


def test_a_network_that_is_near_enough_is_written(openvino, networks, monkeypatch, capsys):
    network, path, _ = networks
    int8_path(path).unlink()
    monkeypatch.setattr(quantise, "in_int8", lambda model, states: body_of(network))
    monkeypatch.setattr(quantise, "version", lambda name: f"of {name}")
    assert quantise.quantise(path, RULES, **NOTHING_ELSE) == 0
    said = capsys.readouterr()
    assert "the first choice is the same in 100.0 %" in said.out and said.out.endswith(f"Wrote {path}.int8\n")
    assert said.err.count("2 games for positions") == 2
    about = json.loads(zipfile.ZipFile(int8_path(path)).read("about.json"))
    assert about["settings"] == NOTHING_ELSE and about["differences"]["same_first"] == 1.0 and about["nncf"] == "of nncf"
    assert network_to_play(network.model, *SIZE, path, backend="int8").dtype == torch.int8


def test_a_network_that_is_too_far_off_is_not_written(openvino, networks, monkeypatch, capsys):
    _, path, other = networks
    int8_path(path).unlink()
    monkeypatch.setattr(quantise, "in_int8", lambda model, states: body_of(other))
    assert quantise.quantise(path, RULES, **NOTHING_ELSE) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("Nothing is written: expected the same first choice in at least")
    assert not int8_path(path).exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--positions", "0"], "expected at least 1 position and 2 playouts; got 0 and 64"),
        (["--playouts", "1"], "expected at least 1 position and 2 playouts; got 2000 and 1"),
        ([], "expected openvino and nncf; openvino and nncf missing: python -m pip install openvino nncf"),
    ],
)
def test_a_wrong_call_or_a_missing_package_gets_a_sentence(monkeypatch, weights, capsys, options, sentence):
    monkeypatch.setitem(quantise.sys.modules, "nncf", None)
    with pytest.raises((SystemExit, UsageError)) as ended:
        quantise.main([str(weights), *options])
    assert sentence in str(ended.value) + capsys.readouterr().err


def test_nncf_quantises_all_convolutions(openvino, networks):
    pytest.importorskip("nncf", reason="NNCF is not installed")
    network, path, _ = networks
    states = positions(40)
    graph, constants = quantise.in_int8(network.model, states)
    write_int8(path, graph, constants, {})
    model = openvino.Core().read_model(graph, constants)
    convolutions = [op for op in model.get_ordered_ops() if op.get_type_name() == "Convolution"]
    assert len(convolutions) == 5
    for op in convolutions:
        assert op.input_value(0).get_node().get_type_name() == "FakeQuantize"
    exact = InferenceNetwork(network.model, *SIZE, library="openvino")(states)
    found = measure_differences(network_to_play(network.model, *SIZE, path, backend="int8"), exact, states)
    assert 0 < found.value_off < 0.1 and found.same_first > 0.8, found
