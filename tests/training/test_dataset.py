"""Positions for supervised training: planes as the board gives them, values, parts that share nothing."""

import json
import random
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from Board.symmetries import Symmetries
from games.go.rules import GoRules
from games.gomoku.rules import GomokuRules
from games.nogo.rules import NoGoRules
from training.exact import board_after
from training.supervised.dataset import GamesError, load_positions, position_keys, td_values


def random_game(seed, size, plies, opening=2):
    """A game of the teacher's form with arbitrary labels."""
    generator = random.Random(seed)
    moves = generator.sample(range(size * size), plies)
    best = [generator.randrange(size * size) for _ in moves[opening:]]
    scores = [generator.randrange(-300, 300) for _ in best]
    return {"seed": seed, "opening": opening, "winner": -1, "moves": moves, "best": best, "scores": scores, "random": []}


@pytest.fixture
def write(tmp_path):
    """Writes games as the teacher does; returns the file's name."""

    def write_games(games, size=6, name="games.jsonl", rest=""):
        path = tmp_path / name
        lines = [{"size": size, "first_seed": 1, "nodes": 1}, *games]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines) + rest)
        return str(path)

    return write_games


def load(*paths, size=6):
    return load_positions(paths, GomokuRules(size, size, n_in_row=3), td_lambda=0.9, score_scale=400)


def test_planes_and_moves_are_those_of_the_board_in_every_symmetry(write):
    games = [random_game(seed, 6, plies, opening) for seed, plies, opening in ((19, 36, 0), (20, 30, 1), (21, 9, 2))]
    train, held_back = load(write(games))
    table = Symmetries(6, 6).turned_moves
    assert len({tuple(row) for row in table}) == 8
    for part in (train, held_back):
        indices = np.repeat(np.arange(len(part)), 8)
        symmetries = np.tile(np.arange(8), len(part))
        states, best, _ = part.batch(indices, symmetries)
        for state, move, index, symmetry in zip(states, best, indices, symmetries, strict=True):
            played = part.moves[part.game[index], : part.ply[index]]
            np.testing.assert_array_equal(state, board_after(table[symmetry][played].tolist(), (6, 6, 5)).current_state())
            assert move == table[symmetry][part.best[index]]


@pytest.mark.parametrize("rules", [NoGoRules(4, 4), GoRules(3, 3, komi=0.0)])
def test_planes_and_moves_are_those_of_the_game_in_every_symmetry(rules, tmp_path):
    rng = np.random.default_rng(1)
    games = []
    for seed in range(19, 23):
        position, moves = rules.position(), []
        while not position.game_end()[0]:
            moves.append(int(rng.choice(position.availables)))
            position.do_move(moves[-1])
        winner = position.game_end()[1]
        told = {"best": moves, "scores": [0] * len(moves), "random": [], "winner": winner - 1 if winner > 0 else -1}
        games.append({"seed": seed, "opening": 0, "moves": moves, **told})
    path = tmp_path / "games.jsonl"
    lines = [{"size": rules.width, "game": rules.name}, *games]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = rules.symmetries.turned_moves
    games_with = Counter(chain(*(set(position_keys(rules, np.array(game["moves"])).tolist()) for game in games)))
    for part in load_positions([str(path)], rules, td_lambda=1.0, score_scale=1.0):
        indices, symmetries = np.repeat(np.arange(len(part)), 8), np.tile(np.arange(8), len(part))
        for state, move, value, index, symmetry in zip(*part.batch(indices, symmetries), indices, symmetries, strict=True):
            position = rules.position()
            for played in part.moves[part.game[index], : part.ply[index]]:
                position.do_move(int(table[symmetry, played]))
            np.testing.assert_array_equal(state, position.current_state())
            assert move == table[symmetry][part.best[index]]
            won = games[part.game[index]]["winner"]
            z = 0 if won < 0 else 1 if position.players[won] == position.get_current_player() else -1
            assert value == z or games_with[part.key[index]] > 1
    with pytest.raises(GamesError, match=f"expected games of gomoku in .*; it holds games of {rules.name}"):
        load(str(path), size=rules.width)


def test_keys_tell_positions_apart_by_their_stones_up_to_symmetry():
    moves = np.array([0, 8, 17, 30, 3])
    keys = position_keys(GomokuRules(6, 6), moves)
    assert len(set(keys)) == 6
    for row in Symmetries(6, 6).turned_moves:
        np.testing.assert_array_equal(position_keys(GomokuRules(6, 6), row[moves]), keys)
    assert position_keys(GomokuRules(6, 6), np.array([17, 8, 0]))[3] == keys[3]  # another order
    assert position_keys(GomokuRules(6, 6), np.array([8, 0, 17]))[3] != keys[3]  # other colours


