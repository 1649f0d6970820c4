"""The weights of the reference's evaluation come out of the results that they made (instructor/teacher)."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "instructor" / "teacher" / "fit_patterns.py"


@pytest.fixture(scope="module")
def fitting(load_module):
    return load_module(SCRIPT)


@pytest.fixture(scope="module")
def program():
    subprocess.run(["make", "-s", "build/teacher/counts"], cwd=ROOT, check=True)
    return ROOT / "build" / "teacher" / "counts"


def write_games(path, *games, size=15):
    lines = [{"size": size, "first_seed": 1, "nodes": 1}, *games]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_counts_are_those_of_the_side_to_move_first(fitting, program, tmp_path):
    # Black has two stones side by side far from white's scattered ones when ply 5 is white's, ply 6 black's.
    moves = [7 * 15 + 7, 0, 7 * 15 + 8, 14, 14 * 15, 14 * 15 + 14, 2]
    rows = fitting.read_counts(program, [write_games(tmp_path / "a.jsonl", {"winner": 0, "moves": moves})])
    assert rows[:, 0].tolist() == [0, 0] and rows[:, 1].tolist() == [0, 1]  # white to move has lost, black has won
    white, black = rows[:, 2:]
    open_three = fitting.PATTERNS.index("OPEN_THREE")
    assert white[open_three] == 0 and white[6 + open_three] == 4  # _X_XX_X_ : two points on either side of the pair
    assert black[open_three] == 4 and black[6 + open_three] == 0
    assert white[12:].tolist() == black[12:].tolist() == [0, 0, 0, 0]


def test_drawn_games_and_positions_that_threats_decide_are_left_out(fitting, program, tmp_path):
    three = [7 * 15 + 6, 0, 7 * 15 + 7, 14, 7 * 15 + 8, 14 * 15, 2]  # ply 5: black threatens, ply 6: black wins by fours
    games = [{"winner": -1, "moves": [112, 0, 113, 14, 210, 224, 2]}, {"winner": 0, "moves": three}]
    assert len(fitting.read_counts(program, [write_games(tmp_path / "a.jsonl", *games)])) == 0


def test_the_fit_finds_the_weights_that_results_were_drawn_by(fitting):
    rng = np.random.default_rng(1)
    true = fitting.Weights(np.array([0, 10, 20, 30, 60, 110.0]), np.array([200, 240, 280, 50.0]), 100.0, 0.2)
    counts = np.hstack([rng.poisson(2, (40_000, 12)), rng.random((40_000, 4)) < 0.3]).astype(float)
    wins = (rng.random(len(counts)) < 1 / (1 + np.exp(-0.005 * true.scores(counts)))).astype(float)
    begin = fitting.Weights(np.full(6, 40.0), np.full(4, 150.0), 50.0)
    found = fitting.fit(counts, wins, begin)
    scale = fitting.scale_of(begin.scores(counts), wins) / 0.005  # the result is on the scale of `begin`
    assert found.values * scale == pytest.approx(true.values, abs=6)
    assert found.ready * scale == pytest.approx(true.ready, abs=25)
    assert found.share == pytest.approx(true.share, abs=0.08) and found.tempo * scale == pytest.approx(true.tempo, abs=45)


def test_the_weights_in_use_are_read_from_the_engine(fitting):
    used = fitting.weights_in_use()
    assert used.values.shape == (6,) and (np.diff(used.values) >= 0).all() and (used.ready > 0).all() and used.tempo > 0


def test_games_of_another_board_get_one_sentence(tmp_path):
    games = write_games(tmp_path / "a.jsonl", size=11)
    done = subprocess.run([sys.executable, SCRIPT, "/bin/true", games], capture_output=True, text=True)
    assert done.returncode == 2 and "expected games of build/teacher/15" in done.stderr and "Traceback" not in done.stderr
