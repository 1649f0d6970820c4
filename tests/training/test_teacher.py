"""Games of the reference engine for a network to learn from (instructor/teacher)."""

import json
import subprocess
from pathlib import Path

import pytest

from Board.game_board import Board
from games.gomoku.rules import GomokuRules
from training.supervised.dataset import load_positions

ROOT = Path(__file__).resolve().parents[2]
NODES = "600"


@pytest.fixture(scope="module")
def teacher():
    subprocess.run(["make", "-s", "build/teacher/11"], cwd=ROOT, check=True)
    return ROOT / "build" / "teacher" / "11"


@pytest.fixture(scope="module")
def lessons(teacher, tmp_path_factory):
    path = tmp_path_factory.mktemp("lessons") / "games.jsonl"
    assert teach(teacher, path, "--seed", "18", "--games", "4").returncode == 0
    return path


def teach(teacher, path, *arguments):
    return subprocess.run([teacher, path, "--nodes", NODES, *arguments], capture_output=True, text=True, timeout=120)


def test_games_are_legal_and_end_as_the_board_says(lessons):
    settings, *games = map(json.loads, lessons.read_text().splitlines())
    assert settings == {"size": 11, "first_seed": 18, "nodes": 600}
    assert [game["seed"] for game in games] == [18, 19, 20, 21]
    for game in games:
        board = Board(width=11, height=11, n_in_row=5)
        board.init_board()
        assert len(game["best"]) == len(game["scores"]) == len(game["moves"]) - game["opening"]
        for ply, move in enumerate(game["moves"]):
            assert not board.game_end()[0]
            if ply >= game["opening"]:
                assert game["best"][ply - game["opening"]] in board.availables
            board.do_move(move)
        assert board.game_end() == (True, {0: 1, 1: 2, -1: -1}[game["winner"]])


def test_the_move_taught_is_not_always_the_move_played_and_wins_are_seen(lessons):
    games = list(map(json.loads, lessons.read_text().splitlines()[1:]))
    pairs = [pair for game in games for pair in zip(game["moves"][game["opening"] :], game["best"], strict=True)]
    differ = sum(played != best for played, best in pairs)
    assert 0 < differ < len(pairs) / 2
    won = [game for game in games if game["winner"] >= 0 and len(game["moves"]) - 1 not in game["random"]]
    assert won
    for game in won:
        assert game["moves"][-1] == game["best"][-1] and game["scores"][-1] > 900_000


def test_a_game_follows_from_its_seed_whatever_was_played_before(teacher, lessons, tmp_path):
    assert teach(teacher, tmp_path / "late.jsonl", "--seed", "20", "--games", "1").returncode == 0
    assert (tmp_path / "late.jsonl").read_text().splitlines()[1] == lessons.read_text().splitlines()[3]


def test_with_least_stones_0_some_games_begin_on_the_empty_board_and_others_go_on_as_before(teacher, lessons, tmp_path):
    path = tmp_path / "empty.jsonl"
    assert teach(teacher, path, "--seed", "18", "--games", "6", "--least-stones", "0").returncode == 0
    settings, *games = map(json.loads, path.read_text().splitlines())
    assert settings == {"size": 11, "first_seed": 18, "nodes": 600, "least_stones": 0}
    empty = [game for game in games if game["opening"] == 0]
    assert empty and len(empty) < 6 and all(len(game["best"]) == len(game["moves"]) for game in empty)
    train, held_back = load_positions([str(path)], GomokuRules(11, 11), 0.9, 400)
    assert 0 in {*train.ply.tolist(), *held_back.ply.tolist()}
    assert "from 0 to 8 after --least-stones" in teach(teacher, tmp_path / "x.jsonl", "--least-stones", "9").stderr
    other = teach(teacher, lessons, "--seed", "18", "--least-stones", "0")
    assert other.returncode == 2 and "to be of these settings" in other.stderr


@pytest.mark.parametrize("share", [0.002, 0.1, 0.4, 0.9])
def test_a_killed_run_goes_on_and_ends_with_the_same_games(teacher, lessons, tmp_path, share):
    path = tmp_path / "cut.jsonl"
    whole = lessons.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert teach(teacher, path, "--seed", "18", "--games", "4").returncode == 0
    assert path.read_bytes() == whole


def test_other_settings_and_other_files_are_refused_and_left_alone(teacher, lessons, tmp_path):
    before = lessons.read_bytes()
    other = teach(teacher, lessons, "--seed", "1")
    assert other.returncode == 2 and "to be of these settings" in other.stderr
    assert lessons.read_bytes() == before
    (tmp_path / "essay.txt").write_text("no games")
    assert teach(teacher, tmp_path / "essay.txt").returncode == 2
    assert (tmp_path / "essay.txt").read_text() == "no games"
    assert teach(teacher, tmp_path / "none" / "games.jsonl").returncode == 2
    assert "from 1 to" in teach(teacher, tmp_path / "x.jsonl", "--games", "0").stderr


def test_games_of_the_teacher_are_read(lessons):
    train, held_back = load_positions([str(lessons)], GomokuRules(11, 11), 0.9, 400)
    assert len(train) > 20 and len(held_back) > 5
    assert set(held_back.game) == {2}
