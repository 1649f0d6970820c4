"""Self-play of train.py --fast: its games are those that the serial loop would play, by the same trees."""

import numpy as np
import pytest

from Board.game_board import Board
from training.inference.evaluators import InferenceNetwork
from training.search.puct import PuctSettings
from training.selfplay import fast


def games_of(network, size, settings, seed):
    copied = fast.fast_network(network, size, settings.playouts, "torch")
    return fast.fast_games(network, copied, size, settings, np.random.default_rng(seed))


def test_a_game_has_the_policies_of_the_serial_search_from_the_same_noise(reference, make_network, monkeypatch):
    """From move to move the reference's player keeps its tree, is given the noise that the game had, and its moves."""
    monkeypatch.setattr(fast, "GAMES_AT_ONCE", 1)
    monkeypatch.setattr(fast, "RandomSymmetry", lambda evaluate, symmetries, rng: evaluate)
    network = make_network(4, 3, 1)
    settings = PuctSettings(playouts=40, c_puct=3, first_n_moves=4)
    samples = next(games_of(network, (4, 3, 3), settings, seed=7))
    rng = np.random.default_rng(7)
    monkeypatch.setattr(np.random, "dirichlet", rng.dirichlet)
    player = reference("mcts_alphaZero").MCTSPlayer(network.policy_value_fn, 2, 3, c_puct=3, n_playout=40)
    player.mcts._is_selfplay = True
    board = Board(width=4, height=3, n_in_row=3)
    for number, (state, policy, _) in enumerate(samples):
        assert np.array_equal(state, board.current_state())
        moves, visits = player.mcts.get_move_visits(board)
        expected, chances = np.zeros(12), np.zeros(12)
        expected[moves] = np.array(visits) / sum(visits)
        assert np.abs(policy - expected).max() < 1e-3  # kept in float16
        logits = np.log(np.array(visits) + 1e-10) / (1.0 if number < 4 else 1e-3)
        chances[moves] = np.exp(logits - logits.max())
        cumulative = chances.cumsum()
        move = int((cumulative > rng.random() * cumulative[-1]).argmax())
        player.mcts.update_with_move(move)
        mover = board.current_player
        board.do_move(move)
    ended, winner = board.game_end()
    assert ended and len(samples) >= 5
    assert samples[-1][2] == (0 if winner == -1 else 1 if winner == mover else -1)


def test_what_the_network_has_learnt_is_used_from_the_next_move_on(make_network):
    network = make_network(3, 3, 1)
    games = games_of(network, (3, 3, 3), PuctSettings(playouts=60), seed=1)

    def first_moves():
        return np.mean([next(games)[0][1] for _ in range(2 * fast.GAMES_AT_ONCE)][fast.GAMES_AT_ONCE :], axis=0)

    before = first_moves()
    corner = network.model.dense_layer_1.bias
    corner.data[:] = -20.0
    corner.data[[0, 2, 6, 8]] = 20.0  # alike under all symmetries
    after = first_moves()
    assert after[[0, 2, 6, 8]].sum() > max(0.5, before[[0, 2, 6, 8]].sum() + 0.1)


def test_one_copy_plays_and_takes_new_weights_only_after_games_have_ended(make_network, monkeypatch):
    network, size, loads = make_network(3, 3, 1), (3, 3, 3), []
    copied = fast.fast_network(network, size, 4, "torch")
    monkeypatch.setattr(fast, "fast_network", None)
    monkeypatch.setattr(InferenceNetwork, "load", lambda self, model: loads.append(self))
    games = fast.fast_games(network, copied, size, PuctSettings(playouts=4), np.random.default_rng(1))
    next(games)
    assert loads == []  # no game has ended before, whatever the number of moves so far
    for _ in range(40):
        next(games)
    assert 3 <= len(loads) < 41 and set(loads) == {copied}


@pytest.mark.parametrize(
    ("load_s", "call_s", "library"), [(0.1, 0.01, "openvino"), (0.1, 0.017, "torch"), (2.0, 0.01, "torch")]
)
def test_openvino_plays_only_where_it_is_clearly_faster_with_its_new_weights(
    openvino, make_network, monkeypatch, load_s, call_s, library
):
    """Torch takes 0.1 s for new weights and 0.02 s for a batch."""
    monkeypatch.setattr(fast, "_seconds", lambda network, *_: (0.1, 0.02) if network.library == "torch" else (load_s, call_s))
    network = fast.fast_network(make_network(3, 3, 1), (3, 3, 3), 50, "auto")
    assert network.library == library and network.description == f"{library}, float32 on cpu"
