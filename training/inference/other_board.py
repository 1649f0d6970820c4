"""The course's network of one board on another board, so that a run can go on where a run on a smaller board has ended.

The convolutions fit any board. The weights of the dense layers belong to single points: a weight of the policy to a move and
a cell of the padded board, a weight of the value to a cell. Each line of the new board takes the weights of the line of the
old board that is as far from the nearest edge; lines further from both edges than any line of the old board take those of its
middle. A move reads the cells around it as its counterpart on the old board does, and no others. Several cells that take the
value weight of one old cell share it equally, so that a larger board does not mean a larger value.
"""

from __future__ import annotations

from typing import Any

import torch

from common.weights import StateDict
from training.inference.networks import PADDING


def on_other_board(weights: StateDict, old: tuple[int, int], new: tuple[int, int]) -> dict[str, Any]:
    """Return the weights of the course's network for another board.

    Args:
        weights: those of a network for the old board.
        old, new: (width, height) of the boards.
    """
    (width, height), (new_width, new_height) = old, new
    rows, columns = _counterparts(height, new_height), _counterparts(width, new_width)
    policy = weights["dense_layer_1.weight"].view(height, width, height + 2 * PADDING, width + 2 * PADDING, 2)
    policy = policy.flip(0)  # moves are numbered from the bottom row, cells from the top row
    policy = policy[rows[PADDING:-PADDING]][:, columns[PADDING:-PADDING]]
    policy = _read_around(_read_around(policy, rows, 2), columns, 3).flip(0)
    bias = weights["dense_layer_1.bias"].view(height, width)
    value = weights["dense_layer_2.weight"].view(-1, height + 2 * PADDING, width + 2 * PADDING)
    value = value[:, rows + PADDING][:, :, columns + PADDING] / (_sharers(rows)[:, None] * _sharers(columns))
    return dict(weights) | {
        "dense_layer_1.weight": policy.reshape(new_width * new_height, -1).contiguous(),
        "dense_layer_1.bias": bias[rows[PADDING:-PADDING]][:, columns[PADDING:-PADDING]].flatten(),
        "dense_layer_2.weight": value.flatten(1),
    }


def _counterparts(size: int, new_size: int) -> torch.Tensor:
    """Return the line of the old board for each line of the new padded board; both number the padding from -PADDING."""
    lines = torch.arange(-PADDING, new_size + PADDING)
    from_end = new_size - 1 - lines
    middle = (size - 1) // 2
    return torch.where(lines <= from_end, lines.clamp(max=middle), size - 1 - from_end.clamp(max=middle))


def _sharers(counterparts: torch.Tensor) -> torch.Tensor:
    """Return for each line how many lines have the same counterpart."""
    return (counterparts[:, None] == counterparts).sum(dim=1)


def _read_around(policy: torch.Tensor, counterparts: torch.Tensor, axis: int) -> torch.Tensor:
    """Replace the old lines of cells along `axis` by new ones, each as far from the line of the move (`axis` - 2) as before."""
    cells = torch.arange(len(counterparts))
    moves = cells[PADDING:-PADDING]
    read = counterparts[PADDING:-PADDING, None] + PADDING + cells - moves[:, None]  # [moves, cells]
    shape = [1] * policy.dim()
    shape[axis - 2], shape[axis] = read.shape
    exists = (read >= 0) & (read < policy.shape[axis])
    return policy.take_along_dim(read.clamp(0, policy.shape[axis] - 1).view(shape), axis) * exists.view(shape)
