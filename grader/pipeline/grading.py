"""Grade one submission, from its path to results.json and report.html.

The checks run in a separate pytest process. This module prepares the run, waits for it, and adds up the verdicts. A check
without a verdict (because pytest itself died) is reported as one that could not be graded; it never silently counts as 0.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from arena.engine.cores import available_cores
from arena.match.records import machine
from common.errors import UsageError
from common.files import remove
from common.locks import held_folder
from common.processes import kill_group
from grader.assignment import ROOT, Assignment
from grader.confinement.sandbox import Sandbox
from grader.pipeline.budget import Budget
from grader.pipeline.engine_build import require_compiler
from grader.pipeline.judging import bases
from grader.pipeline.listeners import Listener
from grader.pipeline.opponents import build_opponent
from grader.pipeline.order import Order
from grader.pipeline.report import write_report
from grader.pipeline.results import AWAITING_MARKS, COULD_NOT_GRADE, REPORT, Results, Verdict
from grader.pipeline.run import ENGINE, FOLDER_VARIABLE, GRADER_VARIABLE, LOG, OVERRUN, PROGRESS, SCRATCH, USED, WORKSPACE, Run
from grader.pipeline.run_folder import TakenOver, prepare_folder
from grader.pipeline.submission import Submission, absent_parts, read_submission

CHECKS = Path(__file__).resolve().parents[1] / "judge"
POLL_S = 0.2
NOTED_S = 5.0  # a killed run forgets at most this much of what it had used of its budget
SILENT = Listener()
NOTHING = TakenOver()


@dataclass(frozen=True)
class Ended:
    """The end of the checks of a run.

    Attributes:
        code: the exit code of pytest.
        log: the end of what pytest wrote.
        environment: what `environment` returned where the checks ran.
    """

    code: int
    log: str
    environment: dict[str, str]


RunChecks = Callable[[Run, Listener, threading.Event], Ended]
"""Runs the checks of a run whose folder is laid out; each verdict is in the folder as soon as it is decided."""


def require_strong(sandbox: Sandbox, paths: Sequence[Path], assignment: Assignment, allow_weak: bool) -> None:
    """Raise a UsageError if a submission that nobody has read would run in weak confinement without the caller's consent."""
    if sandbox.weak and not allow_weak and not all(is_own_solution(path, assignment) for path in paths):
        raise UsageError(
            "expected a confinement that keeps submissions that nobody has read from writing to the grader's files. "
            f"{sandbox.sentence} Use --allow-weak-sandbox to grade anyway"
        )


def is_own_solution(path: Path, assignment: Assignment) -> bool:
    """Return whether a submission equals, file for file, the solution in this repository; a student's kit holds no solution."""
    solution = ROOT / assignment.reference
    if not solution.is_dir():
        return False
    try:
        return read_submission(path, assignment).digest == read_submission(solution, assignment).digest
    except UsageError:
        return False


def grade(path: Path, order: Order, listener: Listener = SILENT) -> Results:
    """Grade one submission, a folder or an archive, into `out/<name>/`, or continue a run that was killed there.

    Raises:
        UsageError: the submission cannot be read, or the machine lacks a compiler.
    """
    submission = read_submission(path, order.assignment)
    absent = TakenOver(absent_verdicts(submission, order.assignment))
    return grade_submission(submission, order, taken_over=absent, listener=listener)


def absent_verdicts(submission: Submission, assignment: Assignment) -> list[Verdict]:
    """Return a verdict for each check of a part that was not handed in at all: a person has to look, because 0 may be wrong."""
    found = []
    for part, sentence in absent_parts(submission, assignment).items():
        for check in assignment.checks:
            if any(check.is_of(name) for name in assignment.decides[part]):
                found.append(Verdict.of(check, COULD_NOT_GRADE, f"{sentence} A person has to look."))
    return found


