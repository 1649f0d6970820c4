"""The statistics of a match: textbook values, clusters, and the coverage of the interval if games depend on each other."""

import itertools
import json
import math

import numpy as np
import pytest

from arena.statistics.estimates import (
    GameResult,
    beta_cdf,
    clusters,
    effective_games,
    elo,
    expected_score,
    likelihood_of_superiority,
    match_statistics,
    move_times,
    pair_counts,
    percentile,
    t_quantile_975,
    wilson_95,
)


def games(*values, **keys):
    """Make games with these values; each keyword argument is a list with one entry per game."""
    return [GameResult(value, **{name: entries[i] for name, entries in keys.items()}) for i, value in enumerate(values)]


# ------------------------------------------------------------------------------------------------- textbook values


@pytest.mark.parametrize(
    ("wins", "plays", "low", "high"),
    [(32, 64, 0.381, 0.619), (38, 64, 0.471, 0.705), (50, 64, 0.666, 0.865), (58, 64, 0.810, 0.956), (200, 256, 0.727, 0.828)],
)
def test_wilson_interval_is_that_of_the_textbook(wins, plays, low, high):
    assert wilson_95(wins, plays) == pytest.approx((low, high), abs=6e-4)


def test_wilson_interval_reaches_its_end_where_all_was_won_or_lost_and_says_nothing_without_a_game():
    assert wilson_95(0, 0) == (0.0, 1.0)
    low, high = wilson_95(64, 64)
    assert (round(low, 4), high) == (0.9434, 1.0)
    assert wilson_95(0, 7)[0] == 0.0


def test_percentiles_are_values_that_occurred():
    assert percentile([3, 1, 2, 4], 0.5) == 2 and percentile(range(1, 101), 0.95) == 95
    assert move_times([]) == {"median": None, "p95": None, "max": None}


@pytest.mark.parametrize(("rate", "difference"), [(0.5, 0), (0.6, 70.44), (0.75, 190.85), (10 / 11, 400), (0.1, -381.7)])
def test_elo_and_score_rate_are_inverse_to_each_other(rate, difference):
    assert elo(rate) == pytest.approx(difference, abs=0.01)
    assert expected_score(elo(rate)) == pytest.approx(rate)


def test_elo_is_infinite_where_all_was_won_or_lost_and_undefined_outside():
    assert (elo(0), elo(1)) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="from 0 to 1"):
        elo(1.01)


def test_beta_and_student_agree_with_known_values():
    assert beta_cdf(0.5, 2, 3) == pytest.approx(11 / 16)
    assert beta_cdf(0.3, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(0.3)))
    assert (beta_cdf(0, 2, 3), beta_cdf(1, 2, 3)) == (0, 1)
    for freedom, value in ((1, 12.7062), (2, 4.3027), (5, 2.5706), (30, 2.0423)):
        assert t_quantile_975(freedom) == pytest.approx(value, abs=1e-4)


def test_likelihood_of_superiority_is_that_of_a_uniform_prior():
    assert likelihood_of_superiority(0.5, 100) == pytest.approx(0.5)
    assert likelihood_of_superiority(1, 5) == pytest.approx(1 - 0.5**6)
    # P(Beta(39, 27) > 1/2) as a sum: at most 38 heads in 65 tosses.
    exact = sum(math.comb(65, k) for k in range(39)) / 2**65
    assert likelihood_of_superiority(38 / 64, 64) == pytest.approx(exact)


# ------------------------------------------------------------------------------------------------------ edge cases


def test_no_game_says_nothing():
    result = match_statistics([])
    assert (result.games, result.score_rate, result.elo, result.los, result.pairs) == (0, None, None, 0.5, None)
    assert result.interval_95 == result.naive_95 == (0.0, 1.0)
    json.dumps(result.to_json(), allow_nan=False)


def test_one_game_says_little():
    result = match_statistics(games(1))
    assert result.effective_games == 1 and result.interval_95 == pytest.approx((0.2065, 1), abs=1e-4)


@pytest.mark.parametrize("value", [0, 1])
def test_a_clean_score_has_infinite_elo_written_as_null(value):
    result = match_statistics(games(*[value] * 64))
    assert result.effective_games == 64 and result.interval_95 == result.naive_95
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["elo"]["difference"] is None and data["elo"]["error"] is None
    known = data["elo"]["low" if value else "high"]
    assert known == pytest.approx(488.7 if value else -488.7, abs=0.1)
    assert data["elo"]["high" if value else "low"] is None


def test_draws_are_half_wins_that_vary_less():
    result = match_statistics(games(*[0.5] * 64))
    assert (result.wins, result.draws, result.losses, result.score_rate) == (0, 64, 0, 0.5)
    assert result.elo.difference == 0 and result.los == pytest.approx(0.5)
    assert result.effective_games == 128


def test_a_value_that_is_no_result_is_refused():
    with pytest.raises(ValueError, match=r"got 0\.7"):
        GameResult(0.7)


def test_independent_games_have_wilsons_interval():
    result = match_statistics(games(*[1] * 38, *[0] * 26))
    assert result.interval_95 == pytest.approx(result.naive_95)
    assert result.elo.difference == pytest.approx(65.9, abs=0.1) and result.elo.error == pytest.approx(85.8, abs=0.1)


# ---------------------------------------------------------------------------------------- pairs and repeated games


