"""From the results of a match to points."""

import math
from fractions import Fraction

import pytest

from arena.statistics.estimates import GameResult, match_statistics, mean_interval_95
from common.errors import UsageError
from common.scoring import formula_named

SHIFTED, STRAIGHT = formula_named("shifted_score"), formula_named("straight")


def test_shifted_points_lose_nothing_by_rounding():
    for plays in (1, 7, 8, 10, 50, 64, 90):
        for wins in range(plays + 1):
            for losses in range(plays + 1 - wins):
                share = min(Fraction(1), (Fraction(wins - losses, plays) + 1) / Fraction(18, 10))
                assert SHIFTED.points(wins, losses, plays, 30) == math.floor(30 * share)
    assert SHIFTED.points(9, 1, 10, 30) == 30  # a score of exactly .8
    assert SHIFTED.points(3, 7, 10, 30.0) == 10  # exactly a third of the way
    assert (SHIFTED.points(9, 1, 10, 32.5), SHIFTED.points(8, 2, 10, 32.5)) == (32.5, 28)  # full points need not be whole


def test_shifted_points_count_a_draw_as_half_a_win_and_straight_points_as_nothing():
    assert SHIFTED.points(20, 24, 64, 30) == SHIFTED.points(30, 34, 64, 30) == 15
    assert SHIFTED.points(0, 0, 64, 30) == 16
    assert STRAIGHT.points(6, 1, 8, 30) == 22.5 and STRAIGHT.points(0, 0, 8, 30) == 0
    assert STRAIGHT.points(1, 0, 3, 0.3) == 0.1


def test_an_interval_in_points_is_that_of_the_mean_put_into_the_formula():
    def points(formula, games):
        return tuple(formula.points_at(end, 30) for end in mean_interval_95(games, formula.draw))

    games = [GameResult(1)] * 7 + [GameResult(0)]
    low, high = match_statistics(games).interval_95
    assert points(SHIFTED, games) == (math.floor(30 * low / 0.9), 30) == (17, 30)
    assert points(STRAIGHT, games) == pytest.approx((30 * low, 30 * high))
    drawn = [GameResult(0.5)] * 8
    assert points(STRAIGHT, drawn)[0] == 0, "a draw gives nothing"
    same = [GameResult(1, identity="x")] * 64
    assert points(SHIFTED, same)[0] < 8, "games that repeat are one game"
    assert points(SHIFTED, []) == (0, 30)


def test_an_unknown_formula_and_impossible_counts_are_one_sentence():
    with pytest.raises(UsageError, match=r"^expected a score formula among shifted_score, straight; got 'steep'$"):
        formula_named("steep")
    for counts in ((0, 0, 0), (3, 2, 4), (-1, 0, 4)):
        with pytest.raises(ValueError, match="expected a match of at least one game"):
            SHIFTED.points(*counts, 30)
