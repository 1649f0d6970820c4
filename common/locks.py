"""Lock a file or a folder, so that two processes do not write it at the same time."""

from __future__ import annotations

import fcntl
from typing import Protocol


class HasDescriptor(Protocol):
    """An open file."""

    def fileno(self) -> int:
        """Return the descriptor."""


def lock(file: int | HasDescriptor) -> bool:
    """Lock an open file or folder until it is closed; the operating system also releases the lock of a killed process.

    Returns:
        Whether it could be locked: False if it is locked already, by this process or another.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
