"""The checksum that a graded run carries, by which an altered record is noticed.

`results.json` holds the sha256 of each file that its verdicts can be repeated by, and a checksum of all that it says itself.
It is no signature: whoever can write the folder can also compute it anew. It shows accidents and careless edits.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from common.errors import UsageError

SUBMISSION = "submission.zip"
RECORDS = ("run.json", SUBMISSION, "verdicts.jsonl", "games.jsonl")


def seal(results: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The results of the run in `folder`, with the digests of its records and the checksum of the whole."""
    sealed = {**results, "records": _digests(folder)}
    return {**sealed, "checksum": _checksum(sealed)}


def require_unaltered(path: Path, results: dict[str, Any]) -> None:
    """UsageError where `results`, read from `path`, or a record beside it is not as the grader left it."""
    if "checksum" not in results:
        raise UsageError(f"{path} carries no checksum: an earlier grader wrote it, or it was altered; grade again")
    if results["checksum"] != _checksum({key: value for key, value in results.items() if key != "checksum"}):
        raise UsageError(f"{path} was altered after the grading (its checksum does not fit): it does not count; grade again")
    found = _digests(path.parent)
    if altered := [name for name in RECORDS if found.get(name) != results["records"].get(name)]:
        raise UsageError(
            f"{path.parent}: {', '.join(altered)} was altered or removed after the grading: the result does not count; "
            "grade again"
        )


def _digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in RECORDS if (folder / name).is_file()}


def _checksum(results: dict[str, Any]) -> str:
    """sha256 over the values alone: not over spaces, the order of keys or how a sign is written."""
    return hashlib.sha256(json.dumps(results, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()
