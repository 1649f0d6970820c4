"""The policy-value network computed from its weights alone, apart from any student's code (interface section 6).

Used to judge: what a network must output for given weights, and what a trained network says about a position. Values are
seen by the side to move. Board size and block count are read from the shapes. torch, slow to load, is imported only where a
network is computed: the checks of a search need none.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

CHANNELS = 64
PLANES = 9
DENSE = 256
MAX_WEIGHTS_BYTES = 256 << 20
StateDict = Mapping[str, np.ndarray]


def expected_layout(width: int, height: int, block: int) -> dict[str, tuple[int, ...]]:
    """Key -> shape of a state_dict on that board with that many residual blocks."""
    area, points = (height + 4) * (width + 4), width * height

    def conv(name: str, out: int, into: int, size: int) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (out, into, size, size), f"{name}.bias": (out,)}

    def norm(name: str, size: int) -> dict[str, tuple[int, ...]]:
        entries = ("weight", "bias", "running_mean", "running_var")
        return {f"{name}.{entry}": (size,) for entry in entries} | {f"{name}.num_batches_tracked": ()}

    layout = conv("conv2d_1", CHANNELS, PLANES, 1)
    for i in range(block):
        for conv_at, norm_at in ((0, 1), (3, 4)):
            layout |= conv(f"resnet.{i}.{conv_at}", CHANNELS, CHANNELS, 3) | norm(f"resnet.{i}.{norm_at}", CHANNELS)
    layout |= conv("conv2d_2", 2, CHANNELS, 1) | norm("bn_1", 2)
    layout |= {"dense_layer_1.weight": (points, 2 * area), "dense_layer_1.bias": (points,)}
    layout |= conv("conv2d_3", 1, CHANNELS, 1) | norm("bn_2", 1)
    layout |= {"dense_layer_2.weight": (DENSE, area), "dense_layer_2.bias": (DENSE,)}
    return layout | {"flatten_layer_3.weight": (1, DENSE), "flatten_layer_3.bias": (1,)}


def read_sizes(weights: StateDict, width: int | None = None, height: int | None = None) -> tuple[int, int, int]:
    """(width, height, block) from the shapes; a board is taken for square unless its width or height is given.

    Raises:
        ValueError: a layer is missing, or the shapes belong to no such board.
    """
    try:
        points, area = weights["dense_layer_1.weight"].shape[0], weights["dense_layer_2.weight"].shape[1]
    except (KeyError, IndexError) as error:
        raise ValueError(f"expected the layers of the policy-value network; {error} is missing or misshaped") from error
    if width is None and height is None:
        # width * height and (width + 4) * (height + 4) give the two sides; which is which they do not say.
        total = (area - points - 16) // 4
        root = isqrt(max(0, total * total - 4 * points))
        width, height = (total + root) // 2, (total - root) // 2
    elif width is None:
        assert height is not None
        width = points // height
    elif height is None:
        height = points // width
    if width * height != points or (width + 4) * (height + 4) != area:
        raise ValueError(f"expected layers of one board; {points} points and {area} padded points belong to none")
    block = len({key.split(".")[1] for key in weights if key.startswith("resnet.")})
    for key, shape in expected_layout(width, height, block).items():
        if key not in weights and not key.endswith("num_batches_tracked"):
            raise ValueError(f"expected the layers of the policy-value network; {key} is missing")
        if key in weights and tuple(weights[key].shape) != shape:
            raise ValueError(f"expected {key} of shape {shape}; it has {tuple(weights[key].shape)}")
    return width, height, block


def load_weights(path: Path) -> dict[str, np.ndarray]:
    """A weights file as arrays, loaded without running anything in it.

    Raises:
        ValueError: the file is missing, too large, no plain state_dict, or holds NaN or infinity; one sentence.
    """
    import torch

    if not path.is_file():
        raise ValueError(f"expected a weights file at {path}; nothing is there")
    if path.stat().st_size > MAX_WEIGHTS_BYTES:
        raise ValueError(f"expected weights of at most {MAX_WEIGHTS_BYTES >> 20} MiB; {path} is larger")
    try:
        with warnings.catch_warnings(action="ignore"):
            state = torch.load(path, map_location="cpu", weights_only=True)
        if sum(tensor.numel() * tensor.element_size() for tensor in state.values()) > MAX_WEIGHTS_BYTES:
            raise ValueError(f"its tensors are larger than {MAX_WEIGHTS_BYTES >> 20} MiB")
        weights = {str(key): tensor.detach().cpu().numpy() for key, tensor in state.items()}
    except Exception as error:  # what torch's unpickler raises for a file that is none has no common class
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ValueError(f"expected a bare state_dict saved by torch in {path}: {reason}") from error
    for key, value in weights.items():
        if value.dtype.kind not in "fiub":
            raise ValueError(f"expected real numbers in {path}; {key} holds {value.dtype}")
        if not np.isfinite(value).all():
            raise ValueError(f"expected finite weights in {path}; {key} holds others")
    return weights


def random_weights(width: int, height: int, block: int, seed: int) -> dict[str, np.ndarray]:
    """Weights [as expected_layout] float32 that make every layer matter: biases, scales and statistics away from 0 and 1."""
    numbers = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    for key, shape in expected_layout(width, height, block).items():
        if key.endswith("num_batches_tracked"):
            weights[key] = np.array(7, dtype=np.int64)
        elif key.endswith("running_var"):
            weights[key] = numbers.uniform(0.5, 2.0, shape).astype(np.float32)
        elif key.endswith("running_mean") or key.endswith("bias"):
            weights[key] = numbers.normal(0.0, 0.4, shape).astype(np.float32)
        elif len(shape) == 1:
            weights[key] = numbers.uniform(0.5, 1.5, shape).astype(np.float32)
        else:
            fan_in = int(np.prod(shape[1:]))
            weights[key] = numbers.normal(0.0, 1.2 / np.sqrt(fan_in), shape).astype(np.float32)
    return weights


def fresh_weights(width: int, height: int, block: int, seed: int) -> dict[str, np.ndarray]:
    """Weights [as expected_layout] float32 as torch draws them for fresh layers: uniform in +-1 / sqrt(fan in)."""
    numbers = np.random.default_rng(seed)
    layout = expected_layout(width, height, block)
    weights: dict[str, np.ndarray] = {}
    for key, shape in layout.items():
        layer = layout[f"{key.rpartition('.')[0]}.weight"]
        if key.endswith("num_batches_tracked"):
            weights[key] = np.array(0, dtype=np.int64)
        elif len(layer) == 1:  # of batch norm
            weights[key] = np.full(shape, float(key.endswith(("weight", "running_var"))), dtype=np.float32)
        else:
            bound = 1.0 / np.sqrt(np.prod(layer[1:]))
            weights[key] = numbers.uniform(-bound, bound, shape).astype(np.float32)
    return weights


def forward(
    weights: StateDict,
    states: np.ndarray,
    *,
    width: int | None = None,
    height: int | None = None,
    train_mode: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Both heads.

    Args:
        weights: a state_dict as arrays, in any precision; computed is in float32.
        states: [N, 9, H, W] float32, row 0 the top row of the board.
        width, height: where the board is not square (see `read_sizes`).
        train_mode: batch norm by the batch's own statistics in place of the running ones.

    Returns:
        log_probs [N, W*H] float32 in order of moves, value [N, 1] float32 in [-1, 1] for the side to move.
    """
    import torch

    tensors, block = _tensors(weights, width, height)
    with torch.inference_mode():
        log_probs, value = _heads(tensors, block, states, train_mode)
    return log_probs.numpy(), value.numpy()


