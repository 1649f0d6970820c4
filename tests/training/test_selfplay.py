"""Self-play: every game is one by the rules, recorded as it was played, replaced at once and repeated by its seed."""

from itertools import islice

import numpy as np
import pytest

from Board.game_board import Board
from games.gomoku.rules import GomokuRules
from training.samples import FinishedGame, pack_states, unpack_states
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.selfplay.game_stream import SelfPlay, SelfPlaySettings

PUCT = PuctSettings(playouts=12, first_n_moves=4)
GUMBEL = GumbelSettings(playouts=8, considered=4)


def settings(search=PUCT, **more):
    return SelfPlaySettings(GomokuRules(4, 3, 3), games=6, search=search, **more)


def play(evaluate, count=20, seed=1, **more):
    return list(islice(SelfPlay(settings(**more), evaluate, np.random.default_rng(seed)).finished_games(), count))


@pytest.mark.parametrize("search", [PUCT, GUMBEL])
def test_finished_games_are_games_of_the_board_with_its_states_and_results(fixed_evaluator, search):
    games = play(fixed_evaluator(12), search=search)
    for game in games:
        board = Board(width=4, height=3, n_in_row=3)
        states, movers = unpack_states(game.states, GomokuRules(4, 3, 3)), []
        for number, move in enumerate(game.moves.tolist()):
            assert not board.game_end()[0] and np.array_equal(states[number], board.current_state())
            policy = game.policies[number]
            assert np.flatnonzero(policy).tolist() == [m for m in board.availables if policy[m]]
            assert abs(float(policy.sum(dtype=np.float64)) - 1) < 5e-3 and policy[move] > 0
            movers.append(board.current_player)
            board.do_move(move)
        assert board.game_end() == (True, game.winner) and not game.resigned
        expected = [0 if game.winner == -1 else (1 if mover == game.winner else -1) for mover in movers]
        assert game.results.tolist() == expected and game.results.dtype == np.int8
    assert len({tuple(game.moves.tolist()) for game in games}) > 10
    assert {game.winner for game in games} >= {1, 2}


def test_a_finished_game_makes_room_for_a_new_one_at_once(fixed_evaluator):
    selfplay = SelfPlay(settings(), fixed_evaluator(12), np.random.default_rng(1))
    finished, lengths = 0, []
    for step in range(1, 25):
        before = selfplay.boards.length.copy()
        games = selfplay.step()
        finished += len(games)
        lengths += [len(game.moves) for game in games]
        assert ((selfplay.boards.length == before + 1) | (selfplay.boards.length == 0)).all()
        assert (selfplay.boards.length == 0).sum() == len(games)
        assert not selfplay.boards.over.any() and selfplay.moves_played == 6 * step
        assert sum(lengths) + selfplay.boards.length.sum() == selfplay.moves_played
    assert finished > 6


@pytest.mark.parametrize("search", [PUCT, GUMBEL])
def test_the_same_seed_plays_the_same_games_and_another_one_others(fixed_evaluator, search):
    first, again, other = (play(fixed_evaluator(12), seed=seed, search=search) for seed in (1, 1, 2))
    assert [game.moves.tolist() for game in first] == [game.moves.tolist() for game in again]
    assert [game.moves.tolist() for game in first] != [game.moves.tolist() for game in other]


def test_resigning_is_off_unless_asked_for_and_then_the_loser_is_who_gave_up(fixed_evaluator):
    evaluate = fixed_evaluator(12)
    resigning = play(evaluate, count=40, resign_below=-0.3, play_on_share=0.0)
    resigned = [game for game in resigning if game.resigned]
    assert resigned and len(resigned) < 40
    for game in resigned:
        board = Board(width=4, height=3, n_in_row=3)
        for move in game.moves[:-1].tolist():
            board.do_move(move)
        assert not board.game_end()[0] and game.winner == 3 - board.current_player and game.results[-1] == -1
    assert not any(game.resigned for game in play(evaluate, count=40, resign_below=-0.3, play_on_share=1.0))


def test_states_packed_and_unpacked_are_the_same_and_take_a_bit_for_each_point():
    states = np.random.default_rng(1).integers(0, 2, (7, 9, 5, 3)).astype(np.float32)
    packed = pack_states(states)
    assert packed.shape == (7, 17) and np.array_equal(unpack_states(packed, GomokuRules(3, 5, 3)), states)
    game = FinishedGame(np.zeros(7, np.int16), packed, np.zeros((7, 15), np.float16), -1, False)
    assert game.nbytes == 7 * (17 + 30 + 1) and game.results.tolist() == [0] * 7
