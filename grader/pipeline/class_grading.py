"""Several submissions graded by one command: each to its end, none by what another one does, none twice.

What is finished is not graded again: the same command, given again after a kill, does what is left. A submission that cannot
be read is refused in one sentence, which is kept in its folder for the gradebook, and the others are graded.
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
    """Grade each path in turn; what each came to, in that order.

    Args:
        complain: is given the sentence of each refusal.

    Raises:
        UsageError: two submissions have one name, or another grader writes to the folder.
    """
    names = [submission_name(path) for path in paths]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"expected submissions of different names, since results are filed by name; twice: {doubled}")
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
    """Grade a submission that was read, unless it is finished."""
    folder = order.out / submission.name
    # What a person has cleared stays cleared.
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
        others = ", ".join(differing(folder, identity)) or "record, since the one there was altered or is damaged"
        announce(f"{submission.name}: graded before, and now with another {others}.")
    started = time.monotonic()
    decided = absent_verdicts(submission, order.assignment)
    results = grade_submission(submission, order, decided=decided, keeps_earlier=True, announce=announce)
    if results.could_not_grade:
        announce(f"Could not grade, a person has to look: {', '.join(results.could_not_grade)}.")
    announce(
        f"{results.submission}: {results.points:g} of {results.max_program_points:g} program points, "
        f"{results.awaiting_marks:g} await marks, in {time.monotonic() - started:.0f} s."
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
    announce(f"{name}: finished before ({results.environment['date']}) and not graded again; --again would.")
    if update_reports(order.out / name, submission):
        announce(f"{name}: its reports are others than before; they were put in the place of those, which were kept.")
    row = summary_row(results, ("finished before", *remarks))
    if order.seed not in (None, seed):
        complain(f"{name} is finished with seed {seed}: to grade it with seed {order.seed} as well, add --again")
        other = (f"finished with seed {seed}, not {order.seed}: --again is needed", *row.reasons)
        return SummaryRow(row.name, row.outcome, row.points, other, wrong_call=True)
    return row


def _remarks(submission: Submission, assignment: Assignment) -> list[str]:
    """What a person should know of a submission that is graded: files that were expected in a part that is there."""
    absent = absent_parts(submission, assignment)
    missing = [path for path in assignment.stubs if path not in submission.files and path.split("/")[0] not in absent]
    needed = [path for path in missing if any(path in needs for needs in assignment.parts.values())]
    return [f"without {', '.join(needed)}"] if needed else []


def _keep_refusal(path: Path, sentence: str) -> None:
    """Put the sentence where the gradebook looks for the result, if a folder can be there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{sentence}\n", encoding="utf-8", errors="backslashreplace")
    except OSError:
        pass  # the sentence was said, and stands in the table