def grade_submission(
    submission: Submission,
    order: Order,
    *,
    taken_over: TakenOver = NOTHING,
    keeps_earlier: bool = False,
    listener: Listener = SILENT,
    stopping: threading.Event | None = None,
    run_checks: RunChecks | None = None,
) -> Results:
    """Like `grade`, for a submission that has already been read.

    Args:
        keeps_earlier: whether the files of an earlier run in the folder are kept beside the new one.
        stopping: when set, grading ends as by Ctrl-C, with a KeyboardInterrupt.
        run_checks: runs the checks somewhere else; None for this machine.
    """
    assignment = order.assignment
    run_checks = run_checks or run_checks_here
    require_compiler(assignment)
    folder = Path(os.path.realpath(order.out / submission.name))
    with held_folder(folder, by="grader"):
        prepare_folder(folder, submission, order, taken_over=taken_over, keeps_earlier=keeps_earlier, say=listener.say)
        basis = bases(submission.files, order.sandbox.level, assignment, order.profile)
        for opponent in assignment.opponents:
            build_opponent(opponent, assignment)
        run = Run(folder, assignment, order.sandbox)
        started = time.monotonic()
        ended = run_checks(run, listener, stopping or threading.Event())
        verdicts = _add_up(run, basis, ended)
        results = _results(run, submission, verdicts, ended.environment, time.monotonic() - started)
        write_report(results, folder / REPORT)
        for name in (WORKSPACE, ENGINE, SCRATCH, USED):
            remove(folder / name)
        results.write(folder)  # last, because a run with results.json counts as finished
    return results


def pytest_arguments(assignment: Assignment) -> list[str]:
    """Return the arguments with which pytest, started in ROOT, runs the checks, and nothing of the configuration there."""
    checks = ROOT / assignment.checks_folder
    arguments = [str(checks), "-q", "-p", "no:cacheprovider", "--no-header", "-c", os.devnull]
    # pytest would replace what looks like a variable, $HOME, in the path of its root.
    arguments += [f"--rootdir={os.curdir}", f"--confcutdir={checks}", "--import-mode=importlib"]
    if not checks.is_relative_to(CHECKS):
        arguments += ["-p", "grader.judge.conftest"]  # pytest finds it by itself only above the checks
    return arguments


