"""The weights of model/ that have a manifest: they are its weights, load strictly, and play what any player must see."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from Board.game_board import Board
from common.student_network import load_network
from games.catalog import rules_of
from training.matches import MatchSettings, make_agent, play_lockstep_match

MODEL = Path(__file__).resolve().parents[2] / "model"
GOMOKU = sorted(MODEL.glob("*_5.json"))
MANIFESTS = sorted(MODEL.glob("*.json"))
OTHER_GAMES = sorted((MODEL / "games").glob("*.json"))
FROM_NOTHING = sorted((MODEL / "from_nothing").glob("*.json"))
DIRECTIONS = {"row": (0, 1), "column": (1, 0), "rising": (1, 1), "falling": (-1, 1)}
# Stones of the opponent, far from any line through the middle that the tests use, in (rows, columns) from the middle.
AWAY = [(2, 4), (-4, 2), (4, -3), (-3, -4)]

each_gomoku_network = pytest.mark.parametrize("path", GOMOKU, ids=lambda path: path.stem)


def test_there_is_a_manifest_for_all_weights_that_are_handed_out():
    assert [path.stem for path in MANIFESTS] == ["11_11_5", "15_15_5", "3_3_3", "5_5_4"]
    assert [path.stem for path in OTHER_GAMES] == ["go_5x5", "go_7x7", "nogo_9x9"]
    assert [path.stem for path in FROM_NOTHING] == ["gomoku_11x11", "gomoku_9x9"]
    assert sorted(path.stem for path in MODEL.rglob("*") if path.suffix in (".pt", ".model")) == sorted(
        path.stem for path in [*MANIFESTS, *OTHER_GAMES, *FROM_NOTHING]
    )


@pytest.mark.parametrize("path", [*MANIFESTS, *FROM_NOTHING], ids=lambda path: path.stem)
def test_the_weights_are_those_of_the_manifest_and_load(path, reference):
    manifest = json.loads(path.read_text(encoding="utf-8"))
    file = path.parent / manifest["file"]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == manifest["sha256"]
    width, height, _ = manifest["board"]
    network = reference("policy_value_net_torch").PolicyValueNet(width, height, manifest["blocks"])
    network.model.load_state_dict(torch.load(file, weights_only=True), strict=True)
    supervised_alone = {"teacher", "configurations", "positions", "samples", "cpu_hours", "held_back"}
    assert {"origin", "strength"} <= set(manifest)
    assert supervised_alone <= set(manifest) or not manifest["origin"].startswith("supervised")


@pytest.mark.parametrize("name", ["5_5_4", "11_11_5", "15_15_5", "from_nothing/gomoku_9x9", "from_nothing/gomoku_11x11"])
def test_the_weights_of_a_self_play_run_are_those_of_its_last_evaluation(name):
    manifest = json.loads((MODEL / f"{name}.json").read_text(encoding="utf-8"))
    *earlier, last = manifest["evaluations"]
    assert earlier and earlier[0]["games"] == 0
    assert last["games"] == manifest["games"]
    assert last["steps"] * manifest["configurations"][0]["batch_size"] == manifest["samples"]
    assert {"elo": last["elo"], "error_95": last["error_95"]} == manifest["elo_against_pure_mcts"]


@pytest.mark.parametrize("path", [*OTHER_GAMES, *FROM_NOTHING], ids=lambda path: path.stem)
def test_the_networks_of_runs_beat_random_rollouts_from_anywhere(path, reference, monkeypatch, tmp_path):
    manifest = json.loads(path.read_text(encoding="utf-8"))
    weights = path.with_suffix(".model")
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == manifest["sha256"] and manifest["strength"]
    width, height, _ = manifest["board"]
    rules = rules_of(manifest["game"], width, height, komi=manifest["configurations"][0]["komi"])
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    agents = (make_agent(f"gumbel:{weights}?playouts=32", rules, 5, rng), make_agent("mcts:playouts=8", rules, 5, rng))
    result = play_lockstep_match(agents, MatchSettings(rules, games=10), rng)
    assert result.statistics.wins >= 8


@each_gomoku_network
def test_the_results_of_the_teachers_games_add_up(path):
    manifest = json.loads(path.read_text(encoding="utf-8"))
    supervised = manifest.get("started_from", manifest)
    played = [games["games"] for games in supervised["teacher"]["games"]]
    assert played and [sum(games["results"].values()) for games in supervised["teacher"]["games"]] == played


def test_both_boards_of_the_handout_have_weights_of_its_depth():
    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in GOMOKU]
    assert [manifest["board"] for manifest in manifests] == [[11, 11, 5], [15, 15, 5]]
    for manifest in manifests:
        assert manifest["blocks"] == 19 and manifest["strength"]


@each_gomoku_network
def test_what_is_played_leaves_out_blocks_and_answers_alike(path, reference):
    manifest = json.loads(path.read_text(encoding="utf-8"))
    width, height, _ = manifest["board"]
    weights = MODEL / manifest["file"]
    make = reference("policy_value_net_torch").PolicyValueNet
    whole = make(width, height, manifest["blocks"], init_model=weights)
    played = load_network(make, weights, width, height)
    assert len(played.model.resnet) == manifest["blocks_trained"] < manifest["blocks"]
    torch.manual_seed(1)
    states = (torch.rand(4, 9, height, width) < 0.2).float().numpy()
    for expected, given in zip(whole.policy_value(states, 2, 3), played.policy_value(states, 2, 3), strict=True):
        assert given == pytest.approx(expected, abs=1e-5)


@pytest.fixture
def choose(path, reference):
    """The network's likeliest legal move for the side to move, without any search, as an offset from the middle."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    width, height, n_in_row = manifest["board"]
    torch.set_num_threads(1)
    make = reference("policy_value_net_torch").PolicyValueNet
    network = load_network(make, MODEL / manifest["file"], width, height)

    def likeliest(stones):
        """stones: offsets from the middle (rows upwards, columns to the right), the first player's first."""
        board = Board(width=width, height=height, n_in_row=n_in_row)
        board.init_board()
        for h, w in stones:
            board.do_move(board.location_to_move([height // 2 + h, width // 2 + w]))
        probs, _ = network.policy_value_fn(board, network.action_fc_test, network.evaluation_fc2_test)
        h, w = board.move_to_location(max(probs, key=lambda move_and_prob: move_and_prob[1])[0])
        return h - height // 2, w - width // 2

    return likeliest


def line(direction, *steps):
    return [(step * DIRECTIONS[direction][0], step * DIRECTIONS[direction][1]) for step in steps]


def alternately(first, second):
    """The stones of both in turn; the first player has as many as the second or one more."""
    return [(first, second)[ply % 2][ply // 2] for ply in range(len(first) + len(second))]


@each_gomoku_network
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_network_completes_a_four(choose, path, direction):
    assert choose(alternately(line(direction, -1, 0, 1, 2), AWAY)) in line(direction, -2, 3)


@each_gomoku_network
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_network_makes_an_open_four_of_an_open_three(choose, path, direction):
    assert choose(alternately(line(direction, -1, 0, 1), AWAY[:3])) in line(direction, -2, 2)


@each_gomoku_network
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_network_answers_a_four_that_is_closed_at_one_end(choose, path, direction):
    own = [*line(direction, -2), *AWAY[:2]]
    assert choose(alternately(line(direction, -1, 0, 1, 2), own)) in line(direction, 3)


@each_gomoku_network
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_network_answers_an_open_three(choose, path, direction):
    assert choose(alternately(line(direction, -1, 0, 1), AWAY[:2])) in line(direction, -3, -2, 2, 3)
