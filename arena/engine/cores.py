"""Cores for games: how many there are for this process, and one of them for each game."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
LOCKS = Path("/tmp")  # whatever TMPDIR says: the grader gives each run one of its own


def available_cores() -> int:
    """Cores that this process may use: those of its affinity, or fewer by the quota of its container."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = QUOTA.read_text().split()
        cores = min(cores, max(1, ceil(int(quota) / int(period))))
    return cores


@contextlib.contextmanager
def one_core() -> Iterator[int | None]:
    """Keep the calling thread, and what it starts, on one core that no other game on this machine was given.

    Where all are taken, the choice is the system's: the core is shared and a game's clock (CPU time) stays fair.

    Yields:
        The core's number, or None.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        core = next((core for core in sorted(before) if _take(core, stack)), None)
        if core is None:
            yield None
            return
        os.sched_setaffinity(0, {core})
        try:
            yield core
        finally:
            os.sched_setaffinity(0, before)


def _take(core: int, stack: contextlib.ExitStack) -> bool:
    """Lock the core for as long as the stack is open; the lock of a killed process is free."""
    import fcntl  # absent where there is no affinity either

    path = LOCKS / f"gomoku-arena-core-{core}.lock"
    try:
        # Opened first without O_CREAT: another user's file in a sticky folder may be opened but not "created".
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            handle = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return False
    stack.callback(os.close, handle)
    return True