def run_checks_here(run: Run, listener: Listener, stopping: threading.Event) -> Ended:
    """Run pytest over the checks, on this machine.

    A check that takes too long is killed with every process that it started, and pytest goes on with the next one.

    Raises:
        KeyboardInterrupt: `stopping` was set, or Ctrl-C was pressed.
    """
    command = [sys.executable, "-m", "pytest", *pytest_arguments(run.assignment)]
    variables = {**os.environ, FOLDER_VARIABLE: str(run.folder), GRADER_VARIABLE: str(os.getpid())}
    variables |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    # Files that killed checks leave behind are removed with this folder when the run ends, or when it next starts.
    variables["TMPDIR"] = str(run.folder / SCRATCH)
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins that happen to be installed take no part in grading
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        variables.pop(name, None)
    budget = Budget(60 * run.profile.budget_minutes, run.assignment.deadlines_s(run.profile), run.used_s)
    log_path, said = run.folder / LOG, set[str]()
    while True:
        with open(log_path, "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        overrun = _wait(process, run, budget, stopping, lambda: tell(run, said, listener))
        if overrun:
            _set_aside(run, budget, overrun)
            tell(run, said, listener)
        if not overrun or budget.spent:
            log_end = log_path.read_text(encoding="utf-8", errors="replace")[-4000:]
            return Ended(process.returncode, log_end, environment(run.assignment))


def _wait(
    process: subprocess.Popen[bytes], run: Run, budget: Budget, stopping: threading.Event, on_look: Callable[[], None]
) -> str:
    """Wait for the checks and kill them when their time is up; return the reason (see `Budget.overrun`)."""
    overrun = ""
    budget.watch(process.pid)
    try:
        while process.poll() is None and not overrun:
            if stopping.wait(POLL_S):
                raise KeyboardInterrupt
            on_look()
            overrun = budget.overrun(run.current)
            if budget.used_s - run.used_s > NOTED_S:
                run.used_s = budget.used_s
    except KeyboardInterrupt:
        # When interrupted, the checks end their workers and engines themselves.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        raise
    finally:
        kill_group(process)
    on_look()
    return overrun


def _set_aside(run: Run, budget: Budget, overrun: str) -> None:
    """Record that the running check took too long, or all undecided checks if the budget is used up.

    A check that had its verdict and only did not end keeps it.
    """
    assignment, verdicts = run.assignment, run.verdicts
    undecided = [check for check in assignment.checks if check.id in run.requested]
    left = [check for check in undecided if check.id not in verdicts or verdicts[check.id].status == COULD_NOT_GRADE]
    message = f"This check could not be graded, and a person has to look: {overrun}."
    for check in left if budget.spent else [check for check in left if check.id == run.current]:
        run.record(Verdict.of(check, COULD_NOT_GRADE, message, evidence={OVERRUN: round(budget.used_s, 1)}))


def tell(run: Run, said: set[str], listener: Listener) -> None:
    """Tell the listener what is new: verdicts, each of them once, and how far a long check is."""
    for check_id, verdict in run.verdicts.items():
        if check_id not in said:
            said.add(check_id)
            listener.decided(len(said), len(run.assignment.checks), verdict)
    try:
        progress = (run.folder / PROGRESS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    if progress:
        listener.progress(progress)


def _add_up(run: Run, basis: Mapping[str, str], ended: Ended) -> list[Verdict]:
    """Return a verdict for each check and each mark of a run whose checks have ended."""
    assignment, decided = run.assignment, run.verdicts
    message = f"The checks ended (exit code {ended.code}) before this one was decided; a person has to look."
    verdicts = []
    for check in assignment.checks:
        lost = Verdict.of(check, COULD_NOT_GRADE, message, evidence={"log": ended.log})
        # Points and titles come from the current assignment, even if the run began under an older one.
        verdict = decided.get(check.id, lost)
        basis_of = verdict.basis or basis[check.id]  # a verdict that was taken over keeps its basis
        verdicts.append(replace(verdict, title=check.title, max_points=check.points, basis=basis_of))
    return verdicts + [Verdict.of(mark, AWAITING_MARKS, "Marked by a person.") for mark in assignment.marks]


def _results(run: Run, submission: Submission, verdicts: Sequence[Verdict], around: dict[str, str], seconds: float) -> Results:
    assignment = run.assignment
    results = Results(
        assignment=assignment.id,
        title=assignment.title,
        submission=submission.name,
        digest=submission.digest,
        profile=run.profile.name,
        seed=run.seed,
        looked_at=run.identity.looked_at,
        whole_match=run.identity.whole_match,
        grader=run.identity.grader,
        sandbox={**run.sandbox.properties, "sentence": run.sandbox.sentence},
        environment=around,
        seconds=round(seconds, 1),
        collected=tuple(submission.files),
        reports=tuple(submission.reports),
        ignored=tuple(submission.ignored),
        notes=tuple(submission.notes),
        verdicts=tuple(verdicts),
    )
    return results.sealed(run.folder)


def environment(assignment: Assignment) -> dict[str, str]:
    """Return the versions, the machine and the date: everything outside this repository that a verdict may depend on."""

    def version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "absent"

    here = machine()
    return {
        "python": here["python"],
        "numpy": version("numpy"),
        "torch": version("torch"),
        "compiler": _compiler_version(assignment),
        "system": here["system"],
        "processor": here["processor"],
        "cores": str(available_cores()),  # of this run, which may be fewer than those of the machine
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _compiler_version(assignment: Assignment) -> str:
    if not assignment.engine_folder:
        return "not used"
    done = subprocess.run([assignment.compile_command[0], "-dumpfullversion"], capture_output=True, text=True)
    return done.stdout.strip()
