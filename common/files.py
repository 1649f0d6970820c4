"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """A new file beside `path`, which takes its place at the end of the block; if the block fails, nothing has changed.

    Args:
        durable: whether the content is on the disk before it takes the place, as what must outlive a power cut.
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
    """Write a file in place of what was there; whoever reads it meanwhile, or after a kill, finds all of the old or the new.

    Args:
        content: text is written as UTF-8; what of it has no UTF-8 form, as in a file's name of other bytes, is escaped.
        durable: see `replacing`.
    """
    with replacing(path, durable=durable) as unfinished:
        unfinished.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
