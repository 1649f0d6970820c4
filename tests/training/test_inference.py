"""The fast copy says what the network says; the cache and the symmetries change nothing of it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Queue

import numpy as np
import pytest
import torch
from waiting import PATIENCE_S

from Board.symmetries import Symmetries
from common.weights import without_idle_blocks
from games.gomoku.batch import GomokuBatch
from training.inference import evaluators, timing
from training.inference.evaluators import InferenceNetwork, PositionCache, RandomSymmetry, fold

ROOT = Path(__file__).resolve().parents[2]


def positions(width, height, n_in_row, count, seed=1):
    rng = np.random.default_rng(seed)
    boards = GomokuBatch(count, width, height, n_in_row)
    lengths = rng.integers(1, width * height - 1, count)
    lines = np.array([rng.permutation(width * height) for _ in range(count)])
    boards.play_lines(lines, lengths)
    return boards.feature_planes()


@pytest.mark.parametrize(("width", "height", "block"), [(3, 3, 1), (6, 5, 3)])
def test_in_float32_it_is_the_network_in_eval_mode(make_network, width, height, block):
    network = make_network(width, height, block)
    states = positions(width, height, 3, 40)
    probs, values = network.policy_value(states, 2, 3)
    fast = InferenceNetwork(network.model, width, height, dtype=torch.float32)
    fast_probs, fast_values = fast(states)
    assert np.abs(fast_probs - probs).max() < 1e-5 and np.abs(fast_values - values[:, 0]).max() < 1e-5
    assert np.ptp(values) > 0.05 and fast.evaluations == 40
    assert fast_probs.dtype == fast_values.dtype == np.float32


def test_a_students_network_that_is_put_together_otherwise_gives_the_same_copy(make_network, load_variant):
    network = make_network(5, 4, 2)
    other = load_variant("network-padding-layer", "policy_value_net_torch").PolicyValueNet(5, 4, 2)
    other.model.load_state_dict(network.model.state_dict())
    states = positions(5, 4, 3, 20)
    for dtype in (torch.float32, torch.bfloat16):
        (probs, values), (its_probs, its_values) = (
            InferenceNetwork(net.model, 5, 4, dtype=dtype)(states) for net in (network, other)
        )
        assert np.abs(probs - its_probs).max() < 1e-5 and np.abs(values - its_values).max() < 1e-5


def test_a_students_network_may_define_its_layers_in_any_order(make_network):
    network = make_network(5, 4, 2)
    states = positions(5, 4, 3, 20)
    probs, values = InferenceNetwork(network.model, 5, 4)(states)
    network.model._modules = dict(reversed(network.model._modules.items()))  # forward calls them by name
    its_probs, its_values = InferenceNetwork(network.model, 5, 4)(states)
    assert np.array_equal(probs, its_probs) and np.array_equal(values, its_values)


def test_a_network_whose_batch_norm_is_elsewhere_is_refused(make_network):
    network = make_network(3, 3, 1)
    norm = network.model.bn_1
    norm.forward = lambda x: torch.nn.functional.batch_norm(x.relu(), norm.running_mean, norm.running_var)
    with pytest.raises(ValueError, match="expected each batch norm right after its convolution"):
        InferenceNetwork(network.model, 3, 3)


def test_in_bfloat16_probabilities_are_within_a_tenth_of_themselves_and_values_within_0_05(make_network):
    network = make_network(9, 9, 6)
    states = positions(9, 9, 5, 40)
    probs, values = network.policy_value(states, 2, 3)
    fast_probs, fast_values = InferenceNetwork(network.model, 9, 9, dtype=torch.bfloat16)(states)
    assert np.abs(fast_probs / probs - 1).max() < 0.1 and np.abs(fast_values - values[:, 0]).max() < 0.05
    assert np.abs(fast_probs.sum(axis=1) - 1).max() < 1e-5  # the heads are float32


def test_training_the_network_further_does_not_reach_the_copy_nor_the_copy_the_network(make_network):
    network = make_network(3, 3, 1)
    states = positions(3, 3, 3, 8)
    names = list(network.model.state_dict())
    fast = InferenceNetwork(network.model, 3, 3, dtype=torch.float32)
    before = fast(states)
    network.train_step(states, np.full((8, 9), 1 / 9), np.ones(8), 0.1)
    assert network.model.training
    assert np.array_equal(fast(states)[0], before[0]) and list(network.model.state_dict()) == names
    assert not np.allclose(network.policy_value(states, 2, 3)[0], before[0], atol=1e-4)


def test_the_faster_type_is_chosen_by_cpu_time_where_other_programs_take_the_core(make_network, monkeypatch):
    net = make_network(3, 3, 1)
    spent, passed = {torch.float32: 2.0, torch.bfloat16: 1.0}, {torch.float32: 2.0, torch.bfloat16: 9.0}
    now = {"CPU": 0.0, "wall": 0.0}
    computed = InferenceNetwork.__call__

    def evaluate(network: InferenceNetwork, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        now["CPU"] += spent[network.dtype]
        now["wall"] += passed[network.dtype]
        return computed(network, states)

    monkeypatch.setattr(InferenceNetwork, "__call__", evaluate)
    monkeypatch.setattr(timing.time, "process_time", lambda: now["CPU"])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now["wall"])
    for threads, chosen in ((1, torch.bfloat16), (2, torch.float32)):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=threads: count)
        assert InferenceNetwork(net.model, 3, 3, dtype=None, library="torch", device="cpu").dtype == chosen


@pytest.mark.parametrize("faster", [torch.float32, torch.bfloat16])
def test_the_faster_type_is_chosen_where_none_is_given(make_network, monkeypatch, faster):
    monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_: float(self.dtype != faster))
    fast = InferenceNetwork(make_network(3, 3, 1).model, 3, 3, dtype=None, batch_size=4)
    assert fast.dtype == faster and fast.evaluations == 0
    assert fast(positions(3, 3, 3, 2))[0].shape == (2, 9)


def broken_in_bfloat16(monkeypatch, spoiled):
    """Let networks compute wrong results in bfloat16, quickly; return how often they did."""
    computed, calls = InferenceNetwork.__call__, []

    def evaluate(network, states):
        if network.dtype == torch.float32:
            return computed(network, states)
        calls.append(len(states))
        return spoiled(*computed(network, states))

    monkeypatch.setattr(InferenceNetwork, "__call__", evaluate)
    monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_: float(self.dtype == torch.float32))
    return calls


@pytest.mark.parametrize(
    "spoiled",
    [
        lambda probs, values: (probs[:0], values[:0]),
        lambda probs, values: (probs, values + 0.5),
        lambda probs, values: (probs, values * np.nan),
        lambda probs, values: (1 - probs, values),
    ],
)
def test_a_type_that_the_processor_computes_wrongly_is_not_taken_however_fast_it_is(make_network, monkeypatch, spoiled):
    calls, model = broken_in_bfloat16(monkeypatch, spoiled), make_network(3, 3, 1).model
    assert InferenceNetwork(model, 3, 3, dtype=None, library="torch").dtype == torch.float32
    assert calls
    with pytest.raises(ValueError, match="expected from torch, bfloat16 on cpu what torch computes in float32"):
        InferenceNetwork(model, 3, 3, dtype=torch.bfloat16)


@pytest.mark.parametrize(("slower", "timed"), [(1.5, 3), (2.5, 1)])
def test_a_type_that_is_clearly_slower_is_timed_once(make_network, monkeypatch, slower, timed):
    computed, now, calls = InferenceNetwork.__call__, [0.0], []

    def evaluate(network, states):
        now[0] += 1.0 if network.dtype == torch.float32 else slower
        calls.append(network.dtype)
        return computed(network, states)

    monkeypatch.setattr(InferenceNetwork, "__call__", evaluate)
    monkeypatch.setattr(evaluators, "computing_clock", lambda device: lambda: now[0])
    fast = InferenceNetwork(make_network(3, 3, 1).model, 3, 3, dtype=None, library="torch", device="cpu")
    assert fast.dtype == torch.float32
    # Each is first compared with float32 and called once to prepare it.
    assert calls.count(torch.float32) == 2 + 3 and calls.count(torch.bfloat16) == 2 + timed


def test_the_cache_asks_for_each_position_once_and_forgets_the_oldest(fixed_evaluator):
    evaluate, asked = fixed_evaluator(9), []

    def counting(states):
        asked.append(len(states))
        return evaluate(states)

    states = positions(3, 3, 3, 6)
    assert len({state.tobytes() for state in states}) == 6
    cache = PositionCache(counting, capacity=5)
    twice = states[[0, 1, 0, 2, 1]]
    for _ in range(2):
        for given, expected in zip(cache(twice), evaluate(twice), strict=True):
            assert np.array_equal(given, expected)
    assert asked == [3] and (cache.requests, cache.hits) == (10, 7)
    cache(states)  # 3, 4 and 5 are new; the sixth position drives out the first
    cache(states[1:])
    assert asked == [3, 3]
    cache(states[:1])
    assert asked == [3, 3, 1]
    cache.clear()
    cache(states[:1])
    assert asked == [3, 3, 1, 1]


def test_positions_that_differ_in_their_history_alone_are_two(fixed_evaluator):
    boards = GomokuBatch(2, 3, 3, 3)
    boards.play_lines(np.array([[0, 8, 2], [2, 8, 0]]), np.array([3, 3]))
    cache = PositionCache(fixed_evaluator(9))
    assert np.array_equal(cache(boards.feature_planes())[0], fixed_evaluator(9)(boards.feature_planes())[0])
    assert cache.hits == 0


@pytest.mark.parametrize(("width", "height"), [(4, 4), (5, 3)])
def test_a_random_symmetry_is_one_of_the_board_and_undone_on_the_moves(fixed_evaluator, width, height):
    evaluate = fixed_evaluator(width * height)
    symmetries = Symmetries(width, height)
    state = positions(width, height, 3, 1)
    all_states = symmetries.turn_states(np.repeat(state, symmetries.count, axis=0), np.arange(symmetries.count))
    probs, values = evaluate(all_states)
    expected = symmetries.turn_policies_back(probs, np.arange(symmetries.count))
    seen, seen_values = RandomSymmetry(evaluate, Symmetries(width, height), np.random.default_rng(1))(
        np.repeat(state, 200, axis=0)
    )
    which = [int(np.flatnonzero(np.isclose(values, value))[0]) for value in seen_values]
    assert set(which) == set(range(symmetries.count))
    assert np.array_equal(seen, expected[which])


def test_blocks_that_change_nothing_are_left_out_and_no_output_changes(make_network, reference):
    network = make_network(5, 4, 5)
    with torch.no_grad():
        for block in (1, 3, 4):
            last = network.model.get_submodule(f"resnet.{block}.4")
            last.weight.zero_()
            if block != 3:
                last.bias.zero_()
    fewer = without_idle_blocks(network.model.state_dict())
    assert {name.split(".")[1] for name in fewer if name.startswith("resnet.")} == {"0", "1", "2"}
    assert torch.equal(fewer["resnet.2.0.weight"], network.model.get_parameter("resnet.3.0.weight"))
    small = reference("policy_value_net_torch").PolicyValueNetModel(5, 4, 3, 9).eval()
    small.load_state_dict(fewer)
    states = torch.from_numpy(positions(5, 4, 3, 8))
    for left, right in zip(network.model.eval()(states), small(states), strict=True):
        torch.testing.assert_close(left, right)


def test_the_first_block_stays_although_it_adds_nothing(make_network):
    """The relu behind it is the first one in the network."""
    network = make_network(3, 3, 2)
    with torch.no_grad():
        for block in (0, 1):
            for name in ("weight", "bias"):
                network.model.get_parameter(f"resnet.{block}.4.{name}").zero_()
    assert {name.split(".")[1] for name in without_idle_blocks(network.model.state_dict()) if "resnet" in name} == {"0"}


# ------------------------------------------------------------------------------------------------ OpenVINO


@pytest.mark.parametrize(("width", "height", "block"), [(3, 3, 1), (6, 5, 3)])
@pytest.mark.parametrize(("dtype", "of_probs", "of_values"), [(torch.float32, 1e-5, 1e-5), (torch.bfloat16, 0.1, 0.05)])
def test_openvino_computes_the_same_in_batches_of_any_size(
    openvino, make_network, width, height, block, dtype, of_probs, of_values
):
    network = make_network(width, height, block)
    fast = InferenceNetwork(network.model, width, height, dtype=dtype, library="openvino")
    assert fast.library == "openvino" and fast.description.startswith("openvino, ")
    for count in (40, 1, 7):
        states = positions(width, height, 3, count, seed=count)
        probs, values = network.policy_value(states, 2, 3)
        fast_probs, fast_values = fast(states)
        assert np.abs(fast_probs / probs - 1).max() < of_probs and np.abs(fast_values - values[:, 0]).max() < of_values
        assert fast_probs.dtype == fast_values.dtype == np.float32 and fast_values.shape == (count,)


@pytest.mark.parametrize("library", ["torch", "openvino"])
def test_new_weights_are_computed_in_the_same_way(request, any_library, make_network, library):
    if library == "openvino":
        request.getfixturevalue("openvino")
    first, second = make_network(5, 4, 2), make_network(5, 4, 2, seed=2)
    states = positions(5, 4, 3, 20)
    fast = InferenceNetwork(first.model, 5, 4, dtype=torch.float32, library=library)
    early = fast(states)
    fast.load(second.model)
    probs, values = second.policy_value(states, 2, 3)
    assert np.abs(fast(states)[0] - probs).max() < 1e-5 and np.abs(fast(states)[1] - values[:, 0]).max() < 1e-5
    assert np.abs(early[0] - probs).max() > 1e-3 and (fast.library, fast.dtype) == (library, torch.float32)


def idle(network, which):
    """Let these residual blocks add nothing, as `training.export` fills a network up."""
    with torch.no_grad():
        for number in which:
            norm = network.model.resnet[number][4]
            norm.weight.zero_()
            norm.bias.zero_()
    return network


@pytest.mark.parametrize("library", ["torch", "openvino"])
def test_blocks_that_add_nothing_are_left_out_until_they_learn(request, any_library, make_network, library):
    if library == "openvino":
        request.getfixturevalue("openvino")
    full, lazy = make_network(5, 4, 3), idle(make_network(5, 4, 3), (1, 2))
    states = positions(5, 4, 3, 20)
    assert [len(block.state_dict()) for block in fold(lazy.model).resnet] == [4, 0, 0]  # two convolutions or none
    fast = InferenceNetwork(lazy.model, 5, 4, dtype=torch.float32, library=library)
    for network in (lazy, full, lazy):
        fast.load(network.model)
        probs, values = network.policy_value(states, 2, 3)
        fast_probs, fast_values = fast(states)
        assert np.abs(fast_probs - probs).max() < 1e-5 and np.abs(fast_values - values[:, 0]).max() < 1e-5


def test_the_way_is_chosen_anew_when_blocks_that_added_nothing_have_learnt(make_network, monkeypatch):
    full, lazy = make_network(5, 4, 3), idle(make_network(5, 4, 3), (1, 2))

    def seconds(network: InferenceNetwork, *_: object) -> float:
        faster = torch.bfloat16 if any(network._folded.resnet[2].state_dict()) else torch.float32
        return float(network.dtype != faster)

    monkeypatch.setattr(InferenceNetwork, "_seconds", seconds)
    fast = InferenceNetwork(lazy.model, 5, 4, dtype=None, library=None)
    states = positions(5, 4, 3, 20)
    fast(states)
    for network, chosen in ((lazy, torch.float32), (full, torch.bfloat16), (lazy, torch.float32)):
        fast.load(network.model)
        assert fast.dtype == chosen
        assert np.abs(fast(states)[0] - network.policy_value(states, 2, 3)[0]).max() < 0.02
    assert fast.evaluations == 80  # the timed ones do not count


def test_earlier_results_of_openvino_stay_as_they_were(openvino, make_network):
    network = make_network(3, 3, 1)
    fast = InferenceNetwork(network.model, 3, 3, library="openvino")
    probs, values = fast(positions(3, 3, 3, 8))
    kept = probs.copy(), values.copy()
    fast(positions(3, 3, 3, 8, seed=9))
    assert np.array_equal(probs, kept[0]) and np.array_equal(values, kept[1])


def test_openvino_computes_on_any_core(openvino, make_network):
    """By default it pins the thread to the first core while it computes, so two such processes would share one."""
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("there is only one core")
    network = InferenceNetwork(make_network(11, 11, 2).model, 11, 11, library="openvino")
    states = positions(11, 11, 5, 64)
    ended, ids, computed = threading.Event(), Queue(), []

    def compute():
        ids.put(threading.get_native_id())
        while not ended.is_set():
            network(states)
            computed.append(time.monotonic())

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        computing, began, seen = ids.get(), time.monotonic(), set()
        # For a second, and longer where the machine is slow: while it computes at least twice.
        while time.monotonic() < began + 1 or len(computed) < 3:
            assert time.monotonic() < began + PATIENCE_S
            seen.add(frozenset(os.sched_getaffinity(computing)))
    finally:
        ended.set()
        thread.join()
    assert seen == {frozenset(allowed)}


def test_the_faster_library_is_chosen_where_none_is_given(openvino, make_network, monkeypatch):
    for wanted in ("torch", "openvino"):
        monkeypatch.setattr(InferenceNetwork, "_seconds", lambda self, *_, w=wanted: float(self.library != w))
        fast = InferenceNetwork(make_network(3, 3, 1).model, 3, 3, dtype=None, library=None, batch_size=4)
        assert fast.library == wanted and fast(positions(3, 3, 3, 2))[0].shape == (2, 9)


def test_a_network_that_cannot_be_converted_is_computed_by_torch(openvino, make_network, monkeypatch):
    monkeypatch.setattr("training.inference.evaluators.OpenVinoModel", lambda *_: 1 / 0)
    assert InferenceNetwork(make_network(3, 3, 1).model, 3, 3, dtype=None, library=None).library == "torch"


def test_openvino_reports_nothing_of_its_use(openvino, tmp_path):
    script = (
        "import torch; from torch import nn; from training.inference.openvino_model import OpenVinoModel\n"
        "class Net(nn.Module):\n"
        "    def __init__(self): super().__init__(); self.dense = nn.Linear(4, 2)\n"
        "    def forward(self, planes): return self.dense(planes.flatten(1)), self.dense(planes.flatten(1))\n"
        "OpenVinoModel(Net(), (1, 2, 2)).compile(torch.float32)"
    )
    home = {name: value for name, value in os.environ.items() if name != "CI"} | {"HOME": str(tmp_path)}  # it is quiet in CI
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=home, check=True)
    assert list(tmp_path.iterdir()) == [], "it keeps a number for each user that it reports"
