"""Lock a file or a folder, so that two processes do not write it at the same time."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from common.errors import UsageError

LOCK = ".lock"


class HasDescriptor(Protocol):
    """An open file."""

    def fileno(self) -> int:
        """Return the descriptor."""


def lock(file: int | HasDescriptor) -> bool:
    """Lock an open file or folder until it is closed; the operating system also releases the lock of a killed process.

    Returns:
        Whether it could be locked: False if it is locked already, by this process or another.

    Raises:
        OSError: the file system has no locks; NFS has none for a file that is not open for writing, nor for a folder.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held_folder(folder: Path, by: str) -> Iterator[None]:
    """Make a folder if there is none, and keep other processes out of it until the block ends or this process is killed.

    The file `.lock` in it is locked, and names the process as long as it holds the folder. If the block fails before anything
    was written into a new folder, the folder is removed again.

    Args:
        folder: also created with the folders above it.
        by: a word for the kind of process, such as "grader".

    Raises:
        UsageError: another process holds the folder, or the folder cannot be used.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / LOCK, "a+", encoding="utf-8")  # noqa: SIM115  closed below
    except OSError as error:
        raise UsageError(f"expected a folder at {folder}, which cannot be used: {error.strerror}") from error
    with file:
        try:
            locked = lock(file)
        except OSError as error:
            raise UsageError(f"{folder} cannot be locked against another {by}: {error.strerror}") from error
        if not locked:
            file.seek(0)
            holder = file.read(200).strip() or "it has just begun"
            raise UsageError(f"another {by} ({holder}) is writing to {folder}: wait until it ends, or name another folder")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        try:
            yield
            file.truncate(0)
        except BaseException:
            if new and not any(path.name != LOCK for path in folder.iterdir()):
                (folder / LOCK).unlink()
                with suppress(OSError):  # another process has begun to use a folder above
                    for each in new:
                        each.rmdir()
            raise
