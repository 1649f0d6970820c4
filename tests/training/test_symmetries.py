"""Symmetries turn states and moves as one picture."""

import numpy as np
import pytest

from training.boards import Boards
from training.symmetries import Symmetries


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


def test_number_0_changes_nothing_and_policies_come_back():
    symmetries = Symmetries(3, 3)
    policies = np.random.default_rng(1).random((8, 9))
    which = np.arange(8)
    assert np.array_equal(symmetries.moves[0], np.arange(9)) and np.array_equal(symmetries.places[0], np.arange(9))
    assert np.array_equal(symmetries.turn_policies_back(symmetries.turn_policies(policies, which), which), policies)