def gradients(
    weights: StateDict, states: np.ndarray, along_log_probs: np.ndarray, along_values: np.ndarray
) -> dict[str, np.ndarray]:
    """Of the sum of log_probs * along_log_probs [N, A] and values * along_values [N], in train mode, on a square board.

    Returns:
        Key -> float32, for every parameter.
    """
    import torch

    tensors, block = _tensors(weights, None, None)
    parameters = {
        key: tensor.requires_grad_() for key, tensor in tensors.items() if not key.endswith(("_mean", "_var", "_tracked"))
    }
    log_probs, values = _heads(tensors, block, states, train_mode=True)
    along = torch.as_tensor(along_log_probs).float(), torch.as_tensor(along_values).float()
    total = (log_probs * along[0]).sum() + (values.reshape(-1) * along[1]).sum()
    found = torch.autograd.grad(total, list(parameters.values()))
    return {key: gradient.numpy() for key, gradient in zip(parameters, found, strict=True)}


def _tensors(weights: StateDict, width: int | None, height: int | None) -> tuple[dict[str, torch.Tensor], int]:
    """The weights in float32 and the number of blocks."""
    import torch

    torch.set_num_threads(1)  # small networks: on a busy machine, threads would spend their time waiting for each other
    _, _, block = read_sizes(weights, width, height)
    return {key: torch.as_tensor(np.array(value)).float() for key, value in weights.items()}, block


def _heads(
    tensors: dict[str, torch.Tensor], block: int, states: np.ndarray, train_mode: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """log_probs [N, A] and value [N, 1]."""
    import torch
    import torch.nn.functional as F

    def conv(x: torch.Tensor, name: str, padding: int) -> torch.Tensor:
        return F.conv2d(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], padding=padding)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        mean, var = tensors[f"{name}.running_mean"].clone(), tensors[f"{name}.running_var"].clone()
        return F.batch_norm(x, mean, var, tensors[f"{name}.weight"], tensors[f"{name}.bias"], training=train_mode)

    def dense(x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

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
