"""Notice that a training has diverged, before its broken weights replace good ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.errors import UsageError


def are_finite(weights: Iterable[Any]) -> bool:
    """Return whether no number in these tensors is infinite or nan. After a step on a loss that is nan, all weights are nan."""
    import torch

    return bool(torch.nn.utils.get_total_norm(weights).isfinite())


def expect_finite(weights: Iterable[Any], after: str, saved: Path, what_to_do: str) -> None:
    """Check the weights after a training step, since no later step can mend them.

    Args:
        weights: tensors, such as `Module.parameters()`.
        after: the step, such as "step 7".
        saved: the file in which the run keeps its last good weights.
        what_to_do: the end of the sentence.

    Raises:
        UsageError: a weight is infinite or nan.
    """
    if not are_finite(weights):
        good = f"the last finite ones are in {saved}" if saved.exists() else "no earlier ones have been saved"
        raise UsageError(f"expected finite weights after {after}; training has diverged, and {good}: {what_to_do}")
