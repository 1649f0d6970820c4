"""Self-play: every game is one by the rules, recorded as it was played, replaced at once and repeated by its seed."""

from dataclasses import replace
from itertools import chain, islice, repeat

import numpy as np
import pytest

from Board.game_board import Board
from common.errors import UsageError
from games.gomoku.rules import GomokuRules
from training.samples import FinishedGame, pack_states, unpack_states
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.selfplay.balanced_openings import OpeningSettings
from training.selfplay.game_stream import SelfPlay, SelfPlaySettings

PUCT = PuctSettings(playouts=12, first_n_moves=4)
GUMBEL = GumbelSettings(playouts=8, considered=4)


def settings(search=PUCT, **more):
    return SelfPlaySettings(GomokuRules(4, 3, 3), games=6, search=search, **more)


def finished_games(selfplay, count):
    return list(islice(chain.from_iterable(selfplay.step() for _ in repeat(None)), count))


def play(evaluate, count=20, seed=1, **more):
    return finished_games(SelfPlay(settings(**more), evaluate, np.random.default_rng(seed)), count)


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


def test_a_search_without_playouts_is_refused_in_a_sentence(fixed_evaluator):
    refusal = pytest.raises(UsageError, match="expected playouts of at least 1 for a search; got 0")
    for search in (PUCT, GUMBEL):
        with refusal:
            replace(search, playouts=0)
        with refusal:  # the number of the settings does not take its place
            play(fixed_evaluator(12), search=search, full_share=0.5, fast_playouts=0)
    with pytest.raises(UsageError, match="expected leaves of at least 1 for a search; got 0"):
        PuctSettings(leaves=0)


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


def test_where_nobody_may_resign_the_first_who_would_have_is_noted(fixed_evaluator):
    games = play(fixed_evaluator(12), count=40, resign_below=-0.3, play_on_share=1.0)
    for game in games:
        below = np.flatnonzero(game.values < -0.3)
        assert game.would_resign == (1 + below[0] % 2 if below.size else -1)
    assert {game.would_resign for game in games} >= {-1, 1}
    resigning = play(fixed_evaluator(12), count=40, resign_below=-0.3, play_on_share=0.0)
    assert {game.would_resign for game in [*resigning, *play(fixed_evaluator(12))]} == {-1}


@pytest.mark.parametrize("search", [PUCT, GUMBEL])
def test_only_moves_searched_with_all_playouts_are_learnt(fixed_evaluator, search, monkeypatch):
    selfplay = SelfPlay(settings(search, full_share=0.4, fast_playouts=3), fixed_evaluator(12), np.random.default_rng(1))
    decide, searches = selfplay._search.decide, []

    def noted(boards, is_selfplay, fast_playouts):
        searches.append((boards.length.copy(), fast_playouts))
        return decide(boards, is_selfplay, fast_playouts)

    monkeypatch.setattr(selfplay._search, "decide", noted)
    games = finished_games(selfplay, 30)
    assert {few for _, few in searches} == {None, 3}
    assert 0.2 < np.mean([few is None for _, few in searches]) < 0.6
    learnt = sum(len(game.plies) for game in games)
    assert 0.2 < learnt / sum(len(game.moves) for game in games) < 0.6
    first = games[0]  # of the games that began in the first step
    full = [int(few is None) for _, few in searches[: len(first.moves)]]
    assert first.plies.tolist() == np.flatnonzero(full).tolist()
    for game in games:
        board, states = Board(width=4, height=3, n_in_row=3), unpack_states(game.states, GomokuRules(4, 3, 3))
        for ply, move in enumerate(game.moves.tolist()):
            for at in np.flatnonzero(game.plies == ply):
                assert np.array_equal(states[at], board.current_state()) and game.policies[at, move] > 0
            board.do_move(move)
        assert board.game_end() == (True, game.winner)


@pytest.mark.parametrize("search", [PUCT, GUMBEL])
def test_games_begin_with_openings_but_for_a_share_of_empty_boards(fixed_evaluator, search):
    openings = OpeningSettings(3, value=0.5, empty_share=0.3)
    games = play(fixed_evaluator(12), count=60, search=search, openings=openings)
    assert {game.opening for game in games} == {0, 1, 2, 3}
    assert 0.1 < np.mean([game.opening == 0 for game in games]) < 0.5
    for game in games:
        assert game.plies.tolist() == list(range(game.opening, len(game.moves)))
        board = Board(width=4, height=3, n_in_row=3)
        for move in game.moves[: game.opening].tolist():
            board.do_move(move)
        assert np.array_equal(unpack_states(game.states[:1], GomokuRules(4, 3, 3))[0], board.current_state())
        for move in game.moves[game.opening :].tolist():
            board.do_move(move)
        assert board.game_end() == (True, game.winner)


def test_states_packed_and_unpacked_are_the_same_and_take_a_bit_for_each_point():
    states = np.random.default_rng(1).integers(0, 2, (7, 9, 5, 3)).astype(np.float32)
    packed = pack_states(states)
    assert packed.shape == (7, 17) and np.array_equal(unpack_states(packed, GomokuRules(3, 5, 3)), states)
    values = np.zeros(7, np.float16)
    game = FinishedGame(np.zeros(7, np.int16), np.arange(7), packed, np.zeros((7, 15), np.float16), values, -1)
    assert game.nbytes == 7 * (17 + 30 + 2 + 1) and game.results.tolist() == [0] * 7
