"""Openings of self-play are those whose value for the network is near zero."""

import numpy as np

from games.gomoku.rules import GomokuRules
from training.selfplay.balanced_openings import ATTEMPTS, OpeningSettings, after, balanced_openings

RULES = GomokuRules(5, 5, 4)


def value_by_stones(values, calls):
    """An evaluator whose value depends on the number of stones alone."""

    def evaluate(states):
        stones = (states[:, 0] + states[:, 1]).sum(axis=(1, 2)).astype(int)
        calls.append(len(states))
        return np.full((len(states), 25), 0.04, dtype=np.float32), np.array([values[count] for count in stones])

    return evaluate


def test_positions_after_openings_of_different_lengths_are_those_of_the_board():
    lines = [[12], [7, 11, 13]]
    for batch, line in zip(after(RULES, lines).feature_planes(), lines, strict=True):
        board = RULES.position()
        for move in line:
            board.do_move(move)
        assert np.array_equal(batch, board.current_state())


def test_openings_are_drawn_again_until_they_are_balanced_for_either_side():
    calls = []
    evaluate = value_by_stones({1: 0.9, 2: -0.2, 3: -0.31, 4: 0.29}, calls)
    openings = balanced_openings(RULES, 40, OpeningSettings(4, value=0.3), evaluate, np.random.default_rng(1))
    assert {len(opening) for opening in openings} == {2, 4} and all(len(set(one)) == len(one) for one in openings)
    assert calls[0] == 40 and calls == sorted(calls, reverse=True) and 1 < len(calls) <= ATTEMPTS


def test_where_none_is_balanced_the_least_decided_one_is_played():
    calls = []
    evaluate = value_by_stones({1: 0.9, 2: -0.8, 3: 0.95}, calls)
    openings = balanced_openings(RULES, 20, OpeningSettings(3, value=0.3), evaluate, np.random.default_rng(1))
    assert {len(opening) for opening in openings} == {2} and calls == [20] * ATTEMPTS
