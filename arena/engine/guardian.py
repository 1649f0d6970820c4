"""Kill the engines of a match once the match process has ended, even by kill -9: `python -I -S guardian.py PREFIX`.

The guardian waits for the end of its standard input, which the match process keeps open, and then kills every process whose
mark begins with PREFIX. Without it, a stopped engine would stay forever, since it cannot notice that the match is over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

MARK = "GOMOKU_ENGINE_MARK"
PROC = Path("/proc")
CLEAN_LOOKS = 10


def read_file(path: str) -> bytes:
    """Return the content of a system file. This runs at every move and is several times faster than a file object."""
    handle = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(handle, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def process_ids() -> set[int]:
    """Return the ids of all processes visible to this one; the set is empty if there is no /proc."""
    try:
        return {int(name) for name in os.listdir(PROC) if name.isdigit()}
    except OSError:
        return set()


def environment_mark(pid: int) -> str | None:
    """Return the mark in the environment of a process; empty if there is none or the environment may not be read.

    Return None if the environment is empty: while a program is being loaded, its environment is empty for a moment.
    """
    try:
        text = read_file(f"{PROC}/{pid}/environ")
    except OSError:
        return ""
    wanted = MARK.encode() + b"="
    marks = (v[len(wanted) :].decode("ascii", "replace") for v in text.split(b"\0") if v.startswith(wanted))
    return next(marks, "") if text else None


def children(pid: int) -> list[int]:
    """Return the process ids of the children of all threads of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"{PROC}/{pid}/task"):
            found += map(int, read_file(f"{PROC}/{pid}/task/{task}/children").split())
    return found


def main() -> None:
    """Wait, then kill until no marked process has appeared for a while: a program that is being loaded shows no mark yet."""
    while os.read(0, 1):
        pass
    clean = 0
    for _ in range(100):
        marked = [pid for pid in process_ids() if (environment_mark(pid) or "").startswith(sys.argv[1])]
        clean = 0 if marked else clean + 1
        if clean == CLEAN_LOOKS:
            return
        for pid in marked:
            for member in [*children(pid), pid]:
                with contextlib.suppress(OSError):
                    os.kill(member, signal.SIGKILL)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
