"""The folder of a graded run: who may write to it, whether the run is finished, and what is kept from earlier runs.

`grader.pipeline.order.Identity` tells runs apart. An unfinished run is continued. A finished run is never deleted: when
another run takes its place, it is kept in `earlier/1`, `earlier/2`, ... The first files of the new run are written to `.next/`
before that, so that the verdicts that it takes over are never without a run that has them.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from common.errors import UsageError
from common.files import remove
from grader.pipeline.archive import write_archive
from grader.pipeline.kept_reports import REPORTS, are_kept, write_reports
from grader.pipeline.listeners import Announce
from grader.pipeline.order import Identity, Order
from grader.pipeline.results import GAMES, REPORT, RESULTS, RUN, SUBMISSION, VERDICTS, Results, Verdict, read_results
from grader.pipeline.run import ENGINE, LOG, PROGRESS, SCRATCH, USED, WORKSPACE, RunRecord, decided_so_far
from grader.pipeline.submission import Submission
from grader.pipeline.workspace import build_workspace

REFUSAL_FILE = "refused.txt"
EARLIER, MOVING, NEXT = "earlier", ".moving", ".next"
# The files of a run, results first: while they are moved one by one, those left must never look like a finished run.
RECORDS = (RESULTS, RUN, VERDICTS, GAMES, REPORT, LOG, SUBMISSION, REPORTS)
PASSING = (PROGRESS, WORKSPACE, ENGINE, SCRATCH)
# Key of a run's identity -> the word for it in messages.
WORDS = {
    "submission": "name",
    "digest": "submission",
    "profile": "profile",
    "sandbox": "confinement",
    "grader": "grader",
    "checks": "checks",
    "looked_at": "--looked-at",
    "whole_match": "--whole-match",
}


@dataclass(frozen=True)
class TakenOver:
    """What a run takes over from another run.

    Attributes:
        verdicts: the verdicts of checks that do not run.
        games: the content of games.jsonl, with which the match goes on; empty to begin with the first game.
    """

    verdicts: Sequence[Verdict] = ()
    games: bytes = b""


def finished_results(folder: Path, identity: Identity) -> Results | None:
    """Return the unaltered results of a finished run with exactly this identity, or None."""
    finish_move(folder)
    record = RunRecord.read(folder)
    if record is None or record.identity != identity:
        return None
    try:
        return read_results(folder / RESULTS)
    except UsageError:
        return None


def differing(folder: Path, identity: Identity) -> list[str]:
    """Return the words for what differs between this identity and that of the recorded run."""
    record = RunRecord.read(folder)
    return [word for name, word in WORDS.items() if record is None or getattr(record.identity, name) != getattr(identity, name)]


def prepare_folder(
    folder: Path,
    submission: Submission,
    order: Order,
    *,
    taken_over: TakenOver,
    keeps_earlier: bool,
    say: Announce,
) -> None:
    """Lay out the run's folder; an unfinished run with the same identity keeps its verdicts.

    Args:
        keeps_earlier: whether an earlier run with verdicts is kept beside the new one; otherwise it is removed.
    """
    finish_move(folder)
    earlier = RunRecord.read(folder)
    drawn = secrets.randbelow(2**31) if order.seed is None else order.seed
    known = tuple(verdict.id for verdict in taken_over.verdicts)
    fresh = RunRecord(Identity.of(submission, order), drawn, known, str(order.regrade or ""), order.request)
    # An unfinished run continues with its recorded seed, unless another one is requested.
    seed = earlier.seed if earlier is not None and order.seed is None else drawn
    same = replace(fresh, seed=seed, regrade=earlier.regrade, request=earlier.request) if earlier is not None else None
    if earlier is not None and earlier == same and not (folder / RESULTS).exists():
        if fresh.request:
            replace(earlier, request=fresh.request).write(folder)
        for name in (VERDICTS, GAMES):
            _drop_cut_line(folder / name)
        say(f"{submission.name}: continuing an unfinished run; checks decided so far: {len(decided_so_far(folder))}.")
    else:
        _write_next(folder / NEXT, fresh, taken_over)
        if keeps_earlier and (place := keep_earlier(folder)):
            say(f"{submission.name}: the earlier run is kept in {place}.")
        for name in sorted(RECORDS, key=lambda name: name == RUN):  # while run.json is there, the next run has not begun
            remove(folder / name)
        _begin_next(folder)
    write_archive(submission.files, folder / SUBMISSION)
    write_reports(submission.report_files, folder)
    for name in PASSING:
        remove(folder / name)
    (folder / SCRATCH).mkdir()
    build_workspace(order.assignment, submission, folder / WORKSPACE)


def keep_earlier(folder: Path) -> Path | None:
    """Move the files of a run to a new folder in `earlier/` and return it; None if the run decided nothing."""
    if not any((folder / name).exists() and (folder / name).stat().st_size for name in (RESULTS, VERDICTS)):
        return None
    (folder / EARLIER / MOVING).mkdir(parents=True, exist_ok=True)
    return _move(folder)


def finish_move(folder: Path) -> None:
    """Finish what a killed grader began: to keep an earlier run, and to put the next one in its place."""
    _move(folder)
    _begin_next(folder)


def _move(folder: Path) -> Path | None:
    """Finish a move that was begun, perhaps by a grader that was killed; return the new folder, or None without a move."""
    moving = folder / EARLIER / MOVING
    if not moving.is_dir():
        return None
    for name in RECORDS:
        if (folder / name).exists():
            (folder / name).rename(moving / name)
    return moving.rename(_next_earlier(folder))


def _write_next(place: Path, record: RunRecord, taken_over: TakenOver) -> None:
    """Write the first files of a run, run.json last, while an earlier run is still in its place."""
    remove(place)
    place.mkdir()
    lines = [json.dumps(verdict.to_json()) + "\n" for verdict in taken_over.verdicts]
    (place / VERDICTS).write_text("".join(lines), encoding="utf-8")
    if taken_over.games:
        (place / GAMES).write_bytes(taken_over.games)
    record.write(place)


def _begin_next(folder: Path) -> None:
    """Put the first files of a run in place, run.json last, unless they are not whole or an earlier run is still there."""
    if not (folder / NEXT / RUN).exists() or (folder / RUN).exists():
        return
    remove(folder / USED)
    for name in (GAMES, VERDICTS, RUN):
        if (folder / NEXT / name).exists():
            (folder / NEXT / name).rename(folder / name)
    remove(folder / NEXT)


def _next_earlier(folder: Path) -> Path:
    (folder / EARLIER).mkdir(exist_ok=True)
    numbers = [int(path.name) for path in (folder / EARLIER).iterdir() if path.name.isdecimal()]
    return folder / EARLIER / str(max(numbers, default=0) + 1)


def update_reports(folder: Path, submission: Submission) -> bool:
    """Put the reports of a later archive with the same programs beside a finished run; earlier reports are kept.

    Returns:
        Whether the reports differed.
    """
    if are_kept(submission.report_files, folder):
        return False
    if (folder / REPORTS).exists():
        place = _next_earlier(folder)
        place.mkdir()
        (folder / REPORTS).rename(place / REPORTS)
    write_reports(submission.report_files, folder)
    return True


def _drop_cut_line(path: Path) -> None:
    """Remove an incomplete last line, left by a kill or a full disk, so that the next line is not appended to it."""
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