def test_clusters_are_linked_by_pairs_and_repetitions_also_by_a_chain():
    found = clusters(games(1, 0, 1, 0, 1, 1, pair=["a", "a", "b", "b", None, None], identity=[1, 2, 2, 3, 4, None]))
    assert found == [0, 0, 0, 0, 4, 5]


def test_a_pair_key_and_an_identity_that_are_equal_are_no_link():
    assert clusters(games(1, 1, pair=[1, None], identity=[None, 1])) == [0, 1]


def test_a_game_played_64_times_is_one_game():
    result = match_statistics(games(*[1] * 64, identity=["x"] * 64))
    assert (result.distinct_games, result.clusters, result.effective_games) == (1, 1, 1)
    assert result.interval_95[0] < 0.21 and result.naive_95[0] > 0.94


def test_each_of_32_games_played_twice_counts_as_32():
    values = [float(i % 4 != 0) for i in range(32)]
    result = match_statistics(games(*values, *values, identity=[*range(32), *range(32)]))
    assert result.effective_games == pytest.approx(32)
    assert result.interval_95 == pytest.approx(wilson_95(24, 32))


def test_pairs_that_balance_out_narrow_the_interval_and_pairs_that_agree_widen_it():
    split = [i % 2 for i in range(64)]
    balanced = match_statistics(games(*split, pair=[i // 2 for i in range(64)]))
    agreeing = match_statistics(games(*[i // 2 % 2 for i in range(64)], pair=[i // 2 for i in range(64)]))
    assert balanced.effective_games == 128 and agreeing.effective_games == pytest.approx(32)
    width = [result.interval_95[1] - result.interval_95[0] for result in (balanced, agreeing)]
    naive = balanced.naive_95[1] - balanced.naive_95[0]
    assert width[0] < naive < width[1]


def test_a_few_clusters_are_not_believed():
    assert effective_games(games(1, 0, pair=["a", "a"])) == 1
    three = match_statistics(games(1, 0, 1, 0, 1, 1, pair=list("aabbcc"))).interval_95
    assert three[1] - three[0] > wilson_95(4, 6)[1] - wilson_95(4, 6)[0]


def test_pairs_are_counted_by_their_points():
    values = (0, 0, 0.5, 0, 1, 0, 1, 0.5, 1, 1, 1)
    assert pair_counts(games(*values, pair=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5])) == (1, 1, 1, 1, 1)
    assert pair_counts(games(1, 1, 0, 0, pair=["a"] * 4)) == (1, 0, 0, 0, 1)
    assert pair_counts(games(1, 0)) is None


# -------------------------------------------------------------------------------------------------------- coverage


def nearly_deterministic_match(rng, openings, rate, correlation, draws, paired):
    """Make a match of 64 games whose outcomes are fixed: two for each opening, drawn once for engines with this true rate.

    Outcomes come from normal variables. Those of the two colours of an opening share a part, with the sign of `correlation`.
    """
    shared, own = math.sqrt(abs(correlation)), math.sqrt(1 - abs(correlation))
    common = rng.standard_normal(openings)
    strength = np.stack([common * shared, math.copysign(1, correlation) * common * shared])
    ranks = np.vectorize(lambda z: math.erfc(-z / math.sqrt(2)) / 2)(strength + own * rng.standard_normal((2, openings)))
    outcomes = np.where(ranks < rate - draws / 2, 1.0, np.where(ranks < rate + draws / 2, 0.5, 0.0))
    drawn = rng.integers(openings, size=(2, 32))
    if paired:
        drawn[1] = drawn[0]
    results = []
    for colour, i in itertools.product((0, 1), range(32)):
        opening = int(drawn[colour, i])
        results.append(GameResult(float(outcomes[colour, opening]), opening if paired else None, (colour, opening)))
    return results


@pytest.mark.parametrize(
    ("openings", "rate", "correlation", "draws", "paired", "naive_at_most"),
    [
        (20, 0.5, 0.5, 0.0, True, 0.75),
        (20, 0.8, 0.9, 0.0, True, 0.75),
        (35, 0.7, 0.0, 0.15, True, 0.92),
        (49, 0.9, 0.5, 0.0, True, 0.92),
        (49, 0.8, -0.9, 0.0, True, 1.0),
        (25, 0.6, 0.0, 0.0, False, 0.85),
        (1000, 0.5, -0.9, 0.0, True, 1.0),  # hardly any repetitions: tests the pairs alone
    ],
)
def test_the_interval_covers_the_true_rate_where_the_naive_one_does_not(
    openings, rate, correlation, draws, paired, naive_at_most
):
    rng = np.random.default_rng(20240901)
    matches, covered, naively = 1000, 0, 0
    for _ in range(matches):
        result = match_statistics(nearly_deterministic_match(rng, openings, rate, correlation, draws, paired))
        covered += result.interval_95[0] <= rate <= result.interval_95[1]
        naively += result.naive_95[0] <= rate <= result.naive_95[1]
    assert covered / matches >= 0.93
    assert naively / matches <= naive_at_most


def test_pairs_that_balance_out_buy_a_narrower_interval_at_the_same_coverage():
    rng = np.random.default_rng(7)
    widths, covered = [], 0
    for _ in range(500):
        result = match_statistics(nearly_deterministic_match(rng, 1000, 0.5, -0.9, 0.0, True))
        widths.append((result.interval_95[1] - result.interval_95[0]) / (result.naive_95[1] - result.naive_95[0]))
        covered += result.interval_95[0] <= 0.5 <= result.interval_95[1]
    assert np.mean(widths) < 0.8 and covered / 500 >= 0.93
