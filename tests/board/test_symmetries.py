"""Symmetries turn states and moves in the same way."""

import numpy as np
import pytest

from Board.symmetries import Symmetries
from games.gomoku.batch import GomokuBatch


@pytest.mark.parametrize(("width", "height", "count"), [(4, 4, 8), (5, 3, 4)])
def test_a_game_played_on_the_turned_board_is_the_game_turned(width, height, count):
    symmetries = Symmetries(width, height)
    assert symmetries.count == count and len({tuple(row) for row in symmetries.moves}) == count
    moves = np.random.default_rng(1).permutation(width * height)[:7]
    straight, turned = GomokuBatch(count, width, height, 3), GomokuBatch(count, width, height, 3)
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
def test_moves_are_turned_and_mirrored_as_coordinates_are(width, height):
    """The same symmetries in coordinates: mirror x, mirror y, and exchange both on a square board."""
    points = [(x, y) for y in range(height) for x in range(width)]
    mirrored = [
        [((width - 1 - x) if mirror_x else x, (height - 1 - y) if mirror_y else y) for x, y in points]
        for mirror_x in (False, True)
        for mirror_y in (False, True)
    ]
    if width == height:
        mirrored += [[(y, x) for x, y in image] for image in mirrored]
    expected = {tuple(y * width + x for x, y in image) for image in mirrored}
    assert set(map(tuple, Symmetries(width, height).moves.tolist())) == expected
