"""A student's network: weights loaded into it, and the first layer whose output has another shape than the handout's (5.2).

A wrong layer often shows only in a later one, which then gets an input that it cannot take. The programs that use a network
therefore try it on an empty board first.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from common.errors import UsageError
from common.player_faults import MOST_OF_A_MESSAGE, student_line
from common.subnormals import without_faded
from common.weights import (
    CHANNELS,
    DENSE,
    PLANES,
    WeightsError,
    expected_layout,
    read_sizes,
    read_weights_of_board,
    without_idle_blocks,
)

Network = TypeVar("Network")
FILE = "AlphaZero/policy_value_net_torch.py"


def output_shapes(width: int, height: int, block: int) -> dict[str, list[int]]:
    """Return layer -> shape of its output for one state, in the order of the handout's table (5.2)."""
    rows, columns = height + 4, width + 4
    wide = [CHANNELS, rows, columns]
    shapes = {"conv2d_1": wide}
    shapes |= {f"resnet.{i}.{at}": wide for i in range(block) for at in (0, 1, 3, 4)}
    shapes |= {"conv2d_2": [2, rows, columns], "bn_1": [2, rows, columns], "dense_layer_1": [width * height]}
    shapes |= {"conv2d_3": [1, rows, columns], "bn_2": [1, rows, columns]}
    return shapes | {"dense_layer_2": [DENSE], "flatten_layer_3": [1]}


def name_difference(layer: str, found: str, expected: str, last: str) -> str:
    """Return the sentences about the first layer that differs.

    Args:
        last: the layer before it, whose output is right; empty if there is none.
    """
    where = f"what happens after {last}" if last else "its input"
    return f"The first layer whose output differs is {layer}: {found}; expected {expected}. Look at it and at {where}."


def load_network(make: Callable[[int, int, int], Network], path: str | PathLike[str], width: int, height: int) -> Network:
    """Load a network for this board from a weights file, leaving out residual blocks and weights that have no effect.

    Args:
        make: the student's PolicyValueNet: (width, height, blocks) -> network with its module in the attribute `model`.

    Raises:
        WeightsError: there are no weights at the path, or they belong to another board or another network.
        UsageError: a layer of the network gives an output of another shape, and the network fails.
        NotImplementedError: the network is not written yet.
    """
    fewer = without_faded(without_idle_blocks(read_weights_of_board(path, width, height)))
    block = read_sizes(fewer)[2]
    try:
        network: Any = make(width, height, block)
        network.model.load_state_dict(fewer)
    except NotImplementedError:  # a subclass of RuntimeError, but its message must reach the student
        raise
    except (KeyError, RuntimeError) as error:
        raise WeightsError(f"expected weights of this network in {path}: {str(error).splitlines()[-1].strip()}") from error
    expect_layers(network, width, height, block)
    return network


def expect_layers(network: Any, width: int, height: int, block: int) -> None:
    """Evaluate an empty board, and name the first layer that differs if a wrong shape is what makes the network fail.

    A network that works is left alone. So is any other error: the program meets it where the network is used.

    Raises:
        UsageError: a layer or its weights have another shape than the handout's, and the network fails.
    """
    seen: list[tuple[str, list[int]]] = []

    def note(name: str) -> Any:
        return lambda module, arguments, output: seen.append((name, list(getattr(output, "shape", ()))))

    hooks = [module.register_forward_hook(note(name)) for name, module in network.model.named_modules()]
    state, failure = np.zeros((1, PLANES, height, width)), None
    try:
        probs, _ = network.policy_value(state, network.action_fc_test, network.evaluation_fc2_test)
        count, reason = np.asarray(probs).size, ""
        if count != width * height:
            reason = f"it returns {count} probabilities for {width * height} points"
    except Exception as error:
        failure, reason = error, _reason(error)
    finally:
        for hook in hooks:
            hook.remove()
    words = _other_shape(seen, network.model, (width, height, block)) if reason else ""
    if words:
        raise UsageError(f"the network cannot evaluate the board {width}x{height} ({reason}). {words}") from failure


def _reason(error: Exception) -> str:
    """Return where and why torch refused a shape; an empty text for an error of another kind."""
    if not isinstance(error, RuntimeError) or isinstance(error, NotImplementedError):
        return ""
    message = str(error).partition("\n")[0][:MOST_OF_A_MESSAGE]
    return f"{student_line(error) or f'{FILE}, line ?'}: {message}"


def _other_shape(seen: list[tuple[str, list[int]]], model: Any, size: tuple[int, int, int]) -> str:
    """Return what to say about the first output of another shape, or else the first weights; an empty text if all are right."""
    shapes, last = output_shapes(*size), ""
    for name, shape in seen:
        if name not in shapes:
            continue
        if shape != [1, *shapes[name]]:
            return name_difference(name, f"shape {shape}", f"{[1, *shapes[name]]}", last)
        last = name
    layout = expected_layout(*size)
    for key, weights in model.state_dict().items():
        if key in layout and tuple(weights.shape) != layout[key]:
            return f"{key} has shape {list(weights.shape)}; expected {list(layout[key])}."
    return ""
