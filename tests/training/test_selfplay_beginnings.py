"""The weights that a run of self-play begins with, where they are not ordinary random ones."""

import torch
from selfplay_run_tools import arguments, resumed

from training.inference.other_board import on_other_board


def first_network(run):
    return torch.load(run / "networks" / "0000000.model", weights_only=True)


def test_a_structured_start_lets_the_blocks_do_nothing_and_the_policy_read_each_point(started, tmp_path):
    assert started(arguments(tmp_path / "run", "--structured-start", games=8))[0] == 0
    first = first_network(tmp_path / "run")
    assert not first["resnet.0.4.weight"].any()
    head = first["dense_layer_1.weight"]
    assert head.abs().sum() == 2 * 9 and head.sum() == 0
    code, _, err = started(resumed(tmp_path / "run", "--no-structured-start"))
    assert code == 2 and "expected --structured-start True, as when" in err


def test_two_seeds_give_two_structured_starts_and_one_seed_the_same(started, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert started(arguments(tmp_path / name, "--structured-start", "--seed", seed, games=8))[0] == 0
    a, b, c = (first_network(tmp_path / name)["conv2d_1.weight"] for name in "abc")
    assert torch.equal(a, b) and not torch.equal(a, c)


def test_a_run_begins_with_the_weights_of_a_smaller_board(started, make_network, tmp_path):
    small = make_network(5, 4, 1, seed=5)
    weights = tmp_path / "small.model"
    small.save_model(str(weights))
    code, _, err = started(arguments(tmp_path / "run", "--init-model", weights, games=8))
    assert code == 0 and f"The weights in {weights} are for a board of 5 x 4 points; the run begins with their" in err
    expected = on_other_board(small.model.state_dict(), (5, 4), (3, 3))
    for name, tensor in first_network(tmp_path / "run").items():
        assert torch.equal(tensor, expected[name]), name
