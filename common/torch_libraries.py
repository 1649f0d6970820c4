"""The address space that torch's libraries take before a student's program has used any memory."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def torch_libraries_mib() -> int:
    """Return the size of the libraries that importing torch maps, in MiB; 0 without torch.

    A build for GPUs maps 2.8 GiB of them and one without 0.4 GiB (torch 2.13). A limit on the address space has to exceed a
    program's memory by this much, or the same solution would run on one machine and not on another.
    """
    spec = find_spec("torch")
    return 0 if spec is None or spec.origin is None else libraries_mib(Path(spec.origin).parent.parent)


def libraries_mib(packages: Path) -> int:
    """Return the size of torch's libraries in a folder of packages, with those of NVIDIA that a build for GPUs brings."""
    found = (path for pattern in ("torch/lib/*.so*", "nvidia/*/lib/*.so*") for path in packages.glob(pattern))
    return sum(path.stat().st_size for path in found if not path.is_symlink()) >> 20
