"""Torch weights turned into checkpoints of TensorFlow: the same network there, and the same weights back again."""

import sys

import numpy as np
import pytest
import torch
from checkpoint_tools import ALL_SIZES, BACK, ROOT, TOOLKIT, load, needs_tensorflow, run


@needs_tensorflow
@pytest.mark.parametrize(("width", "height", "block"), ALL_SIZES)
def test_back_and_forth_every_variable_is_what_it_was(
    trained, converted, checkpoints, run_here, tmp_path, width, height, block
):
    _, path = trained(width, height, block)
    weights, out = converted(path), tmp_path / "new" / "best_policy.model"
    code, printed, err = (run if block == 1 else run_here)(BACK, weights, out)
    assert (code, err) == (0, "")
    boards = f"{width}x{height}" if width == height else f"{width}x{height} or {height}x{width}"
    blocks = "1 block" if block == 1 else f"{block} blocks"
    assert printed == f"{weights}: board {boards}, {blocks}, {20 + 12 * block} variables; written to {out}\n"
    assert sorted(file.suffix for file in out.parent.iterdir()) == [".data-00000-of-00001", ".index"]
    before, after = (checkpoints.read_checkpoint(str(file)) for file in (path, out))
    assert after.boards == before.boards and after.skipped == 0
    assert before.arrays.keys() == after.arrays.keys()
    assert all(np.array_equal(array, after.arrays[name]) for name, array in before.arrays.items())


@needs_tensorflow
def test_shipped_weights_are_the_same_network_in_tensorflow(network, reference, run_here, tmp_path):
    weights = ROOT / "model" / "3_3_3.model"
    assert run_here(BACK, weights, tmp_path / "best_policy.model")[0] == 0
    ours, theirs = reference.PolicyValueNet(3, 3, 1, init_model=str(weights)), network(3, 3, 1)
    theirs.restore_model(str(tmp_path / "best_policy.model"))
    states = load("compare_tf_torch", TOOLKIT).game_positions(24, 3, 3, np.random.default_rng(3))
    answers = [net.policy_value(states, net.action_fc_test, net.evaluation_fc2_test) for net in (ours, theirs)]
    for a, b in zip(*answers, strict=True):
        assert np.ptp(a) > 0.5 and np.abs(a - b).max() < 1e-5


@needs_tensorflow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bn_1.running_mean": None}, "bn_1.running_mean is missing"),
        ({"dense_layer_1.weight": None}, "expected dense_layer_1.weight of a board"),
        ({"dense_layer_1.weight": torch.zeros(9, 50)}, "it is [9, 50]"),
        ({"conv2d_4.bias": torch.zeros(2)}, "conv2d_4.bias is extra"),
        ({"conv2d_2.bias": torch.zeros(3)}, "conv2d_2.bias has shape [3] in place of [2]"),
        ({"conv2d_2.bias": 3}, "expected a bare state_dict"),
    ],
    ids=["missing", "missing head", "no board", "extra", "misshaped", "a number"],
)
def test_torch_weights_of_another_network_are_refused(tmp_path, monkeypatch, capsys, change, told):
    state = torch.load(ROOT / "model" / "3_3_3.model", weights_only=True) | change
    torch.save({key: tensor for key, tensor in state.items() if tensor is not None}, tmp_path / "weights.pt")
    monkeypatch.setattr(sys, "argv", ["convert_torch2tf.py", str(tmp_path / "weights.pt"), str(tmp_path / "out")])
    assert load("convert_torch2tf", TOOLKIT).main() == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and err.startswith("convert_torch2tf.py: expected ") and told in err
    assert not list(tmp_path.glob("out*"))


@needs_tensorflow
def test_a_checkpoint_that_cannot_be_written_is_told_in_a_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "argv", ["back", str(ROOT / "model" / "3_3_3.model"), str(tmp_path / "file" / "out")])
    assert load("convert_torch2tf", TOOLKIT).main() == 2
    assert capsys.readouterr().err.startswith("convert_torch2tf.py: expected OUT to be a file that can be written: ")
