"""Weights of the policy-value network: their names, shapes and files (handout section 5.2).

The board size and the number of blocks are inferred from the shapes. torch is slow to import, so it is imported only where a
file is read.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Mapping
from math import isqrt
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

CHANNELS = 64
PLANES = 9
DENSE = 256
MAX_WEIGHTS_BYTES = 256 << 20
StateDict = Mapping[str, Any]
"""A mapping from keys to arrays or tensors."""


class WeightsError(ValueError):
    """Raised when a file does not contain weights of this network for this board; the message is one sentence."""


def expected_layout(width: int, height: int, block: int) -> dict[str, tuple[int, ...]]:
    """Return key -> shape for the state_dict of a network for this board with `block` residual blocks."""
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
    """Infer (width, height, block) from the shapes.

    Without `width` and `height`, the two sides are computed from the shapes, with width >= height.

    Raises:
        ValueError: a layer is missing, or no such board fits the shapes.
    """
    try:
        points, area = weights["dense_layer_1.weight"].shape[0], weights["dense_layer_2.weight"].shape[1]
    except (KeyError, IndexError) as error:
        raise ValueError(
            f"expected the layers of the policy-value network; {error} is missing or has the wrong shape"
        ) from error
    if width is None or height is None:
        # width * height and (width + 4) * (height + 4) determine the two sides, but not which is the width.
        total = (area - points - 16) // 4
        root = isqrt(max(0, total * total - 4 * points))
        width, height = (total + root) // 2, (total - root) // 2
    if width * height != points or (width + 4) * (height + 4) != area:
        first = weights.get("conv2d_1.weight")
        if first is not None and tuple(first.shape[2:]) == (3, 3):
            raise ValueError("this is a network for any game, which begins with a 3x3 convolution: it plays as gumbel:FILE")
        raise ValueError(f"expected layers that fit one board; no board has {points} points and {area} padded points")
    block = len({key.split(".")[1] for key in weights if key.startswith("resnet.")})
    for key, shape in expected_layout(width, height, block).items():
        if key not in weights and not key.endswith("num_batches_tracked"):
            raise ValueError(f"expected the layers of the policy-value network; {key} is missing")
        if key in weights and tuple(weights[key].shape) != shape:
            raise ValueError(f"expected {key} of shape {shape}; it has {tuple(weights[key].shape)}")
    return width, height, block


def read_weights(path: str | PathLike[str]) -> dict[str, Any]:
    """Load a weights file of this network as tensors, without executing any code in it.

    Raises:
        WeightsError: the file is missing or too large, or contains something else.
    """
    if not Path(path).is_file():
        raise WeightsError(f"expected weights at {path}; no file is there (python train.py makes model/best_policy.model)")
    try:
        state = _state_dict(Path(path))
    except WeightsError:
        raise
    except ValueError as error:
        raise WeightsError(
            f"expected weights of the policy-value network in {path}; it holds something else or was cut short: copy it again"
        ) from error
    try:
        read_sizes(state)
    except ValueError as error:
        raise WeightsError(f"expected weights of the policy-value network in {path}: {error}") from error
    return state


def load_weights(path: Path) -> dict[str, np.ndarray]:
    """Load any bare state_dict as arrays, without executing any code in it.

    Raises:
        ValueError: the file is missing, too large or not a plain state_dict, or it contains NaN or infinity.
    """
    if not path.is_file():
        raise ValueError(f"expected a weights file at {path}; nothing is there")
    try:
        weights = {key: tensor.detach().cpu().numpy() for key, tensor in _state_dict(path).items()}
    except WeightsError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        reason = "it holds something else" if str(error).isdigit() or not str(error) else str(error)
        raise ValueError(f"expected a bare state_dict saved by torch in {path}: {reason}") from error
    for key, value in weights.items():
        if value.dtype.kind not in "fiub":
            raise ValueError(f"expected real numbers in {path}; {key} holds {value.dtype}")
        if not np.isfinite(value).all():
            raise ValueError(f"expected finite weights in {path}; {key} contains NaN or infinity")
    return weights


def _state_dict(path: Path) -> dict[str, Any]:
    """Return the tensors in a file; raise WeightsError if they are too large, or ValueError if they cannot be read."""
    import torch

    expected = f"expected weights of at most {MAX_WEIGHTS_BYTES >> 20} MiB in {path}"
    if path.stat().st_size > MAX_WEIGHTS_BYTES:
        raise WeightsError(f"{expected}; the file is larger")
    try:
        with warnings.catch_warnings(action="ignore"):
            state = torch.load(path, map_location="cpu", weights_only=True)
        size = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    except Exception as error:  # torch's unpickler raises unrelated exception classes for other kinds of files
        raise ValueError(str(error).splitlines()[0][:200] if str(error) else type(error).__name__) from error
    if size > MAX_WEIGHTS_BYTES:
        raise WeightsError(f"{expected}; its tensors are larger")
    # Drop torch's layer version metadata, which would make num_batches_tracked mandatory.
    return {str(key): tensor for key, tensor in state.items()}


def stated_board(path: str | PathLike[str], width: int, height: int) -> tuple[int, int, int] | None:
    """Return the board (width, height, n_in_row) that is stated beside a file of weights, which say less about it.

    The manifest of an exported network, the text that train.py writes beside its best one, and the settings of a run state it.

    Args:
        path: the file of weights.
        width, height: the sides as `read_sizes` infers them, in any order.

    Returns:
        The board, or None if no file there states a board with these sides.
    """
    path = Path(path)
    beside, folder = (path.with_suffix(".json"), path.with_suffix(".toml")), path.parent
    for file in (*beside, folder / "config.json", folder.parent / "config.json"):
        read = tomllib.loads if file.suffix == ".toml" else json.loads
        try:
            settings = read(file.read_text(encoding="utf-8"))
            board = settings.get("board") or [settings[name] for name in ("board_width", "board_height", "n_in_row")]
            columns, rows, n_in_row = map(int, board)
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            continue  # it is about something else
        if sorted((columns, rows)) == sorted((width, height)) and 1 <= n_in_row <= min(columns, rows):
            return columns, rows, n_in_row
    return None


def without_idle_blocks(weights: StateDict) -> dict[str, Any]:
    """Remove the residual blocks that have no effect on the outputs and renumber the others.

    A block whose last batch norm has scale and shift 0 adds nothing to its input. The relu that follows changes nothing
    either if the input has already been through the relu of another block. So the first block always stays.

    Args:
        weights: a state_dict of PolicyValueNetModel.
    """
    blocks = sorted({int(name.split(".")[1]) for name in weights if name.startswith("resnet.")})
    kept = [
        block
        for block in blocks
        if block == 0 or weights[f"resnet.{block}.4.weight"].any() or weights[f"resnet.{block}.4.bias"].any()
    ]
    number = {str(block): str(place) for place, block in enumerate(kept)}
    fewer = {}
    for name, tensor in weights.items():
        tower, _, rest = name.partition(".")
        block, _, layer = rest.partition(".")
        if tower != "resnet":
            fewer[name] = tensor
        elif block in number:
            fewer[f"resnet.{number[block]}.{layer}"] = tensor
    return fewer


def read_weights_of_board(path: str | PathLike[str], width: int, height: int) -> dict[str, Any]:
    """Read the weights of a network for this board.

    Raises:
        WeightsError: there are no weights at the path, or they belong to a board with another number of points.
    """
    weights = read_weights(path)
    own = read_sizes(weights)[:2]
    if own[0] * own[1] != width * height:
        raise WeightsError(f"expected weights for the board {width}x{height}; those in {path} have {own[0] * own[1]} points")
    return weights