def test_no_position_is_twice_or_in_both_parts(write):
    table = Symmetries(6, 6).turned_moves
    first = random_game(1, 6, 20)
    turned = {**first, "seed": 40, "moves": [int(m) for m in table[5][first["moves"]]]}
    again = {**first, "seed": 2}
    alone = random_game(60, 6, 15)
    train, held_back = load(write([first, turned, again, alone]))
    assert len(train) == len(first["best"]) and set(train.game) == {0}
    assert len(held_back) == len(alone["best"]) and set(held_back.game) == {3}
    assert len(np.unique(train.key)) == len(train) and not np.isin(held_back.key, train.key).any()


def test_a_position_of_several_games_has_the_mean_of_their_values(write):
    games = [
        {**random_game(seed, 6, len(moves), opening=1), "moves": moves, "best": moves[1:2], "winner": winner}
        for seed, moves, winner in ((1, [7, 8, 9], 1), (2, [1, 8, 9], 0), (3, [7, 9], 1), (4, [7, 20], 0), (20, [0, 8], 0))
    ]
    train, _ = load_positions([write(games)], GomokuRules(6, 6, n_in_row=3), td_lambda=1.0, score_scale=400)
    assert train.game.tolist() == [0, 1] and train.best.tolist() == [8, 8]
    assert train.value == pytest.approx([1 / 3, -1.0])


def test_values_mix_scores_and_the_result_back_to_the_last_random_move():
    game = {"opening": 1, "winner": 0, "moves": [9, 9, 9, 9, 9], "best": [0] * 4, "scores": [400, 0, 950_000, 0], "random": [3]}
    half = td_values(game, td_lambda=0.5, score_scale=400)
    # Ply 4 is black's, who wins; ply 3 is white's and was drawn, so the proven win stands; 2 and 1 follow from it.
    assert half == pytest.approx([0.5 * np.tanh(1) - 0.5 * -0.5, -0.5, 1.0, 0.5])
    assert td_values({**game, "random": []}, 1.0, 400) == pytest.approx([-1, 1, -1, 1])
    assert td_values({**game, "random": [], "winner": -1}, 1.0, 400) == pytest.approx([0, 0, 0, 0])


def test_a_line_that_is_being_written_waits_and_files_that_do_not_fit_are_told(write, tmp_path):
    games = [random_game(seed, 6, 12) for seed in (1, 20)]
    whole = load(write(games))
    cut = load(write(games, rest='{"seed":3,"ope'))
    assert [len(part) for part in cut] == [len(part) for part in whole]
    with pytest.raises(GamesError, match="games on 6x6"):
        load(write(games, size=7))
    with pytest.raises(GamesError, match="expected games of the teacher in"):
        load(str(tmp_path / "none.jsonl"))
    with pytest.raises(GamesError, match="got 1 games"):
        load(write(games[:1]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"moves": [*range(1, 12), 36]}, "expected 1 to 36 moves, and only moves from 0 to 35 in each game of"),
        ({"best": [36] * 10}, "only moves from 0 to 35"),
        ({"best": [1.0] * 10}, "only moves from 0 to 35"),
        ({"moves": [], "best": [], "scores": []}, "expected 1 to 36 moves"),
        ({"moves": [0] * 37, "scores": [0] * 35}, "expected 1 to 36 moves"),
        ({"seed": "7"}, "the game with the seed '7' differs"),
        ({"opening": None}, "whole numbers of at least 0 as seed, opening and random plies"),
        ({"winner": 2}, "a winner of 0, 1 or -1"),
        ({"random": [-1]}, "random plies"),
        ({"scores": [0] * 9}, "a score for each position after the opening"),
        ({"scores": [float("nan")] * 10}, "expected numbers as scores"),
        ({"scores": [0] * 9, "best": [1] * 11}, "no more best moves than scores"),
    ],
)
def test_a_game_with_an_odd_number_is_refused_in_a_sentence(write, change, words):
    games = [random_game(seed, 6, 12) for seed in (1, 20)]
    with pytest.raises(GamesError) as refused:
        load(write([*games, random_game(3, 6, 12) | change]))
    assert words in str(refused.value) and "\n" not in str(refused.value)
    short = {"seed": 4, "opening": 3, "winner": 0, "moves": [1, 2], "best": [], "scores": [], "random": []}
    halves = {**random_game(5, 6, 12), "scores": [0.5] * 10}
    assert len(load(write([*games, short, halves]))[0]) == 20, "these can be used"


def test_positions_can_be_chosen(write):
    train, _ = load(write([random_game(seed, 6, 12) for seed in (1, 20)]))
    chosen = train.where(np.array([3, 1]))
    assert list(chosen.ply) == [train.ply[3], train.ply[1]] and len(chosen) == 2
