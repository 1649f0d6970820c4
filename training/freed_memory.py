"""Let the C library keep the memory of one training step for the next."""

from __future__ import annotations

import contextlib
import ctypes
import sys

# From malloc.h of glibc, with the largest values that mallopt takes.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_TRIM, _LARGEST_MMAP = 2**31 - 1, 32 * 2**20


def keep_freed_memory() -> None:
    """Keep freed memory in this process instead of returning it to the system.

    A training step frees its activations at its end, and glibc gives them back. The next step then gets them page by page from
    the system, which takes up to a fifth of the CPU time of a step on 9x9 (`bench/training_steps.py`). Other C libraries are
    left as they are.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP)
            library.mallopt(_M_TRIM_THRESHOLD, _LARGEST_TRIM)
