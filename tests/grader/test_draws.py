"""Draws by given chances and noise of a given concentration pass; what is drawn otherwise stands out."""

from math import log

import numpy as np
import pytest

from grader.judge.checks.test_noise import LEAST_NOISE_SHARE, NOISE_DRAWS, UNEVENNESS
from grader.judge.checks.test_temperature import LEAST_LOG_CHANCE
from grader.judge.support.draws import (
    fitting_alpha,
    log_improbability,
    log_improbability_of_count,
    noise_share,
    unevenness,
)


def series(seed, count=96, entries=8):
    """Chances of moves as visits give them, some without a visit."""
    numbers = np.random.default_rng(seed)
    visits = numbers.integers(0, 20, (count, entries)) + np.eye(entries, dtype=int)[numbers.integers(0, entries, count)] * 15
    return numbers, [row / row.sum() for row in visits]


def test_moves_drawn_by_their_chances_are_hardly_ever_improbable():
    worst = 0.0
    for seed in range(300):
        numbers, chances = series(seed)
        worst = min(worst, log_improbability(chances, [int(numbers.choice(len(p), p=p)) for p in chances]))
    assert worst > log(1e-3) > LEAST_LOG_CHANCE


@pytest.mark.parametrize("way", ["the likeliest", "evenly", "sharpened", "flattened", "the least likely"])
def test_moves_drawn_otherwise_are_improbable(way):
    for seed in range(20):
        numbers, chances = series(seed, count=480)
        others = {
            "the likeliest": lambda p: np.eye(len(p))[p.argmax()],
            "evenly": lambda p: np.ones(len(p)),
            "sharpened": lambda p: p**3,
            "flattened": lambda p: p**0.25 * (p > 0),
            "the least likely": lambda p: np.eye(len(p))[p.argmin()],
        }[way]
        drawn = [int(numbers.choice(len(p), p=others(p) / others(p).sum())) for p in chances]
        assert log_improbability(chances, drawn) < LEAST_LOG_CHANCE


def test_the_bound_is_no_smaller_than_the_probability():
    """Eight draws of the likelier of two outcomes, 0.9 ** 8; nothing at all; an outcome that cannot be."""
    assert 0 >= log_improbability([np.array([0.9, 0.1])] * 8, [0] * 8) >= 8 * log(0.9)
    assert log_improbability([], []) == 0
    assert log_improbability([np.array([1.0, 0.0])], [1]) < LEAST_LOG_CHANCE


def test_a_count_is_as_improbable_as_the_binomial_distribution_says():
    assert log_improbability_of_count(0, 48, 0.25) == pytest.approx(0)
    assert log_improbability_of_count(2, 2, 0.25) == pytest.approx(log(1 / 16))
    assert log_improbability_of_count(40, 48, 0.25) < LEAST_LOG_CHANCE < log_improbability_of_count(24, 48, 0.25)


@pytest.mark.parametrize("alpha", [0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
def test_the_concentration_of_dirichlet_noise_tells_its_alpha(alpha):
    numbers = np.random.default_rng(1)
    for _ in range(100):
        mean = np.mean([unevenness(eta) for eta in numbers.dirichlet(np.full(21, alpha), NOISE_DRAWS)])
        assert (UNEVENNESS[0] <= mean <= UNEVENNESS[1]) == (alpha == 0.3)


def test_alpha_is_found_again_from_its_unevenness():
    for alpha in (0.03, 0.3, 3.0):
        assert fitting_alpha((1 + alpha) / (1 + alpha * 21), 21) == pytest.approx(alpha)
    assert fitting_alpha(unevenness(np.full(21, 1 / 21)), 21) > 1e6


@pytest.mark.parametrize("share", [0.1, 0.2, 0.25])
@pytest.mark.parametrize("alpha", [0.03, 0.3, 1.0])
def test_the_share_of_the_noise_is_found_from_its_smallest_entries(alpha, share):
    numbers = np.random.default_rng(1)
    priors = numbers.dirichlet(np.full(21, 5.0))
    for _ in range(100):
        mixtures = (1 - share) * priors + share * numbers.dirichlet(np.full(21, alpha), NOISE_DRAWS)
        found = noise_share(mixtures, priors)
        assert found == pytest.approx(share, abs=2e-3)
        assert (found < LEAST_NOISE_SHARE) == (share < 0.25)


def test_flat_noise_makes_its_share_look_smaller():
    priors = np.full(21, 1 / 21)
    assert noise_share([0.75 * priors + 0.25 * priors], priors) == pytest.approx(0)
