"""Games of NoGo for AlphaGo's first stage (instructor/teacher/nogo.cpp)."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from games.nogo.rules import NoGoRules
from training.supervised.dataset import load_positions

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ("--size", "5", "--simulations", "60", "--seed", "18")


@pytest.fixture(scope="module")
def teacher():
    subprocess.run(["make", "-s", "build/teacher/nogo"], cwd=ROOT, check=True)
    return ROOT / "build" / "teacher" / "nogo"


@pytest.fixture(scope="module")
def lessons(teacher, tmp_path_factory):
    path = tmp_path_factory.mktemp("lessons") / "games.jsonl"
    assert teach(teacher, path, "--games", "12").returncode == 0
    return path


def teach(teacher, path, *arguments):
    return subprocess.run([teacher, path, *SETTINGS, *arguments], capture_output=True, text=True, timeout=120)


def test_games_are_legal_and_end_as_the_rules_say(lessons):
    settings, *games = map(json.loads, lessons.read_text().splitlines())
    assert settings == {"size": 5, "game": "nogo", "first_seed": 18, "simulations": 60}
    assert [game["seed"] for game in games] == list(range(18, 30)) and len({game["opening"] for game in games}) > 2
    for game in games:
        assert len(game["best"]) == len(game["scores"]) == len(game["moves"]) - game["opening"]
        board = NoGoRules(5, 5).batch(1)
        for ply, move in enumerate(game["moves"]):
            assert not board.over[0] and board.legal[0, move]
            if ply >= game["opening"]:
                best = game["best"][ply - game["opening"]]
                assert board.legal[0, best] and (best == move or ply in game["random"])
            board.play(np.array([move]))
        assert board.over[0] and board.winner[0] == game["winner"] + 1


def test_scores_are_for_the_side_to_move_and_right_at_the_end(lessons):
    games = list(map(json.loads, lessons.read_text().splitlines()[1:]))
    last = [game for game in games if len(game["moves"]) - 1 not in game["random"]]
    assert last
    for game in last:  # the last move leaves the opponent without one
        assert game["scores"][-1] > 600


def test_a_killed_run_goes_on_and_ends_with_the_same_games(teacher, lessons, tmp_path):
    path, whole = tmp_path / "cut.jsonl", lessons.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert teach(teacher, path, "--games", "12").returncode == 0
    assert path.read_bytes() == whole


def test_a_wrong_call_gets_one_sentence_and_leaves_the_file_alone(teacher, lessons):
    before = lessons.read_bytes()
    for arguments, said in (
        (["--size", "20"], "expected a number from 2 to 19 after --size; got '20'"),
        (["--nodes", "5"], "expected one of --size, --seed, --games, --simulations; got '--nodes'"),
        (["--simulations", "61"], "to be of these settings; it begins with"),
    ):
        done = teach(teacher, lessons, *arguments)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert lessons.read_bytes() == before


def test_an_option_is_no_file(teacher, tmp_path):
    done = subprocess.run([teacher, "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.startswith("teacher: expected FILE [--size N]") and not list(tmp_path.iterdir())


def test_games_of_the_teacher_are_read(lessons):
    train, held_back = load_positions([str(lessons)], NoGoRules(5, 5), 0.9, 600)
    assert len(train) > 50 and len(held_back) > 5 and {*held_back.game.tolist()} == {2}
