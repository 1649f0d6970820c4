"""Grade the submissions of a class, several at once: each has its own cores, and finished results are left unchanged."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from arena.engine.cores import available_cores
from common.errors import UsageError
from common.files import has_no_room, write_whole
from common.interrupts import each_in_threads
from common.locks import held_folder
from grader.assignment import Assignment
from grader.pipeline.class_progress import ClassListener, ClassProgress
from grader.pipeline.engine_build import require_compiler
from grader.pipeline.grading import RunChecks, absent_verdicts, grade_submission
from grader.pipeline.judging import require_tests
from grader.pipeline.listeners import Announce, Lines, Listener
from grader.pipeline.opponents import build_opponent
from grader.pipeline.order import Order
from grader.pipeline.ray_grading import RayChecks
from grader.pipeline.regrading import require_same_assignment, work_for
from grader.pipeline.report import write_report
from grader.pipeline.requests import interrupted_request, keeping_request
from grader.pipeline.results import REPORT, Results
from grader.pipeline.run_folder import REFUSAL_FILE, finish_move, update_reports
from grader.pipeline.submission import (
    Submission,
    absent_parts,
    different_names,
    read_submission,
    require_submissions,
    submission_name,
)
from grader.pipeline.summary import REFUSED, SummaryRow, summary_row, together

CONTINUED = "This command was interrupted before: what it has graded is not graded a second time."
FORGOTTEN = "This command was interrupted when it had --again: add --again to grade what is left of it."


@dataclass(frozen=True)
class ClassOrder:
    """How a class is to be graded.

    Attributes:
        order: how each submission is graded.
        jobs: how many are graded at once; None for one on each core.
        ray_address: the Ray cluster on which they are graded; None for this machine.
    """

    order: Order
    jobs: int | None = None
    ray_address: str | None = None

    def slots(self, submissions: int) -> list[set[int]]:
        """Return the cores of each submission that is graded at the same time as others.

        The sets are disjoint, so that the submissions, and the games of their matches, do not slow each other down.
        """
        cores = sorted(os.sched_getaffinity(0))[: available_cores()]
        jobs = submissions_at_once(submissions, self.jobs, len(cores))
        return [set(cores[slot::jobs]) or {cores[slot % len(cores)]} for slot in range(jobs)]


def submissions_at_once(submissions: int, jobs: int | None, cores: int) -> int:
    """Return how many submissions are graded at once.

    Args:
        submissions: how many are left to grade.
        jobs: the most at once; None for as many as there are cores.
    """
    return max(1, min(submissions, jobs or cores))


def grade_class(paths: Sequence[Path], class_order: ClassOrder, announce: Announce, complain: Announce) -> list[SummaryRow]:
    """Grade submissions, several at once.

    Args:
        announce: receives the lines that report progress.
        complain: receives the message about each refusal.

    Returns:
        One row of the summary for each path, in order.

    Raises:
        UsageError: two submissions have the same name, another grader writes to the folder, or it holds another assignment or
            the submissions themselves.
    """
    order = class_order.order
    names = different_names(paths)
    require_submissions(paths)
    _require_apart(paths, names, order.out)
    with held_folder(order.out, by="grader"), ExitStack() as stack:
        require_same_assignment(names, order)
        require_compiler(order.assignment)
        require_tests(order.assignment)
        for opponent in order.assignment.opponents:
            build_opponent(opponent, order.assignment)
        order = replace(order, request=interrupted_request(names, order))
        cluster, slots = None, class_order.slots(sum(_is_left(path, order) for path in paths))
        if class_order.ray_address is not None:
            cluster = stack.enter_context(closing(RayChecks(class_order.ray_address, order.assignment, order.sandbox)))
            announce(f"Ray cluster: {', '.join(machine.name for machine in cluster.machines.values())}, {cluster.cpus} cores")
            slots = [set(os.sched_getaffinity(0))] * max(1, min(len(paths), class_order.jobs or cluster.cpus))
        whole = names[0] if len(names) == 1 else f"{len(names)} submissions, {len(slots)} at a time"
        announce(f"{whole}, profile {order.profile}")
        if order.request:
            announce(CONTINUED if order.again else FORGOTTEN)
        order = stack.enter_context(keeping_request(names, order))
        grading = _ClassGrading(order, ClassProgress(announce, len(paths), len(slots)), complain, run_checks=cluster)
        free: SimpleQueue[set[int]] = SimpleQueue()
        for cores in slots:
            free.put(cores)
        calls = each_in_threads(
            lambda path: (path, grading.grade(path)),
            paths,
            len(slots),
            grading.stopping.set,
            initializer=lambda: os.sched_setaffinity(0, free.get()),
        )
        try:
            with closing(calls):
                ended = list(calls)
        except KeyboardInterrupt:
            announce("Stopping; every verdict so far is kept.")
            raise
        # A fault of the grader's own with one submission is raised after the others have been graded.
        rows = dict(call.result() for call in ended)
        return [rows[path] for path in paths]


def _require_apart(paths: Sequence[Path], names: Sequence[str], out: Path) -> None:
    """Raise a UsageError if a submission is or lies in the folder of a result, which would replace files of the student."""
    runs = {os.path.realpath(out / name) for name in names}
    for path in paths:
        real = Path(os.path.realpath(path))
        if not runs.isdisjoint(map(str, (real, *real.parents))):
            raise UsageError(f"expected another folder after --out; in {out}, results would be written into {path}")


def _is_left(path: Path, order: Order) -> bool:
    """Return whether a submission is still to be graded: only those that are share the cores."""
    try:
        work = work_for(read_submission(path, order.assignment), order, order.out / submission_name(path))
    except UsageError:
        return False
    except Exception:  # whatever it is, `grade` meets it too and says it
        return True
    return work.finished is None


@dataclass
class _ClassGrading:
    """A class that is being graded; several threads call `grade`.

    Attributes:
        run_checks: runs the checks somewhere else; None for this machine.
        stopping: when set, the submissions at work end as by Ctrl-C.
    """

    order: Order
    progress: ClassProgress
    complain: Announce
    run_checks: RunChecks | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    def grade(self, path: Path) -> SummaryRow:
        """Grade one submission, or keep the sentence that says why it cannot be read."""
        name = submission_name(path)
        self.progress.begin(name)
        refusal, graded = self.order.out / name / REFUSAL_FILE, False
        try:
            row, graded = self._grade(read_submission(path, self.order.assignment))
            refusal.unlink(missing_ok=True)
        except (UsageError, OSError) as error:
            if has_no_room(error):  # no fault of the submission's
                raise
            self.complain(str(error) if str(path) in str(error) else f"{path}: {error}")
            row = SummaryRow(name, REFUSED, reasons=(str(error),))
            _keep_refusal(refusal, str(error))
        except Exception as error:
            self.complain(f"{path}: the grader itself failed ({error!r}); the other submissions are graded first.")
            raise
        self.progress.end(name, graded=graded)
        return row

    def _grade(self, submission: Submission) -> tuple[SummaryRow, bool]:
        """Return the row of a submission that has been read, and whether all of it was graded now."""
        say, name, folder = self.progress.say, submission.name, self.order.out / submission.name
        finish_move(folder)
        work = work_for(submission, self.order, folder)
        remarks = _remarks(submission, self.order.assignment)
        if work.finished is not None:
            return self._finished(work.finished, submission, remarks), False
        if work.reason:
            say(f"{name}: was graded before, and is graded again because this has changed: {work.reason}.")
        started, taken_over = time.monotonic(), len(work.taken_over.verdicts)
        absent = {verdict.id for verdict in absent_verdicts(submission, work.order.assignment)}
        kept = [verdict for verdict in work.taken_over.verdicts if verdict.id not in absent]
        if kept and work.order.regrade:
            total = len(work.order.assignment.checks) - len(absent)
            say(f"{name}: {total - len(kept)} of {total} checks are graded again; the verdicts of the others are kept.")
        is_whole = not taken_over and not work.decided  # nothing was decided before
        results = grade_submission(
            submission,
            work.order,
            taken_over=work.taken_over,
            keeps_earlier=True,
            listener=self._listener(name),
            stopping=self.stopping,
            run_checks=self.run_checks,
        )
        if results.could_not_grade:
            say(f"{name}: could not be graded, so a person has to look: {together(results.could_not_grade)}.")
        marks = f"; {results.awaiting_marks:g} points are still to be marked by a person" if results.awaiting_marks else ""
        say(
            f"{name}: {results.points:g} of {results.max_program_points:g} program points in "
            f"{time.monotonic() - started:.0f} s{marks}."
        )
        say(f"Report: {folder / 'report.html'}")
        return summary_row(results, remarks), is_whole

    def _listener(self, name: str) -> Listener:
        """A single submission shows each verdict; of a class, only the number of decided checks is shown."""
        return Lines(self.progress.announce) if self.progress.total == 1 else ClassListener(self.progress, name)

    def _finished(self, results: Results, submission: Submission, remarks: Sequence[str]) -> SummaryRow:
        """Leave a finished result unchanged but for its reports, and say so."""
        order, say = self.order, self.progress.say
        name = submission.name
        hint = "" if order.again else "; use --again to grade it again"
        say(f"{name}: already graded ({results.environment['date']}){hint}.")
        changed = update_reports(order.out / name, submission)
        if changed or results.reports != tuple(submission.reports):
            results = replace(results, reports=submission.reports, ignored=submission.ignored, notes=submission.notes)
            write_report(results, order.out / name / REPORT)
            results.write(order.out / name)
            say(f"{name}: its reports have changed; the new ones replace the old ones, which are kept.")
        row = summary_row(results, ("finished before", *remarks))
        word, was, wanted = "seed", str(results.seed), str(results.seed if order.seed is None else order.seed)
        if results.profile != order.profile:
            word, was, wanted = "profile", results.profile, order.profile
        if was == wanted:
            return row
        self.complain(f"{name} was graded with {word} {was}: to grade it with {word} {wanted} as well, add --again")
        other = (f"graded with {word} {was}, not {wanted}; add --again", *row.reasons)
        return replace(row, reasons=other, wrong_call=True)


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
        write_whole(path, f"{sentence}\n")
    except OSError:
        pass  # the message has been printed and is in the table
