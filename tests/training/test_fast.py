"""Self-play of train.py --fast: its games are those that the serial loop would play, by the same trees."""

import numpy as np

from Board.game_board import Board
from training.search.puct import PuctSettings
from training.selfplay import fast


def test_a_game_has_the_policies_of_the_serial_search_from_the_same_noise(reference, make_network, monkeypatch):
    """From move to move the reference's player keeps its tree, is given the noise that the game had, and its moves."""
    monkeypatch.setattr(fast, "GAMES_AT_ONCE", 1)
    monkeypatch.setattr(fast, "RandomSymmetry", lambda evaluate, symmetries, rng: evaluate)
    network = make_network(4, 3, 1)
    settings = PuctSettings(playouts=40, c_puct=3, first_n_moves=4)
    samples = next(fast.fast_games(network, 4, 3, 3, settings, np.random.default_rng(7)))
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
    games = fast.fast_games(network, 3, 3, 3, PuctSettings(playouts=60), np.random.default_rng(1))

    def first_moves():
        return np.mean([next(games)[0][1] for _ in range(2 * fast.GAMES_AT_ONCE)][fast.GAMES_AT_ONCE :], axis=0)

    before = first_moves()
    corner = network.model.dense_layer_1.bias
    corner.data[:] = -20.0
    corner.data[[0, 2, 6, 8]] = 20.0  # alike under all symmetries
    after = first_moves()
    assert after[[0, 2, 6, 8]].sum() > max(0.5, before[[0, 2, 6, 8]].sum() + 0.1)
