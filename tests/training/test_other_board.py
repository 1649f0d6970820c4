"""The course's network on another board than its own: tests of `training.inference.other_board`."""

from itertools import product

import numpy as np
import pytest
import torch

from games.gomoku.rules import GomokuRules
from training.inference.networks import structured_model
from training.inference.other_board import on_other_board

OLD = (5, 4)
SIZES = [(11, 7), (6, 6), (3, 3)]


@pytest.fixture
def weights(make_network):
    return make_network(*OLD, 1, seed=1).model.state_dict()


def by_cells(weights, size):
    """The weights of both heads as arrays: policy [row, column, cell row, cell column, 2], value [unit, cell row, cell column].

    Rows count from the top, and the rows and columns of cells from the first line of the padding.
    """
    width, height = size
    cells = (height + 4, width + 4)
    policy = weights["dense_layer_1.weight"].numpy().reshape(height, width, *cells, 2)[::-1]
    return policy, weights["dense_layer_2.weight"].numpy().reshape(-1, *cells)


def same_line(line, size, old_size):
    """The line of the old board as far from the nearer edge as this one, or a middle line."""
    before, after = line, size - 1 - line
    return min(before, (old_size - 1) // 2) if before <= after else old_size - 1 - min(after, (old_size - 1) // 2)


def test_a_board_of_the_same_size_keeps_all_weights(weights):
    same = on_other_board(weights, OLD, OLD)
    assert same.keys() == weights.keys() and all(torch.equal(same[name], tensor) for name, tensor in weights.items())


@pytest.mark.parametrize("new", SIZES)
def test_a_move_reads_the_cells_around_it_as_a_move_as_far_from_the_edges_does(weights, new):
    other = on_other_board(weights, OLD, new)
    old_policy, policy = by_cells(weights, OLD)[0], by_cells(other, new)[0]
    for row, column in product(range(new[1]), range(new[0])):
        old_row, old_column = same_line(row, new[1], OLD[1]), same_line(column, new[0], OLD[0])
        for cell_row, cell_column in product(range(new[1] + 4), range(new[0] + 4)):
            at = old_row + cell_row - row, old_column + cell_column - column
            expected = old_policy[old_row, old_column, *at] if 0 <= at[0] < OLD[1] + 4 and 0 <= at[1] < OLD[0] + 4 else [0, 0]
            assert np.array_equal(policy[row, column, cell_row, cell_column], expected)
    assert other["dense_layer_1.bias"][0] == weights["dense_layer_1.bias"][0]
    assert other["dense_layer_1.bias"][-1] == weights["dense_layer_1.bias"][-1]


@pytest.mark.parametrize("new", [size for size in SIZES if size > OLD])
def test_a_larger_board_gives_the_value_no_more_weight(weights, new):
    old, value = by_cells(weights, OLD)[1], by_cells(on_other_board(weights, OLD, new), new)[1]
    assert np.allclose(value.sum(axis=(1, 2)), old.sum(axis=(1, 2)), atol=1e-5)
    assert np.array_equal(value[:, :3, :3], old[:, :3, :3]) and np.array_equal(value[:, -3:, -3:], old[:, -3:, -3:])


@pytest.mark.parametrize("new", SIZES)
def test_a_policy_that_treats_all_points_alike_does_so_on_every_board(reference, new):
    old, made = (structured_model("course", GomokuRules(*size, 3), 0, 64).state_dict() for size in (OLD, new))
    assert torch.equal(on_other_board(old, OLD, new)["dense_layer_1.weight"], made["dense_layer_1.weight"])
