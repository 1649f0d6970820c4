"""Numbers so close to 0 that processors compute with them slowly, and how to avoid that.

Weight decay drives weights that the loss does not need towards 0, after some thousand steps as far as float32 goes: below
1.2e-38 numbers are subnormal. They and their products change no result, but most processors need over a hundred cycles for
each. With the weights of 6000 steps on 15x15, a training step in float32 took nine times as long (see also
`bench/training_steps.py`).
"""

from __future__ import annotations

from typing import Any

FADED = 1e-20  # products of two such numbers are below the range of float32


def flush_subnormals() -> None:
    """Take subnormal numbers as 0, in this thread and in those that it starts from now on.

    The grader does not do so where it runs a student's code, which may rely on them.
    """
    import numpy as np
    import torch

    for kind in (np.float32, np.float64):
        str(np.finfo(kind))  # numpy computes its numbers once; later it would warn that the smallest subnormal is 0
    torch.set_flush_denormal(True)


def without_faded(layers: dict[str, Any]) -> dict[str, Any]:
    """Return weights in which those that have faded away are 0, so that they are as fast in every program.

    Args:
        layers: name -> tensor; the tensors stay as they are.
    """
    return {
        name: tensor.masked_fill(tensor.abs() < FADED, 0) if tensor.is_floating_point() else tensor
        for name, tensor in layers.items()
    }
