"""The rows of metrics.csv, which a training run appends; they say how many games, steps or samples there were so far."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.files import write_whole


def keep_rows(path: Path, **reached: int) -> None:
    """Remove the rows that a continued run writes again: those after its checkpoint, and one that a kill left incomplete.

    Args:
        path: the file; nothing happens if it does not exist.
        reached: column -> its number at the checkpoint, such as `games=500`; a row with a larger one came later.
    """
    if not path.exists():
        return
    lines = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    if not lines:  # not even the heading is complete
        path.unlink()
        return
    head, *rows = lines
    columns = head.rstrip().split(",")
    limits = {columns.index(name): number for name, number in reached.items()}
    kept = [row for row in rows if all(int(row.split(",")[at]) <= number for at, number in limits.items())]
    write_whole(path, head + "".join(kept))


def add_row(path: Path, row: Mapping[str, Any]) -> None:
    """Append a row, after a heading if the file is new."""
    is_new = not path.exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
