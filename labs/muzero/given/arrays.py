"""What a submission returns, as arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def plain(value: Any) -> np.ndarray:
    """Return a tensor, an array or numbers as an array of float64."""
    return np.asarray(value.detach().numpy() if isinstance(value, torch.Tensor) else value, dtype=np.float64)


def one_number(value: Any, what: str) -> np.ndarray:
    """Return a number, or a tensor or an array with one entry, as an array without dimensions; TypeError for anything else."""
    array = plain(value)
    if array.size != 1:
        raise TypeError(f"{what} must be one number; it has the shape {array.shape}")
    return array.reshape(())
