"""All functions that determine the winner agree with the definition after every move of random games."""

import random
from pathlib import Path

import numpy as np
import pytest
from definition import winner_by_definition
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.rules import FIVE, SIZE, SWAP, SWAP_PLY, Position
from Board.game_board import Board
from games.gomoku.batch import NOBODY, GomokuBatch

ROOT = Path(__file__).resolve().parents[2]
# Width, height, stones in a row.
BOARDS = [(3, 3, 3), (5, 4, 4), (4, 7, 3), (7, 4, 3), (9, 9, 5), (6, 6, 6), (11, 8, 5), (8, 11, 5), (15, 15, 5), (5, 2, 1)]


def shuffled(points, seed):
    """Return the points in a random order; those of the first rows may come first, so that rows form at the edge."""
    rng, points = random.Random(seed), list(points)
    near = len(points) * rng.choice((1, 2, 5)) // 5
    return rng.sample(points[:near], near) + rng.sample(points[near:], len(points) - near)


@settings(max_examples=80)
@given(st.sampled_from(BOARDS), st.integers(0, 2**32 - 1))
def test_a_board_boards_side_by_side_and_the_window_name_the_winner_of_the_definition(shape, seed):
    line_through = pytest.importorskip("Board.GUI_v1_4").line_through
    width, height, n_in_row = shape
    board, boards = Board(width=width, height=height, n_in_row=n_in_row), GomokuBatch(2, width, height, n_in_row)
    for move in shuffled(range(width * height), seed):
        board.do_move(move)
        boards.play(np.array([move, move]))
        winner = winner_by_definition(board.states, width, height, n_in_row)
        assert board.has_a_winner() == (winner != -1, winner)
        assert boards.winner.tolist() == [NOBODY if winner == -1 else winner] * 2
        stones = {tuple(board.move_to_location(taken)): player for taken, player in board.states.items()}
        line = line_through(stones, tuple(board.move_to_location(move)), n_in_row)
        assert {stones[point] for point in line} == ({winner} if winner != -1 else set())
        if board.game_end()[0]:
            break
    assert boards.over.all()


@settings(max_examples=40)
@given(st.integers(FIVE, SIZE), st.integers(0, 2**32 - 1), st.booleans())
def test_a_position_of_a_match_names_the_winner_of_the_definition_also_after_a_swap(size, seed, swaps):
    position = Position(size=size, free_opening=True)
    points = [(x, y) for x in range(size) for y in range(size)]
    for point in shuffled(points, seed):
        if swaps and position.ply == SWAP_PLY:
            position.play(SWAP)
        position.play(point)
        states = {y * size + x: seat for (x, y), seat in position.stones.items()}
        winner = winner_by_definition(states, size, size, FIVE)
        assert position.winner == (None if winner == -1 else winner)
        if position.is_over:
            break
    assert position.winner is not None or len(position.stones) == size**2
    assert position.swapped == swaps


@pytest.fixture(scope="module")
def referees(load_module):
    """Return the module with the plain referees against which the arena is timed."""
    return load_module(ROOT / "bench" / "match_overhead.py")


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_referees_of_the_bench_see_five_where_the_board_does(referees, seed):
    board, stones = Board(width=SIZE, height=SIZE, n_in_row=FIVE), np.zeros((SIZE, SIZE), dtype=int)
    for move in shuffled(range(SIZE * SIZE), seed):
        stones[move % SIZE, move // SIZE] = 1 if board.current_player == 1 else -1
        board.do_move(move)
        won = board.has_a_winner()[0]
        assert referees.five_by_shifts(stones) == referees.five_by_windows(stones) == won
        if won:
            break
