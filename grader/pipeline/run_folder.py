"""The folder of a graded run: who may write it, whether it is finished, and what is kept of an earlier one.

A run is of one work by one grader (`grader.pipeline.order.Identity`). An unfinished one is continued; a finished one is never
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
from dataclasses import replace
from pathlib import Path

from common.errors import UsageError
from grader.pipeline.archive import write_archive
from grader.pipeline.kept_reports import REPORTS, are_kept, write_reports
from grader.pipeline.order import Identity, Order
from grader.pipeline.results import GAMES, RESULTS, RUN, SUBMISSION, VERDICTS, Results, Verdict, read_results
from grader.pipeline.run import PROGRESS, RunRecord, decided_so_far
from grader.pipeline.submission import Submission
from grader.pipeline.workspace import build_workspace

REFUSAL_FILE, LOCK = "refused.txt", ".lock"
EARLIER, MOVING = "earlier", ".moving"
# What a run leaves. The results stand first: what is begun anew may at no time be taken for what was finished.
RECORDS = (RESULTS, RUN, VERDICTS, GAMES, "report.html", "checks.log", SUBMISSION, REPORTS)
PASSING = (PROGRESS, "workspace", "scratch")
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


def finished_results(folder: Path, identity: Identity) -> Results | None:
    """The results of a finished run of exactly this work, unaltered; None for any other."""
    _finish_move(folder)
    record = RunRecord.read(folder)
    if record is None or record.identity != identity:
        return None
    try:
        return read_results(folder / RESULTS)
    except UsageError:
        return None


def differing(folder: Path, identity: Identity) -> list[str]:
    """What of a run's identity is another one than the recorded run has."""
    record = RunRecord.read(folder)
    return [word for name, word in WORDS.items() if record is None or getattr(record.identity, name) != getattr(identity, name)]


def prepare_folder(
    folder: Path,
    submission: Submission,
    order: Order,
    *,
    decided: Sequence[Verdict],
    keeps_earlier: bool,
    announce: Announce,
) -> None:
    """Lay out the run's folder, with the verdicts of an unfinished run of exactly this work.

    Args:
        decided: verdicts that are taken over.
        keeps_earlier: whether what was decided there before stays beside the new run; else it is removed.
    """
    _finish_move(folder)
    earlier = RunRecord.read(folder)
    drawn = secrets.randbelow(2**31) if order.seed is None else order.seed
    fresh = RunRecord(Identity.of(submission, order), drawn, tuple(verdict.id for verdict in decided))
    # An unfinished run is continued with its own seed, unless another one is asked for.
    is_same = earlier is not None and earlier == replace(fresh, seed=earlier.seed if order.seed is None else order.seed)
    if is_same and not (folder / RESULTS).exists():
        _drop_cut_line(folder / VERDICTS)
        announce(f"{submission.name}: continuing an unfinished run, {len(decided_so_far(folder))} checks are decided.")
    else:
        if keeps_earlier and (place := keep_earlier(folder)):
            announce(f"{submission.name}: what was there before is kept in {place}.")
        _clear(folder, RECORDS)
        lines = [json.dumps(verdict.to_json()) + "\n" for verdict in decided]
        (folder / VERDICTS).write_text("".join(lines), encoding="utf-8")
        fresh.write(folder)
    write_archive(submission.files, folder / SUBMISSION)
    write_reports(submission.report_files, folder)
    _clear(folder, PASSING)
    (folder / SCRATCH).mkdir()
    build_workspace(order.assignment, submission, folder / "workspace")


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
