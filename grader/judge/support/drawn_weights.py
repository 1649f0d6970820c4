"""Random weights for the policy-value network (handout section 5.2); the same seed always gives the same weights."""

from __future__ import annotations

import numpy as np

from common.weights import expected_layout


def random_weights(width: int, height: int, block: int, seed: int) -> dict[str, np.ndarray]:
    """Return weights [as expected_layout] float32 with which every layer matters.

    No bias is 0, and no scale or statistic is 0 or 1.
    """
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
    """Return weights [as expected_layout] float32, initialised as torch does it: uniform in +-1 / sqrt(fan in)."""
    numbers = np.random.default_rng(seed)
    layout = expected_layout(width, height, block)
    weights: dict[str, np.ndarray] = {}
    for key, shape in layout.items():
        layer = layout[f"{key.rpartition('.')[0]}.weight"]
        if key.endswith("num_batches_tracked"):
            weights[key] = np.array(0, dtype=np.int64)
        elif len(layer) == 1:  # batch norm
            weights[key] = np.full(shape, float(key.endswith(("weight", "running_var"))), dtype=np.float32)
        else:
            bound = 1.0 / np.sqrt(np.prod(layer[1:]))
            weights[key] = numbers.uniform(-bound, bound, shape).astype(np.float32)
    return weights
