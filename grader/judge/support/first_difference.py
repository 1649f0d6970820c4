"""Name the first layer of a student's network whose output differs from that of the handout's network.

It explains why outputs differ, and decides nothing: layers are recognised by their names in the state_dict, which a network may
use in an order or in a way of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from common.student_network import name_difference, output_shapes
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault

LAYERS = "layers"
"""The answer of an oracle that has the `summary` of each layer's output, [layers, 3]."""
TOLERANCE = 2e-5
ALL_ALIKE = (
    "In eval mode, each layer of the table gives the right numbers, so look at what happens after the last ones "
    "(log softmax, tanh) and at what policy_value does."
)


def first_difference(worker: Worker, states: np.ndarray, size: tuple[int, int, int], expected: np.ndarray | None) -> str:
    """Return a sentence about the first layer that differs, or about what is left; an empty string if too little is known.

    Args:
        worker: a worker whose network has the weights of the case.
        states: [N, 9, H, W] float32.
        size: width, height, number of blocks.
        expected: [layers, 3], the `summary` of each layer's output; None compares only shapes.
    """
    try:
        seen = worker.call("net_layers", states=states)
    except StudentFault:
        return ""
    shapes = output_shapes(*size)
    numbers = dict(zip(shapes, expected if expected is not None else [None] * len(shapes), strict=True))
    last, alike = "", set()
    for name, shape, *found in seen:
        if name not in shapes:
            continue
        right = [len(states), *shapes[name]]
        if shape != right:
            return name_difference(name, f"shape {shape}", f"{right}", last)
        if numbers[name] is not None and (words := _other_numbers(found, numbers[name])):
            return name_difference(name, *words, last)
        last = name
        alike.add(name)
    return ALL_ALIKE if alike == shapes.keys() and expected is not None else ""


def _other_numbers(found: Sequence[float], expected: Sequence[float]) -> tuple[str, str] | None:
    """Return in words how a layer's summary differs, what was found and what was expected; None if it does not."""
    mean, spread, order = expected
    if not np.allclose(found[:2], (mean, spread), rtol=TOLERANCE, atol=TOLERANCE):
        return f"mean {found[0]:.4f}, spread {found[1]:.4f}", f"{mean:.4f}, {spread:.4f}"
    if abs(found[2] - order) > TOLERANCE * (1 + spread):
        found_in_words = "mean and spread are right, but its entries are not, or they are in another order"
        return found_in_words, "channels, rows and columns in the order of the states, rows from the top"
    return None
