"""Write files atomically, so that a file appears complete or not at all, and remove what is in their place."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from common.errors import UsageError

UNFINISHED = ".part"
TOKEN_BYTES = 4
LONGEST_BEGINNING = 40  # characters of a file's name; a name may have 255 bytes, and the temporary one is longer
ABANDONED_S = 24 * 3600.0


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file beside `path`, which replaces `path` at the end of the block.

    If the block fails, the temporary file is removed and `path` is unchanged. No other process uses the same temporary file,
    so of several that write `path` at the same time, the last one to finish counts. What a killed process left behind is
    removed by a later call.

    Args:
        durable: whether to flush the content to disk before the replacement, so that it survives a power cut.
    """
    beginning = f".{path.name[:LONGEST_BEGINNING]}."
    _remove_abandoned(path.parent, beginning)
    unfinished = path.with_name(f"{beginning}{secrets.token_hex(TOKEN_BYTES)}{UNFINISHED}")
    try:
        yield unfinished
        if durable:
            with open(unfinished, "rb") as file:
                os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def require_outside(out: Path, paths: Iterable[Path]) -> None:
    """Raise a UsageError if the folder `out` is one of these paths or lies in one: a later call would read what is written."""
    place = Path(os.path.realpath(out))  # unlike `Path.resolve`, it accepts a link to itself
    for path in paths:
        if place.is_relative_to(os.path.realpath(path)):
            raise UsageError(f"expected a folder outside {path} after --out, because {path} is read; got {out}")


def _remove_abandoned(folder: Path, beginning: str) -> None:
    """Remove temporary files of `replacing` that nobody has written to for ABANDONED_S."""
    length = len(beginning) + 2 * TOKEN_BYTES + len(UNFINISHED)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if len(name) == length and name.startswith(beginning) and name.endswith(UNFINISHED):
                with suppress(FileNotFoundError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED_S:
                        os.unlink(entry.path)


def write_whole(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write or replace a file atomically: a reader sees the old content or the new, even if this process is killed.

    Args:
        content: text is written as UTF-8; characters that UTF-8 cannot encode, such as undecodable bytes in a file name, are
            escaped.
        durable: see `replacing`.
    """
    with replacing(path, durable=durable) as unfinished:
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))


def has_no_room(error: BaseException) -> bool:
    """Return whether an error, or its cause, means that a disk is full or read-only."""
    causes = (error, error.__cause__)
    return any(isinstance(each, OSError) and each.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS) for each in causes)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with everything in it, if there is one.

    No folder makes this fail, whatever a submission's program left in it: `shutil.rmtree` cannot remove folders inside each
    other that are deeper than Python's recursion, nor those that this user may not list.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        with suppress(OSError):  # no such command
            for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
                subprocess.run([*command, "--", str(path)], stdin=subprocess.DEVNULL, capture_output=True)
