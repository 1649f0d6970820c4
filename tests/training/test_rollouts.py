"""Random games from a state end as games on the board do, by the rules and in distribution."""

import random

import numpy as np
import pytest

from games.go.rules import GoRules
from games.gomoku.batch import GomokuBatch
from training.exact import board_after
from training.matches import MatchSettings, make_agent, play_lockstep_match
from training.search.puct import PuctSearch, PuctSettings, draw_moves
from training.search.rollouts import RandomRollouts, make_rollouts


def played(moves, width, height, n_in_row, copies=1):
    boards = GomokuBatch(copies, width, height, n_in_row)
    for move in moves:
        boards.play([move] * copies)
    return boards


def results(moves, width, height, n_in_row, copies=1, seed=1):
    boards = played(moves, width, height, n_in_row, copies)
    assert not boards.over.any()
    return RandomRollouts(n_in_row, np.random.default_rng(seed))(boards.feature_planes())


def test_empty_points_are_alike_and_taken_ones_cannot_be_chosen_below_a_search():
    probs, values = results([4, 1, 8], 3, 3, 3, copies=2)
    assert probs.shape == (2, 9) and probs.dtype == values.dtype == np.float32
    assert probs == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([6, 7, 8, 3, 5, 4, 0, 2], 0),  # one point is left, and nobody completes a row there
        ([0, 3, 1, 4, 5, 6, 7, 8], 1),  # one point is left, and whoever is to move completes a row there
        ([0, 3, 1, 5, 4, 7, 6], -1),  # two are left, either of which completes a row of the other side
    ],
)
def test_a_game_that_is_nearly_over_ends_as_it_must(moves, expected):
    _, values = results(moves, 3, 3, 3, copies=200)
    assert set(values.tolist()) == {expected}


@pytest.mark.parametrize(
    ("moves", "size"),
    [
        ([], (3, 3, 3)),
        ([0], (3, 3, 3)),
        ([0, 8, 1], (3, 3, 3)),
        ([5, 6, 9, 1, 2], (4, 4, 3)),
        ([7, 0, 12], (5, 3, 3)),
        ([], (4, 6, 4)),
    ],
)
def test_wins_losses_and_draws_are_as_frequent_as_on_the_board(moves, size):
    games, rng = 4000, random.Random(3)
    on_board = []
    start = board_after(moves, size)
    for _ in range(games):
        board = start.copy()
        ended, winner = board.game_end()
        while not ended:
            board.do_move(rng.choice(board.availables))
            ended, winner = board.game_end()
        on_board.append(0 if winner == -1 else 1 if winner == start.current_player else -1)
    values = results(moves, *size, copies=games)[1]
    for outcome in (-1, 0, 1):
        share, expected = (values == outcome).mean(), np.mean(np.array(on_board) == outcome)
        assert abs(share - expected) < 4.5 * np.sqrt(max(expected * (1 - expected), 1 / games) * 2 / games)


def test_the_search_over_rollouts_has_the_references_tree(reference, monkeypatch):
    """With one result for both instead of random rollouts, visit by visit, also where the game ends within the tree."""

    def result_of(moves_and_players):
        return float(sum((move + 1) ** 2 * player for move, player in moves_and_players) % 3 - 1)

    def rollout(self, board):
        ended, winner = board.game_end()
        if ended:
            return 0 if winner == -1 else 1 if winner == board.get_current_player() else -1
        return result_of(board.states.items())

    class Fixed(RandomRollouts):
        def __call__(self, states):
            probs, _ = super().__call__(states)
            values = []
            for state in states:
                own = 1 if state[8].all() else 2
                stones = [(m, p) for plane, p in ((state[1], own), (state[0], 3 - own)) for m in np.flatnonzero(plane[::-1])]
                values.append(result_of(stones))
            return probs.astype(np.float64), np.array(values)

    pure = reference("mcts_pure")
    monkeypatch.setattr(pure.MCTS, "_evaluate_rollout", rollout)
    board = board_after((5, 6, 1), (4, 3, 3))
    expected = pure.MCTS(pure.policy_value_fn, c_puct=5, n_playout=300)
    move = expected.get_move(board)
    evaluate = Fixed(3, np.random.default_rng(1))
    search = PuctSearch(1, 12, evaluate, PuctSettings(playouts=300), np.random.default_rng(1))
    search.run(played([5, 6, 1], 4, 3, 3), is_selfplay=False)
    visits = search.root_visits()[0]
    # Priors are float32 here and float64 there, which decides among equals alone: none is equal here.
    assert {m: node._n_visits for m, node in expected._root._children.items()} == {m: visits[m] for m in board.availables}
    assert visits.argmax() == move


DEPTH = 60  # as in the preset go_5; random games of 5x5 that play on after two passes are mostly longer


def test_rollouts_of_go_end_with_a_count_where_the_search_plays_on_after_two_passes():
    rules, rng = GoRules(5, 5, komi=24.5), np.random.default_rng(1)
    roots = rules.batch(48).for_search(DEPTH)
    playing_on = roots.take(slice(None))
    while not playing_on.over.all():
        playing_on = playing_on.take(~playing_on.over)
        playing_on.play_lines(draw_moves(playing_on.legal * 1.0, rng)[:, None], np.ones(len(playing_on), dtype=int))
        drawn = playing_on.winner[playing_on.over] == -1
    assert drawn.sum() > 24  # all that end last reach the depth limit at once, and count as draws
    _, values = make_rollouts(rules, rng).of_positions(roots)
    assert set(values.tolist()) <= {-1.0, 1.0}


@pytest.mark.thorough("a minute of play")
def test_a_pure_search_that_plays_on_after_two_passes_wins_against_random_moves():
    class Random:
        def choose(self, boards):
            return draw_moves(boards.legal * 1.0, rng)

    rules, rng = GoRules(5, 5, komi=0.5), np.random.default_rng(1)
    agent = make_agent(f"mcts:playouts=48&search_depth={DEPTH}", rules, 8, rng)
    assert play_lockstep_match((agent, Random()), MatchSettings(rules, 16), rng).statistics.wins >= 15
