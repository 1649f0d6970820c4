"""The policy-value network computed from its weights, without any student's code (handout section 5.2).

It gives the outputs that a network must have for given weights, and evaluates positions with a trained network. Values are
for the side to move. Students do not get a copy of this module (`grader.judge.support.oracle`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from common.subnormals import without_faded
from common.weights import StateDict, read_sizes
from grader.confinement.layers import summary

if TYPE_CHECKING:
    import torch


def forward(
    weights: StateDict,
    states: np.ndarray,
    *,
    width: int | None = None,
    height: int | None = None,
    train_mode: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate states and return the outputs of both heads.

    Args:
        weights: a state_dict as arrays, in any precision; all computation is in float32.
        states: [N, 9, H, W] float32; row 0 is the top row of the board.
        width, height: needed if the board is not square (see `read_sizes`).
        train_mode: use the batch's own statistics in batch norm instead of the running ones.

    Returns:
        log_probs [N, W*H] float32 in order of moves, and value [N, 1] float32 in [-1, 1] for the side to move.
    """
    return evaluator(weights, width=width, height=height, train_mode=train_mode)(states)


def evaluator(
    weights: StateDict, *, width: int | None = None, height: int | None = None, train_mode: bool = False
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return `forward` for these weights as a function of the states; it reads the weights only once."""
    import torch

    tensors, block = _tensors(weights, width, height)

    def evaluate(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.inference_mode():
            log_probs, value = _heads(tensors, block, states, train_mode)
        return log_probs.numpy(), value.numpy()

    return evaluate


def layer_outputs(weights: StateDict, states: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the `summary` of each layer's output, [layers, 3] float64, in eval mode.

    The layers are those of `common.student_network.output_shapes`, in that order.
    """
    import torch

    seen: list[tuple[float, float, float]] = []
    tensors, block = _tensors(weights, width, height)
    with torch.inference_mode():
        _heads(tensors, block, states, False, lambda output: seen.append(summary(output)))
    return np.array(seen)


def gradients(
    weights: StateDict, states: np.ndarray, along_log_probs: np.ndarray, along_values: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the gradients of sum(log_probs * along_log_probs [N, A]) + sum(values * along_values [N]).

    The network is in train mode, and the board must be square.

    Returns:
        Key -> gradient float32, for every parameter.
    """
    import torch

    tensors, block = _tensors(weights, None, None)
    parameters = {
        key: tensor.requires_grad_() for key, tensor in tensors.items() if not key.endswith(("_mean", "_var", "_tracked"))
    }
    log_probs, values = _heads(tensors, block, states, train_mode=True)
    along = torch.as_tensor(along_log_probs).float(), torch.as_tensor(along_values).float()
    total = (log_probs * along[0]).sum() + (values.reshape(-1) * along[1]).sum()
    results = torch.autograd.grad(total, list(parameters.values()))
    return {key: gradient.numpy() for key, gradient in zip(parameters, results, strict=True)}


def _tensors(weights: StateDict, width: int | None, height: int | None) -> tuple[dict[str, torch.Tensor], int]:
    """Return the weights in float32 and the number of blocks."""
    import torch

    torch.set_num_threads(1)  # with small networks on a busy machine, threads mostly wait for each other
    _, _, block = read_sizes(weights, width, height)
    return without_faded({key: torch.as_tensor(np.array(value)).float() for key, value in weights.items()}), block


def _heads(
    tensors: dict[str, torch.Tensor],
    block: int,
    states: np.ndarray,
    train_mode: bool,
    note: Callable[[torch.Tensor], None] = lambda output: None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return log_probs [N, A] and value [N, 1]; `note` is called with the output of each layer that has parameters."""
    import torch
    import torch.nn.functional as F

    def conv(x: torch.Tensor, name: str, padding: int) -> torch.Tensor:
        output = F.conv2d(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], padding=padding)
        note(output)
        return output

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        # Without running statistics, batch norm takes the batch's own and changes nothing.
        mean, var = (None if train_mode else tensors[f"{name}.running_{part}"] for part in ("mean", "var"))
        output = F.batch_norm(x, mean, var, tensors[f"{name}.weight"], tensors[f"{name}.bias"], training=train_mode)
        note(output)
        return output

    def dense(x: torch.Tensor, name: str) -> torch.Tensor:
        output = F.linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])
        note(output)
        return output

    def flatten(x: torch.Tensor) -> torch.Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)

    x = conv(torch.as_tensor(np.ascontiguousarray(states, dtype=np.float32)), "conv2d_1", 2)
    for i in range(block):
        y = F.relu(norm(conv(x, f"resnet.{i}.0", 1), f"resnet.{i}.1"))
        x = F.relu(x + norm(conv(y, f"resnet.{i}.3", 1), f"resnet.{i}.4"))
    policy = flatten(F.relu(norm(conv(x, "conv2d_2", 0), "bn_1")))
    log_probs = F.log_softmax(dense(policy, "dense_layer_1"), dim=1)
    hidden = F.relu(dense(flatten(F.relu(norm(conv(x, "conv2d_3", 0), "bn_2"))), "dense_layer_2"))
    value = torch.tanh(dense(hidden, "flatten_layer_3"))
    return log_probs, value
