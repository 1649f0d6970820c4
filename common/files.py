"""Write files so that they appear as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield the path of a new file that replaces `path` at the end of the block; if the block fails, `path` is unchanged.

    Args:
        durable: whether to flush the content to disk before the replacement, so that it survives a power cut.
    """
    unfinished = path.with_name(f".{path.name}.part")
    try:
        yield unfinished
        if durable:
            with open(unfinished, "rb") as file:
                os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file, replacing an existing one; a reader sees the whole old or the whole new content, even after a kill.

    Args:
        content: text is written as UTF-8; characters without a UTF-8 form (lone surrogates in file names) are escaped.
        durable: see `replacing`.
    """
    with replacing(path, durable=durable) as unfinished:
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
