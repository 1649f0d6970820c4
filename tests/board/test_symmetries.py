"""Symmetries turn states and moves in the same way."""

import numpy as np
import pytest

from Board.symmetries import Symmetries
from training.boards import Boards
from training.exact import board_symmetries


@pytest.mark.parametrize(("width", "height", "count"), [(4, 4, 8), (5, 3, 4)])
def test_a_game_played_on_the_turned_board_is_the_game_turned(width, height, count):
    symmetries = Symmetries(width, height)
    assert symmetries.count == count and len({tuple(row) for row in symmetries.moves}) == count
    moves = np.random.default_rng(1).permutation(width * height)[:7]
    straight, turned = Boards(count, width, height, 3), Boards(count, width, height, 3)
    which = np.arange(count)
    for move in moves:
        straight.play_lines(np.full((count, 1), move), np.ones(count, dtype=int))
        turned_move = np.argmax(symmetries.moves == move, axis=1)
        turned.play_lines(turned_move[:, None], np.ones(count, dtype=int))
    assert np.array_equal(symmetries.turn_states(straight.feature_planes(), which), turned.feature_planes())
    policies = straight.legal / straight.legal.sum(axis=1, keepdims=True)
    assert np.array_equal(symmetries.turn_policies(policies, which) > 0, turned.legal)


def test_symmetry_0_changes_nothing_and_policies_come_back():
    symmetries = Symmetries(3, 3)
    policies = np.random.default_rng(1).random((8, 9))
    which = np.arange(8)
    assert np.array_equal(symmetries.moves[0], np.arange(9)) and np.array_equal(symmetries.places[0], np.arange(9))
    assert np.array_equal(symmetries.turn_policies_back(symmetries.turn_policies(policies, which), which), policies)
    assert np.array_equal(np.take_along_axis(symmetries.moves, symmetries.turned_moves, axis=1), [np.arange(9)] * 8)


def test_neighbours_stay_neighbours_and_the_middle_of_an_odd_board_stays_where_it_is():
    for row in Symmetries(5, 5).turned_moves:
        grid = np.stack([row // 5, row % 5], axis=-1).reshape(5, 5, 2)
        assert (np.abs(np.diff(grid, axis=0)).sum(-1) == 1).all() and (np.abs(np.diff(grid, axis=1)).sum(-1) == 1).all()
        assert row[12] == 12


@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 3)])
def test_the_search_over_all_replies_turns_lines_by_the_same_symmetries(width, height):
    """training/exact.py uses the same symmetries, written as pictures whose rows count from the bottom."""
    symmetries = Symmetries(width, height)
    assert set(map(tuple, symmetries.moves.tolist())) == set(board_symmetries(width, height))
