"""The recorded results of the benches, bench/records/NAME.json, from which bench/tables.py makes the tables of the documents.

A record has `command` (how it was measured), `machine` (null if not recorded) and the raw results: counts, seconds and
settings. Whatever can be computed from them is left to the tables. Most records have a list `rows`. A row that was measured
on another machine than the record's names that machine itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "bench" / "records"
Record = dict[str, Any]


def read_json(path: Path) -> Record:
    """Read a record or a manifest.

    Raises:
        UsageError: the file cannot be read or is not a JSON object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"expected recorded results in {path}; {error}") from error
    if not isinstance(content, dict):
        raise UsageError(f"expected an object with recorded results in {path}; got {type(content).__name__}")
    return content


def write_record(path: Path, record: Record) -> None:
    """Write a record atomically, with one line for each of its values and for each element of a list."""
    parts = []
    for name, value in record.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(f"    {json.dumps(element)}" for element in value) + "\n  ]"
        parts.append(f"  {json.dumps(name)}: {text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "{\n" + ",\n".join(parts) + "\n}\n")


def add_record_option(parser: argparse.ArgumentParser, name: str) -> None:
    """Add --record to a bench, whose record has this name; the option's value is the file to write, or None."""
    parser.add_argument(
        "--record",
        type=lambda text: Path(text).resolve(),
        nargs="?",
        const=RECORDS / f"{name}.json",
        metavar="FILE",
        help=f"write the results to FILE (default bench/records/{name}.json); then run bench/tables.py",
    )


def earlier_record(path: Path | None, command: str) -> Record | None:
    """Return the record to which new rows are added, or None if there is none.

    Raises:
        UsageError: the file is not a record of this command.
    """
    if path is None or not path.exists():
        return None
    record = read_json(path)
    if record.get("command") != command or "rows" not in record or "machine" not in record:
        raise UsageError(f"expected a record of `{command}` in {path}, to which rows can be added; name another file")
    return record


def merged(earlier: Record | None, new: Record, key: Callable[[Record], Hashable]) -> Record:
    """Return the new record with those rows of an earlier one that it does not replace.

    Args:
        earlier: the record as it was, or None if there is none.
        new: the record of what has just been measured.
        key: what two rows have in common if one replaces the other.
    """
    if earlier is None:
        return new
    kept: Sequence[Record] = earlier["rows"]
    if earlier["machine"] != new["machine"]:
        kept = [{"machine": earlier["machine"], **row} for row in kept]
    rows = {key(row): row for row in kept} | {key(row): row for row in new["rows"]}
    return {**new, "rows": list(rows.values())}
