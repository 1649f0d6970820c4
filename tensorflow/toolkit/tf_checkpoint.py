"""The variables of the policy-value network in a TensorFlow checkpoint, and the matching parts of the torch network.

A single table (`layout`) defines both. The board size and the number of blocks follow from names and shapes. TensorFlow itself
is needed only to read and write checkpoint files, and is imported only there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # not imported at run time, so that a bare Python gets to the message about TensorFlow
    import numpy as np

CHANNELS = 64
PLANES = 9
DENSE = 256
OPTIMISER = ("Adam", "Adam_1", "beta1_power", "beta2_power")
INSTALL = "TensorFlow is not installed: python -m pip install -r requirements-convert.txt"
Shape = tuple[int, ...]
Board = tuple[int, int]


class UsageError(Exception):
    """Raised for a wrong call or a wrong file; the message is one sentence for the user."""


@dataclass(frozen=True)
class Entry:
    """A variable of the checkpoint and its place in the torch network.

    Attributes:
        shape: the shape in the checkpoint.
        key: the key in torch's state_dict.
        axes: the axes of the checkpoint's variable, in the order in which torch has them.
    """

    shape: Shape
    key: str
    axes: Shape


@dataclass(frozen=True)
class Checkpoint:
    """The variables of the network in a checkpoint, and the sizes that they imply.

    Attributes:
        arrays: a dict from the name of a variable to its float32 array.
        boards: each (width, height) that fits; there are two if the board is not square and the caller did not give its size.
        block: the number of residual blocks.
        skipped: the number of variables that belong to the optimiser.
    """

    arrays: dict[str, np.ndarray]
    boards: list[Board]
    block: int
    skipped: int

    def __str__(self) -> str:
        boards = " or ".join(f"{width}x{height}" for width, height in self.boards)
        return f"board {boards}, {self.block} block{'' if self.block == 1 else 's'}, {len(self.arrays)} variables"


def layout(board: Board, block: int) -> dict[str, Entry]:
    """Return a dict variable -> entry for a board (width, height) and a number of blocks, in the order of the torch layers."""
    width, height = board
    points, padded = width * height, (width + 4) * (height + 4)
    table: dict[str, Entry] = {}

    def conv(name: str, key: str, size: int, into: int, out: int) -> None:
        table[f"model/{name}/kernel"] = Entry((size, size, into, out), f"{key}.weight", (3, 2, 0, 1))
        table[f"model/{name}/bias"] = Entry((out,), f"{key}.bias", (0,))

    def norm(name: str, key: str, size: int) -> None:
        pairs = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
        for theirs, ours in pairs.items():
            table[f"model/{name}/{theirs}"] = Entry((size,), f"{key}.{ours}", (0,))

    def dense(name: str, into: int, out: int) -> None:
        table[f"model/{name}/W"] = Entry((into, out), f"{name}.weight", (1, 0))
        table[f"model/{name}/b"] = Entry((out,), f"{name}.bias", (0,))

    conv("conv2d_1", "conv2d_1", 1, PLANES, CHANNELS)
    for i in range(block):
        for k, conv_at, norm_at in ((1, 0, 1), (2, 3, 4)):
            conv(f"resnet_conv2d_{i}_{k}", f"resnet.{i}.{conv_at}", 3, CHANNELS, CHANNELS)
            norm(f"resnet_bn_{i}_{k}", f"resnet.{i}.{norm_at}", CHANNELS)
    conv("conv2d_2", "conv2d_2", 1, CHANNELS, 2)
    norm("bn_1", "bn_1", 2)
    dense("dense_layer_1", 2 * padded, points)
    conv("conv2d_3", "conv2d_3", 1, CHANNELS, 1)
    norm("bn_2", "bn_2", 1)
    dense("dense_layer_2", padded, DENSE)
    dense("flatten_layer_3", DENSE, 1)
    return table


def sides(points: int, padded: int) -> Board | None:
    """Return the sides (a, b), longer first, with a * b = `points` and (a + 4) * (b + 4) = `padded`; None if no board fits."""
    total, rest = divmod(padded - points - 16, 4)
    square = total * total - 4 * points
    if rest or total < 2 or points < 1 or square < 0 or isqrt(square) ** 2 != square:
        return None
    return (total + isqrt(square)) // 2, (total - isqrt(square)) // 2


def is_optimisers(name: str) -> bool:
    """Return whether a variable belongs to Adam."""
    return name.rsplit("/", 1)[-1] in OPTIMISER


def read_sizes(shapes: Mapping[str, Shape], board: Board | None = None) -> tuple[list[Board], int]:
    """Return the boards (width, height) that fit the shapes, and the number of blocks.

    Args:
        shapes: the shapes of all variables in the checkpoint.
        board: the board that the checkpoint must be for, or None if the caller does not know.

    Raises:
        UsageError: a variable is missing, has another shape or does not belong to such a network; the message names it.
    """
    shapes = {name: shape for name, shape in shapes.items() if not is_optimisers(name)}
    numbered = [re.match(r"model/resnet_(?:conv2d|bn)_(\d{1,3})_[12]/", name) for name in shapes]
    block = max((int(found[1]) + 1 for found in numbered if found), default=0)
    if board:
        boards = [board]
    else:
        heads = ("model/dense_layer_1/W", "model/dense_layer_1/b", "model/dense_layer_2/W")
        policy, bias, value = (shapes.get(name, ()) for name in heads)
        # One of the three may be wrong, so each size is taken from both variables that contain it.
        all_points = {shape[-1] for shape in (policy, bias) if shape}
        all_padded = {policy[0] // 2 for _ in policy[:1]} | set(value[:1])
        boards = [found for points in all_points for padded in all_padded if (found := sides(points, padded))]
        if not boards:
            said = ", ".join(f"{name} {list(shapes[name])}" if name in shapes else f"{name} missing" for name in heads)
            raise UsageError(f"expected the two heads of one board; the checkpoint has {said}")
    best = min(boards, key=lambda one: len(problems(shapes, one, block)))
    wrong = problems(shapes, best, block)
    if wrong:
        network = f"a {best[0]}x{best[1]} board with {block} block{'' if block == 1 else 's'}"
        raise UsageError(f"expected exactly the variables of {network} in the checkpoint: {listed(wrong)}")
    return [best] if board or best[0] == best[1] else [best, (best[1], best[0])], block


def problems(shapes: Mapping[str, Shape], board: Board, block: int) -> list[str]:
    """List the differences between these variables and those of that network."""
    return differences(shapes, {name: entry.shape for name, entry in layout(board, block).items()})


def differences(shapes: Mapping[str, Shape], expected: Mapping[str, Shape]) -> list[str]:
    """List the shapes that are missing, different or extra, each in a few words; both arguments map a name to a shape."""
    missing = [f"{name} is missing" for name in expected if name not in shapes]
    misshaped = [
        f"{name} has shape {list(shapes[name])} in place of {list(shape)}"
        for name, shape in expected.items()
        if name in shapes and tuple(shapes[name]) != tuple(shape)
    ]
    extra = [f"{name} is extra" for name in sorted(shapes) if name not in expected]
    return missing + misshaped + extra


def listed(wrong: list[str]) -> str:
    """Join the first six differences, and say how many more there are."""
    return "; ".join(wrong[:6]) + (f"; and {len(wrong) - 6} more" if len(wrong) > 6 else "")


def checkpoint_prefix(path: str) -> str:
    """Return the path that names a checkpoint, given that path or one of the checkpoint's files.

    Raises:
        UsageError: there is no checkpoint.
    """
    prefix = re.sub(r"\.(index|data-\d{5}-of-\d{5})$", "", path)
    if not os.path.isfile(f"{prefix}.index"):
        raise UsageError(f"expected a checkpoint such as best_policy.model, with a file {prefix}.index; there is none")
    return os.path.abspath(prefix)


def import_tensorflow():
    """Import the TensorFlow library without its log messages.

    Raises:
        UsageError: it is not installed, or does not start.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # oneDNN prints a message despite the log level, and helps little here
    try:
        import tensorflow
    except ModuleNotFoundError as error:
        if error.name == "tensorflow":
            raise UsageError(INSTALL) from error
        raise UsageError(f"TensorFlow is installed but does not start: {error}") from error
    except ImportError as error:
        raise UsageError(f"TensorFlow is installed but does not start: {error}") from error
    if getattr(tensorflow, "__file__", None) is None:
        # Python has taken this project's folder tensorflow/ for the package, because it found no other.
        raise UsageError(INSTALL)
    return tensorflow


