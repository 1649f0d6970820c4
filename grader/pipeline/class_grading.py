"""Grade several submissions with one command, each completely and independently of the others.

A finished submission is not graded again: after a kill, the same command grades the rest. A submission that cannot be read
is refused with a one-sentence message, which is kept in its folder for the gradebook; the others are still graded.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.pipeline.grading import absent_verdicts, grade_submission
from grader.pipeline.order import Identity, Order
from grader.pipeline.results import RESULTS, Results
from grader.pipeline.run_folder import REFUSAL_FILE, Announce, differing, finished_results, held, update_reports
from grader.pipeline.submission import Submission, absent_parts, read_submission, submission_name
from grader.pipeline.summary import REFUSED, SummaryRow, summary_row


def grade_class(paths: Sequence[Path], order: Order, announce: Announce, complain: Announce) -> list[SummaryRow]:
    """Grade each path in turn.

    Args:
        announce: receives the lines that report progress.
        complain: receives the message about each refusal.

    Returns:
        One row of the summary for each path, in order.

    Raises:
        UsageError: two submissions have the same name, or another grader writes to the folder.
    """
    names = [submission_name(path) for path in paths]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"expected submissions with different names, because results are filed by name; given twice: {', '.join(doubled)}"
        )
    rows = []
    with held(order.out):
        for number, (path, name) in enumerate(zip(paths, names, strict=True), 1):
            announce(f"{name} ({number} of {len(paths)}), profile {order.profile}")
            refusal = order.out / name / REFUSAL_FILE
            try:
                row = _grade(read_submission(path, order.assignment), order, announce, complain)
                refusal.unlink(missing_ok=True)
            except (UsageError, OSError) as error:
                complain(f"{path}: {error}")
                row = SummaryRow(name, REFUSED, reasons=(str(error),))
                _keep_refusal(refusal, str(error))
            rows.append(row)
    return rows


def _grade(submission: Submission, order: Order, announce: Announce, complain: Announce) -> SummaryRow:
    """Grade a submission that has been read, unless it was finished before."""
    folder = order.out / submission.name
    # A submission that a person has cleared stays cleared.
    cleared = replace(order, looked_at=True)
    results = finished_results(folder, Identity.of(submission, cleared))
    if results is not None:
        order = cleared
    identity = Identity.of(submission, order)
    if results is None and not order.looked_at:
        results = finished_results(folder, identity)
    remarks = _remarks(submission, order.assignment)
    if results is not None and not order.again:
        return _finished(results, submission, order, remarks, announce, complain)
    if results is None and (folder / RESULTS).exists():
        changes = ", ".join(differing(folder, identity)) or "the record itself, which was altered or is damaged"
        announce(f"{submission.name}: graded before, and graded again because this has changed: {changes}.")
    started = time.monotonic()
    decided = absent_verdicts(submission, order.assignment)
    results = grade_submission(submission, order, decided=decided, keeps_earlier=True, announce=announce)
    if results.could_not_grade:
        announce(f"Could not be graded, so a person has to look: {', '.join(results.could_not_grade)}.")
    announce(
        f"{results.submission}: {results.points:g} of {results.max_program_points:g} program points in "
        f"{time.monotonic() - started:.0f} s; {results.awaiting_marks:g} points are still to be marked by a person."
    )
    announce(f"Report: {folder / 'report.html'}")
    return summary_row(results, remarks)


def _finished(
    results: Results,
    submission: Submission,
    order: Order,
    remarks: Sequence[str],
    announce: Announce,
    complain: Announce,
) -> SummaryRow:
    """Leave a finished result as it is, and say so."""
    name, seed = submission.name, results.seed
    announce(f"{name}: finished before ({results.environment['date']}) and not graded again; use --again to grade it again.")
    if update_reports(order.out / name, submission):
        announce(f"{name}: its reports have changed; the new ones replace the old ones, which are kept.")
    row = summary_row(results, ("finished before", *remarks))
    if order.seed not in (None, seed):
        complain(f"{name} was graded with seed {seed}: to grade it with seed {order.seed} as well, add --again")
        other = (f"graded with seed {seed}, not {order.seed}; add --again", *row.reasons)
        return SummaryRow(row.name, row.outcome, row.points, other, wrong_call=True)
    return row


def _remarks(submission: Submission, assignment: Assignment) -> list[str]:
    """Return what a person should know about a graded submission: the files missing from a part that was handed in."""
    absent = absent_parts(submission, assignment)
    missing = [path for path in assignment.stubs if path not in submission.files and path.split("/")[0] not in absent]
    needed = [path for path in missing if any(path in needs for needs in assignment.parts.values())]
    return [f"without {', '.join(needed)}"] if needed else []


def _keep_refusal(path: Path, sentence: str) -> None:
    """Write the message where the gradebook looks for the result, if a folder can be made there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{sentence}\n", encoding="utf-8", errors="backslashreplace")
    except OSError:
        pass  # the message has been printed and is in the table
