"""The published weights for tic-tac-toe lose no line of replies."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from common.weights import load_weights
from grader.judge.trusted.agents import network_agent
from training.exact import play_all_games, play_all_replies, remembered, searching_player_agent

MODEL = Path(__file__).resolve().parents[2] / "model"
WEIGHTS = MODEL / "3_3_3.model"
PLAYOUTS = (100, 400, 800, 1600)


@pytest.fixture(scope="module")
def manifest():
    return json.loads(WEIGHTS.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_manifest_says_how_to_make_them_and_that_they_lose_nothing(manifest):
    (configuration,) = manifest["configurations"]
    assert f"--seed {configuration['seed']}" in manifest["command"]
    assert len(manifest["strength"]) == 3
    assert all(found["losing_lines"] == dict.fromkeys(map(str, PLAYOUTS), 0) for found in manifest["strength"])


@pytest.mark.parametrize("n_playout", PLAYOUTS)
def test_the_network_loses_no_line_under_the_graders_search(n_playout):
    assert play_all_replies(network_agent(load_weights(WEIGHTS), n_playout)).losing_lines == 0


@pytest.mark.parametrize(("function", "alike"), [("policy_value_fn", False), ("policy_value_fn_random", True)])
def test_the_network_loses_no_line_under_the_references_search(run_file, function, alike):
    torch.set_num_threads(1)  # with a network this small, several threads only wait for each other
    np.random.seed(1)  # for the random symmetries, and for draws among moves with equal visits
    net = run_file("AlphaZero/policy_value_net_torch.py")["PolicyValueNet"](3, 3, 1, init_model=str(WEIGHTS))
    player_class = run_file("AlphaZero/mcts_alphaZero.py")["MCTSPlayer"]
    new_player = partial(player_class, remembered(getattr(net, function)), 2, 3, c_puct=5, n_playout=100)
    assert play_all_games(searching_player_agent(new_player, alike=alike)).losing_lines == 0