def read_checkpoint(path: str, board: Board | None = None) -> Checkpoint:
    """Read the network's variables from a saver-v2 checkpoint as float32 arrays.

    Raises:
        UsageError: TensorFlow is missing, the file is damaged, or it holds another network.
    """
    prefix = checkpoint_prefix(path)
    tf = import_tensorflow()
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes = {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}
        boards, block = read_sizes(shapes, board)
        arrays = {name: reader.get_tensor(name) for name in layout(boards[0], block)}
    except (tf.errors.OpError, RuntimeError, ValueError, IndexError) as error:
        raise UsageError(f"expected a readable checkpoint at {prefix}: {str(error).splitlines()[0]}") from error
    for name, array in arrays.items():
        if array.dtype.name != "float32" or not (abs(array) < inf).all():
            what = "NaN or infinity" if array.dtype.name == "float32" else array.dtype.name
            raise UsageError(f"expected finite float32 numbers in the checkpoint; {name} holds {what}")
    return Checkpoint(arrays, boards, block, sum(is_optimisers(name) for name in shapes))


def write_checkpoint(arrays: Mapping[str, np.ndarray], path: str) -> None:
    """Write these variables as a saver-v2 checkpoint; create the folder if it is missing and replace existing files.

    Raises:
        UsageError: TensorFlow is missing, or the files cannot be written.
    """
    tf = import_tensorflow()
    unfinished = f"{path}.part"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        tf.raw_ops.SaveV2(
            prefix=unfinished, tensor_names=list(arrays), shape_and_slices=[""] * len(arrays), tensors=list(arrays.values())
        )
        for ending in (".data-00000-of-00001", ".index"):
            os.replace(unfinished + ending, path + ending)
    except (OSError, tf.errors.OpError) as error:
        raise UsageError(f"expected OUT to be a file that can be written: {str(error).splitlines()[0]}") from error


def parse_board(text: str | None) -> Board | None:
    """Parse `WxH` into (width, height); None stays None.

    Raises:
        UsageError: the text has another form.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,2})x(\d{1,2})", text)
    if not found or "0" in found.groups():
        raise UsageError(f"expected --board as WIDTHxHEIGHT such as 11x11; got {text!r}")
    return int(found[1]), int(found[2])
