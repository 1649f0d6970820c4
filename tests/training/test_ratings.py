"""Ratings: of two players as a proportion has them, of many those that results were made from."""

from math import log

import numpy as np
import pytest

from training.ratings import RatedPair, elo_ratings


def test_of_two_engines_the_rating_is_the_logit_of_the_rate_and_its_error_that_of_a_proportion():
    elo, covariance = elo_ratings(2, [RatedPair(0, 1, points=74.5, games=99)])
    per_nat = 400 / log(10)
    assert elo == pytest.approx([0, per_nat * log(75 / 25)])
    assert covariance[1, 1] == pytest.approx(per_nat**2 / (100 * 0.75 * 0.25))


def test_ratings_find_the_strengths_that_results_were_made_from():
    true = np.array([0, 300, 200, 550.0])
    pairs = []
    for low in range(4):
        for high in range(low + 1, 4):
            rate = 1 / (1 + 10 ** ((true[low] - true[high]) / 400))
            pairs.append(RatedPair(low, high, points=rate * 1e6, games=1e6))
    elo, _ = elo_ratings(4, pairs)
    assert elo == pytest.approx(true, abs=0.1)


def test_a_match_without_a_point_lost_has_a_finite_rating():
    elo, covariance = elo_ratings(2, [RatedPair(0, 1, points=20, games=20)])
    assert 500 < elo[1] < 1000 and np.isfinite(covariance).all()
