"""Where a network is computed, as `--device` says it. torch is slow to import, so it is imported only if a GPU is asked for."""

from __future__ import annotations

from common.errors import UsageError

DEVICES = ("cpu", "cuda")


def wants_cuda(device: str | None) -> bool:
    """Return whether a network is to be computed on the GPU.

    Args:
        device: one of DEVICES, or None if the person did not choose.

    Raises:
        UsageError: torch finds no GPU.
    """
    if device != "cuda":
        return False
    import torch

    if not torch.cuda.is_available():
        raise UsageError(
            "expected a GPU that torch can use for --device cuda; it finds none: use --device cpu, or install torch for "
            "your GPU (https://pytorch.org)"
        )
    return True
