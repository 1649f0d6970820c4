"""CPU cores: count those that this process may use, use fewer of them, and reserve one for each game."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from common.locks import lock

QUOTA = Path("/sys/fs/cgroup/cpu.max")
LOCKS = Path("/tmp")  # not TMPDIR, since the grader gives each run its own, and all runs must see the same locks
_turns = itertools.count(os.getpid())  # games that find no free core share the cores in turn


def available_cores() -> int:
    """Return how many cores this process may use: those in its affinity mask, or fewer if its container has a quota."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = QUOTA.read_text().split()
        cores = min(cores, max(1, ceil(int(quota) / int(period))))
    return cores


@contextlib.contextmanager
def at_most_cores(count: int) -> Iterator[None]:
    """Let the calling thread, and whatever it starts, use no more than this many cores; other programs may use them as well."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[: max(1, count)])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def one_core() -> Iterator[int | None]:
    """Keep the calling thread, and whatever it starts, on one core, if possible on one that no other game on this machine uses.

    If all cores are taken, the game shares one, but its clock (CPU time) stays fair. Even then it must not have several: an
    engine with threads that plans by the wall clock would use more CPU time than it planned, and lose.

    Yields:
        The number of a core that no other game uses, or None if there is none.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        core = next((core for core in sorted(before) if _take(core, stack)), None)
        shared = sorted(before)[next(_turns) % len(before)]
        os.sched_setaffinity(0, {shared if core is None else core})
        try:
            yield core
        finally:
            os.sched_setaffinity(0, before)


def _take(core: int, stack: contextlib.ExitStack) -> bool:
    """Try to lock the core until the stack is closed; the system releases the lock of a killed process."""
    path = LOCKS / f"gomoku-arena-core-{core}.lock"
    try:
        # Try without O_CREAT first: in a sticky folder another user's file may be opened but not "created".
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        stack.callback(os.close, handle)
        return lock(handle)
    except OSError:  # the folder cannot be used, or its file system has no locks
        return False
