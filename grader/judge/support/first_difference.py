"""Name the first layer of a student's network whose output differs from that of the handout's network.

It explains why outputs differ, and decides nothing: layers are recognised by their names in the state_dict, which a network may
use in an order or in a way of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from common.weights import CHANNELS, DENSE
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault

LAYERS = "layers"
"""The answer of an oracle that has the mean and standard deviation of each layer's output, [layers, 2]."""
TOLERANCE = 1e-3
ALL_ALIKE = (
    "In eval mode, each layer of the table gives the right numbers, so look at what happens after the last ones "
    "(log softmax, tanh) and at what policy_value does."
)


def output_shapes(width: int, height: int, block: int) -> dict[str, list[int]]:
    """Return layer -> shape of its output for one state, in the order of the handout's table (5.2)."""
    rows, columns = height + 4, width + 4
    wide = [CHANNELS, rows, columns]
    shapes = {"conv2d_1": wide}
    shapes |= {f"resnet.{i}.{at}": wide for i in range(block) for at in (0, 1, 3, 4)}
    shapes |= {"conv2d_2": [2, rows, columns], "bn_1": [2, rows, columns], "dense_layer_1": [width * height]}
    shapes |= {"conv2d_3": [1, rows, columns], "bn_2": [1, rows, columns]}
    return shapes | {"dense_layer_2": [DENSE], "flatten_layer_3": [1]}


def first_difference(worker: Worker, states: np.ndarray, size: tuple[int, int, int], expected: np.ndarray | None) -> str:
    """Return a sentence about the first layer that differs, or about what is left; an empty string if too little is known.

    Args:
        worker: a worker whose network has the weights of the case.
        states: [N, 9, H, W] float32.
        size: width, height, number of blocks.
        expected: [layers, 2], the mean and standard deviation of each layer's output; None compares only shapes.
    """
    try:
        seen = worker.call("net_layers", states=states)
    except StudentFault:
        return ""
    shapes = output_shapes(*size)
    numbers = dict(zip(shapes, expected if expected is not None else [None] * len(shapes), strict=True))
    last, alike = "", set()
    for name, shape, mean, spread in seen:
        if name not in shapes:
            continue
        right = [len(states), *shapes[name]]
        begin = f"The first layer whose output differs is {name}"
        if shape != right:
            return f"{begin}: shape {shape}; expected {right}.{_after(last)}"
        if numbers[name] is not None and not np.allclose((mean, spread), numbers[name], rtol=TOLERANCE, atol=TOLERANCE):
            return f"{begin}: mean {mean:.4f}, spread {spread:.4f}; expected {_pair(numbers[name])}.{_after(last)}"
        last = name
        alike.add(name)
    return ALL_ALIKE if alike == shapes.keys() and expected is not None else ""


def _pair(values: Sequence[Any]) -> str:
    return f"{values[0]:.4f}, {values[1]:.4f}"


def _after(layer: str) -> str:
    return f" Look at it and at what happens after {layer}." if layer else " Look at it and at its input."
