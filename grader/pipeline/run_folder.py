"""The folder of a graded run: who may write it, whether it is finished, and what is kept of an earlier one.

A run is of one work by one grader (`grader.pipeline.run.run_identity`). An unfinished one is continued; a finished one is never
deleted: whatever is graded in its place, it stays beside it in `earlier/1`, `earlier/2`, ...
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.errors import UsageError
from grader.assignment import Assignment
from grader.confinement.sandbox import Sandbox
from grader.pipeline.archive import write_archive
from grader.pipeline.kept_reports import REPORTS, are_kept, write_reports
from grader.pipeline.run import Run, Verdict, run_identity
from grader.pipeline.seal import SUBMISSION, require_unaltered
from grader.pipeline.submission import Submission
from grader.pipeline.workspace import build_workspace

RESULTS, REFUSED, LOCK = "results.json", "refused.txt", ".lock"
EARLIER, MOVING = "earlier", ".moving"
VERDICTS = "verdicts.jsonl"
# What a run leaves. The results stand first: what is begun anew may at no time be taken for what was finished.
RECORDS = (RESULTS, "run.json", VERDICTS, "games.jsonl", "report.html", "checks.log", SUBMISSION, REPORTS)
PASSING = ("progress.txt", "workspace", "scratch")
SCRATCH = "scratch"
# Key of a run's identity -> what is another one where it differs.
WORDS = {
    "submission": "name",
    "digest": "submission",
    "profile": "profile",
    "sandbox": "confinement",
    "grader": "grader",
    "checks": "checks",
    "looked_at": "word of the person who looked at it",
}
Announce = Callable[[str], None]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other graders out of a folder until the block ends, or this process does, however that comes about.

    Raises:
        UsageError: another grader is in it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / LOCK, "a+", encoding="utf-8")  # noqa: SIM115  closed below
    except OSError as error:
        raise UsageError(f"expected a folder for results at {folder}, which cannot be used: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise UsageError(
                f"another grader ({file.read(200).strip() or 'it has just begun'}) writes to {folder}: wait for its end, or "
                "name another folder by --out"
            ) from error
        except OSError as error:
            raise UsageError(f"{folder} cannot be locked against other graders: {error.strerror}") from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def finished_results(folder: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The results of a finished run of exactly this work, unaltered; None for any other."""
    _finish_move(folder)
    results = read_json(folder / RESULTS)
    if not results or read_json(folder / "run.json").get("identity") != identity:
        return None
    try:
        require_unaltered(folder / RESULTS, results)
    except (UsageError, AttributeError, KeyError, TypeError):
        return None
    return results


def differing(folder: Path, identity: dict[str, Any]) -> list[str]:
    """What of a run's identity is another one than the recorded run has."""
    recorded = read_json(folder / "run.json").get("identity", {})
    return [word for key, word in WORDS.items() if recorded.get(key) != identity[key]]


def prepare(
    folder: Path,
    submission: Submission,
    assignment: Assignment,
    profile: str,
    sandbox: Sandbox,
    *,
    seed: int | None,
    looked_at: bool,
    decided: Sequence[Verdict],
    keeps_earlier: bool,
    announce: Announce,
) -> None:
    """Lay out the run's folder, with the verdicts of an unfinished run of exactly this work.

    Args:
        seed: of positions and games; None draws a fresh one, or continues with that of an unfinished run.
        looked_at: whether a person has cleared what `grader.pipeline.handed_out` finds in it.
        decided: verdicts that are taken over.
        keeps_earlier: whether what was decided there before stays beside the new run; else it is removed.
    """
    _finish_move(folder)
    data = {
        "identity": run_identity(submission, assignment, profile, sandbox, looked_at=looked_at),
        "profile": profile,
        "sandbox": sandbox.level,
        "taken_over": [verdict.id for verdict in decided],
    }
    earlier = read_json(folder / "run.json")
    same_seed = seed is None or earlier.get("seed") == seed
    if not (folder / RESULTS).exists() and same_seed and {**earlier, "seed": None} == {**data, "seed": None}:
        _drop_cut_line(folder / VERDICTS)
        announce(f"{submission.name}: continuing an unfinished run, {len(Run(folder).verdicts)} checks are decided.")
    else:
        if keeps_earlier and (place := keep_earlier(folder)):
            announce(f"{submission.name}: what was there before is kept in {place}.")
        _clear(folder, RECORDS)
        lines = [json.dumps(verdict.to_json()) + "\n" for verdict in decided]
        (folder / VERDICTS).write_text("".join(lines), encoding="utf-8")
        write_json(folder / "run.json", {**data, "seed": secrets.randbelow(2**31) if seed is None else seed})
    write_archive(submission.files, folder / SUBMISSION)
    write_reports(submission.report_files, folder)
    _clear(folder, PASSING)
    (folder / SCRATCH).mkdir()
    build_workspace(assignment, submission, folder / "workspace")


def keep_earlier(folder: Path) -> Path | None:
    """Move what a run has left to a folder of its own beside it; None where nothing was decided."""
    if not any((folder / name).exists() and (folder / name).stat().st_size for name in (RESULTS, VERDICTS)):
        return None
    (folder / EARLIER / MOVING).mkdir(parents=True, exist_ok=True)
    return _finish_move(folder)


def _finish_move(folder: Path) -> Path | None:
    """Do the rest of a move that was begun, also by a grader that was killed meanwhile."""
    moving = folder / EARLIER / MOVING
    if not moving.is_dir():
        return None
    for name in RECORDS:
        if (folder / name).exists():
            (folder / name).rename(moving / name)
    return moving.rename(_next_earlier(folder))


def _next_earlier(folder: Path) -> Path:
    (folder / EARLIER).mkdir(exist_ok=True)
    numbers = [int(path.name) for path in (folder / EARLIER).iterdir() if path.name.isdecimal()]
    return folder / EARLIER / str(max(numbers, default=0) + 1)


def update_reports(folder: Path, submission: Submission) -> bool:
    """Put the reports of a later archive with the same programs beside a finished run; earlier ones stay.

    Returns:
        Whether there was anything to do.
    """
    if are_kept(submission.report_files, folder):
        return False
    if (folder / REPORTS).exists():
        place = _next_earlier(folder)
        place.mkdir()
        (folder / REPORTS).rename(place / REPORTS)
    write_reports(submission.report_files, folder)
    return True


def _clear(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _drop_cut_line(path: Path) -> None:
    """Cut off a last line that a kill left without its end, so that the next one is not appended to it."""
    written = path.read_bytes()
    os.truncate(path, written.rfind(b"\n") + 1)


def read_json(path: Path) -> dict[str, Any]:
    """What a file holds; nothing for one that is missing or damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Whole or not at all: a kill in the middle leaves the old file."""
    fresh = path.with_suffix(".new")
    # A path whose bytes are no UTF-8 holds lone surrogates; backslashreplace writes them as JSON's own escapes.
    fresh.write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8", errors="backslashreplace")
    fresh.replace(path)
