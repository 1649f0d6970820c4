"""The ladder plays what is missing, rates as the model says, and says when the order is not as named."""

import subprocess
import sys
from math import log
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "ladder.py"


@pytest.fixture(scope="module")
def ladder(load_module):
    return load_module(BENCH)


def run_bench(*arguments):
    return subprocess.run([sys.executable, str(BENCH), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_of_two_engines_the_rating_is_the_logit_of_the_rate_and_its_error_that_of_a_proportion(ladder):
    elo, covariance = ladder.ratings(2, [ladder.Pair(0, 1, points=74.5, games=99)])
    per_nat = 400 / log(10)
    assert elo == pytest.approx([0, per_nat * log(75 / 25)])
    assert covariance[1, 1] == pytest.approx(per_nat**2 / (100 * 0.75 * 0.25))


def test_ratings_find_the_strengths_that_results_were_made_from(ladder):
    true = np.array([0, 300, 200, 550.0])
    pairs = []
    for low in range(4):
        for high in range(low + 1, 4):
            rate = 1 / (1 + 10 ** ((true[low] - true[high]) / 400))
            pairs.append(ladder.Pair(low, high, points=rate * 1e6, games=1e6))
    elo, _ = ladder.ratings(4, pairs)
    assert elo == pytest.approx(true, abs=0.1)


def test_a_match_without_a_point_lost_has_a_finite_rating(ladder):
    elo, covariance = ladder.ratings(2, [ladder.Pair(0, 1, points=20, games=20)])
    assert 500 < elo[1] < 1000 and np.isfinite(covariance).all()


def test_more_games_are_added_to_those_played_and_a_wrong_order_is_told(engines, tmp_path):
    terms = [tmp_path, "--engines-path", engines, "--engines", "baseline", "sample", "--seed", "3"]
    first = run_bench(*terms, "--games", 1)
    assert first.returncode == 0 and "The order is NOT monotone." in first.stdout, first.stderr
    records = tmp_path / "sample-baseline.jsonl"
    before = records.read_text()
    again = run_bench(*terms, "--games", 2)
    assert again.returncode == 0 and "| sample | baseline | 2 | 2 | 0 : 2 |" in again.stdout
    assert records.read_text().startswith(before)


def test_a_wrong_call_is_told_in_one_sentence(tmp_path):
    done = run_bench(tmp_path, "--engines", "alone")
    assert done.returncode == 2 and "expected at least two --engines" in done.stderr
    done = run_bench(tmp_path, "--engines", "nowhere", "neither", "--games", "1")
    assert done.returncode == 2 and "Traceback" not in done.stderr
