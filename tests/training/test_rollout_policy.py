"""The rollout policy over patterns: its probabilities by the plainest code, and its rollouts by real games; and policies
that draw their moves."""

import numpy as np
import pytest
import torch
from alphago_tools import after, row_maker, write_played_games

from Board.game_board import Board
from games.gomoku.batch import GomokuBatch
from games.gomoku.rules import GomokuRules
from training.alphago.mixed import PlayedRollouts
from training.alphago.patterns import DIRECTIONS, LinePatterns, PatternPolicy, measured_policy
from training.alphago.play import SampledPolicy
from training.supervised.dataset import Positions, load_positions


def plain_logit(board, move, weights, patterns):
    """The sum of the weights of a point's four patterns, read point by point."""
    h, w = board.move_to_location(move)
    total = 0.0
    for down, right in DIRECTIONS:
        number = 0
        for place, power in zip(patterns.places.tolist(), patterns.powers.tolist(), strict=True):
            row, column = h + place * down, w + place * right
            inside = 0 <= row < board.height and 0 <= column < board.width
            stone = board.states.get(board.location_to_move([row, column]))
            number += power * (3 if not inside else 0 if stone is None else 1 if stone == board.current_player else 2)
        total += weights[patterns.mirrored[number]]
    return total


@pytest.mark.parametrize(("width", "height", "n_in_row"), [(3, 3, 3), (4, 6, 3), (7, 6, 5)])
def test_its_probabilities_are_the_softmax_of_the_patterns_weights(width, height, n_in_row):
    rng = np.random.default_rng(1)
    patterns = LinePatterns(n_in_row)
    weights = rng.normal(size=len(patterns))
    board = Board(width=width, height=height, n_in_row=n_in_row)
    board.init_board()
    for _ in range(40):
        policy = PatternPolicy(weights, n_in_row, rng)
        probs, values = policy(board.current_state()[None].astype(np.float32))
        expected = np.zeros(width * height)
        for move in board.availables:
            expected[move] = np.exp(plain_logit(board, move, weights, patterns))
        assert probs[0] == pytest.approx(expected / expected.sum(), abs=1e-6)
        assert values[0] in (-1, 0, 1)
        board.do_move(int(rng.choice(board.availables)))
        if board.game_end()[0]:
            board.init_board()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("XX..", True),
        ("X..X", False),
        (".XX.", True),
        ("..XX", True),
        ("XO.X", False),
        ("OX.O", False),
        ("OXXO", True),
        ("##X.", False),
    ],
)
def test_a_pattern_tells_whether_a_stone_completes_a_row(line, expected):
    patterns = LinePatterns(3)
    number = int(np.array([".XO#".index(point) for point in line]) @ patterns.powers)
    assert patterns.completes[number] == expected
    assert patterns.completes[patterns.mirrored[number]] == expected


def test_its_rollouts_end_as_games_that_are_played_on_a_board():
    """The same policy, once with patterns that are kept up to date and once worked out from each position."""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=len(LinePatterns(3)))
    policy = PatternPolicy(weights, 3, np.random.default_rng(2))
    played = PlayedRollouts(SampledPolicy(PatternPolicy(weights, 3, np.random.default_rng(3)), np.random.default_rng(4)))
    for moves in ([], [5], [0, 15, 1], [5, 6, 9, 10, 2, 3, 7]):
        boards = after(moves).take(np.zeros(1500, dtype=int))
        kept, plain = policy(boards.feature_planes())[1], played.of_positions(boards)[1]
        for result in (-1, 0, 1):
            assert abs((kept == result).mean() - (plain == result).mean()) < 0.07  # 3.8 standard errors where most uncertain


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([0, 12, 1, 13], 2),  # wins rather than stops
        ([0, 12, 5], 10),  # stops a diagonal
        ([0, 3, 8, 15, 13], 4),  # stops a gap in a column
        ([3, 0, 12, 1, 6], 2),  # its own row of three, and not the diagonal's stop at 9
    ],
)
def test_weights_can_make_a_row_or_stop_one(moves, expected):
    agent = row_maker(3, seed=1)
    assert {int(agent.choose(after(moves))[0]) for _ in range(20)} == {expected}


def test_its_rollouts_complete_a_row_at_once_if_they_can():
    evaluate = row_maker(3, seed=1)._evaluate
    for moves, expected in (([0, 12, 1, 13], 1), ([0, 13, 1, 10, 7], -1)):  # a row at 2; no row, and the opponent makes two
        assert set(evaluate(np.repeat(after(moves).feature_planes(), 50, axis=0))[1].tolist()) == {expected}


def test_a_sampled_policy_draws_legal_moves_as_often_as_the_network_says():
    def evaluate(states):
        probs = np.zeros((len(states), 9), dtype=np.float32)
        probs[:, [0, 4, 8]] = 0.5, 0.3, 0.1
        return probs, np.zeros(len(states), dtype=np.float32)

    boards = after([0], (3, 3, 3)).take(np.zeros(4000, dtype=int))
    moves = SampledPolicy(evaluate, np.random.default_rng(1)).choose(boards)
    assert set(moves.tolist()) == {4, 8} and abs((moves == 4).mean() - 0.75) < 0.03
    assert SampledPolicy(evaluate, np.random.default_rng(1)).choose(after([0, 4, 8], (3, 3, 3)))[0] not in (0, 4, 8)


def test_a_policy_without_an_opinion_is_credited_with_chance_alone(tmp_path):
    path = tmp_path / "games.jsonl"
    write_played_games(path, GomokuBatch(40, 4, 4, 3), row_maker(3, 1), {"size": 4}, opening=1)
    _, held_back = load_positions([str(path)], GomokuRules(4, 4, n_in_row=3), td_lambda=1.0, score_scale=400)
    empty = 16 - held_back.ply.astype(float)
    measured = measured_policy(torch.zeros(len(LinePatterns(3))), 3, 1, held_back)
    assert abs(measured["top_1"] - (1 / empty).mean()) < 1e-4
    assert abs(measured["top_5"] - np.minimum(1, 5 / empty).mean()) < 1e-4


def test_points_of_a_symmetric_board_tie_in_whatever_order_their_weights_are_added():
    zero = np.zeros(1, dtype=np.int64)
    corner = Positions(
        GomokuRules(3, 3, 3), np.zeros((1, 9), dtype=np.int64), game=zero, ply=zero, best=zero, value=zero, key=zero
    )
    weights = [torch.randn(len(LinePatterns(3)), generator=torch.Generator().manual_seed(seed)) for seed in range(40)]
    assert {measured_policy(each, 3, 1, corner)["top_1"] for each in weights} == {0.0, 0.25}
