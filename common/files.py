"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in place of what was there; whoever reads it meanwhile, or after a kill, finds all of the old or the new.

    Args:
        content: text is written as UTF-8; what of it has no UTF-8 form, as in a file's name of other bytes, is escaped.
    """
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
    os.replace(fresh, path)
