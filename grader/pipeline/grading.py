"""Submission -> workspace -> checks -> grade: one submission from its path to results.json and report.html.

The checks run in a pytest process of their own; this module prepares their run, waits, and adds up what they decided. A
check without a verdict (pytest itself died) could not be graded: it is never silently 0.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from arena.match.records import machine
from common.errors import UsageError
from grader.assignment import ROOT, Assignment
from grader.confinement.confine import die_with_parent
from grader.confinement.sandbox import Sandbox
from grader.pipeline.budget import Budget
from grader.pipeline.engine_build import build_opponent, require_compiler
from grader.pipeline.report import write_report
from grader.pipeline.run import AWAITING_MARKS, COULD_NOT_GRADE, FOLDER_VARIABLE, OVERRUN, Run, Verdict
from grader.pipeline.run_folder import RESULTS, SCRATCH, Announce, held, prepare, write_json
from grader.pipeline.seal import seal
from grader.pipeline.submission import Submission, absent_parts, read_submission

CHECKS = Path(__file__).resolve().parents[1] / "judge"
SOLUTION = ROOT / "instructor" / "reference"
POLL_S = 0.2


def require_strong(sandbox: Sandbox, paths: Sequence[Path], assignment: Assignment, allow_weak: bool) -> None:
    """UsageError where a submission that nobody has read would run at a weak level without the caller's consent."""
    if sandbox.weak and not allow_weak and not all(is_own_solution(path, assignment) for path in paths):
        raise UsageError(
            "expected a confinement in which submissions, which nobody has read, cannot write what the grader writes. "
            f"{sandbox.sentence} --allow-weak-sandbox grades all the same"
        )


def is_own_solution(path: Path, assignment: Assignment) -> bool:
    """Whether a submission is, file for file, the solution that lies in this repository; a student's kit has none."""
    if not SOLUTION.is_dir():
        return False
    try:
        return read_submission(path, assignment).digest == read_submission(SOLUTION, assignment).digest
    except UsageError:
        return False


def grade(
    path: Path,
    assignment: Assignment,
    profile: str,
    out: Path,
    sandbox: Sandbox,
    *,
    seed: int | None = None,
    looked_at: bool = False,
    announce: Announce = print,
) -> dict[str, Any]:
    """Grade one submission into `out/<name>/`, or continue a run that was killed there.

    Args:
        path: folder or archive.
        assignment: with the checks that are to be run, all or some.
        profile: a name of the assignment's profiles.
        seed: of positions and games; None draws a fresh one.
        looked_at: whether a person has cleared what `grader.pipeline.handed_out` finds in it.
        announce: is given a line for each verdict and, in place, the progress of a long check.

    Returns:
        What results.json holds.

    Raises:
        UsageError: the submission cannot be read, or the machine lacks a compiler.
    """
    submission = read_submission(path, assignment)
    return grade_submission(
        submission,
        assignment,
        profile,
        out,
        sandbox,
        seed=seed,
        looked_at=looked_at,
        decided=absent_verdicts(submission, assignment),
        announce=announce,
    )


def absent_verdicts(submission: Submission, assignment: Assignment) -> list[Verdict]:
    """A verdict for each check of a part of which nothing was handed in: a person has to look, since 0 may be wrong."""
    found = []
    for part, sentence in absent_parts(submission, assignment).items():
        for check in assignment.checks:
            if any(f"{check.id}.".startswith(f"{name}.") for name in assignment.decides[part]):
                found.append(
                    Verdict(
                        id=check.id,
                        status=COULD_NOT_GRADE,
                        points=0.0,
                        max_points=check.points,
                        message=f"{sentence} A person has to look.",
                        handout=check.handout,
                        title=check.title,
                    )
                )
    return found


def grade_submission(
    submission: Submission,
    assignment: Assignment,
    profile: str,
    out: Path,
    sandbox: Sandbox,
    *,
    seed: int | None = None,
    looked_at: bool = False,
    decided: Sequence[Verdict] = (),
    keeps_earlier: bool = False,
    announce: Announce = print,
) -> dict[str, Any]:
    """As `grade`, for a submission that has been read.

    Args:
        decided: verdicts that are taken over; their checks are not run.
        keeps_earlier: whether what another run left in the folder stays beside the new one.
    """
    require_compiler(assignment)
    folder = (out / submission.name).resolve()
    with held(folder):
        prepare(
            folder,
            submission,
            assignment,
            profile,
            sandbox,
            seed=seed,
            looked_at=looked_at,
            decided=decided,
            keeps_earlier=keeps_earlier,
            announce=announce,
        )
        for opponent in assignment.opponents:
            build_opponent(opponent, assignment)
        run = Run(folder)
        started = time.monotonic()
        code, log = _run_checks(run, assignment, announce)
        results = seal(_add_up(run, assignment, submission, code, log, time.monotonic() - started), folder)
        write_report(results, folder / "report.html")
        for name in ("workspace", SCRATCH):
            shutil.rmtree(folder / name, ignore_errors=True)
        # Last, since a run that holds it is finished.
        write_json(folder / RESULTS, results)
    return results


def _run_checks(run: Run, assignment: Assignment, announce: Announce) -> tuple[int, str]:
    """Run pytest over the checks; returns its exit code and the end of its log.

    A check that takes too long is ended with all that it started, and pytest goes on with the next one.
    """
    command = [sys.executable, "-m", "pytest", str(CHECKS), "-q", "-p", "no:cacheprovider", "--no-header"]
    command += ["-c", os.devnull, f"--rootdir={ROOT}", f"--confcutdir={CHECKS}", "--import-mode=importlib"]
    environment = {**os.environ, FOLDER_VARIABLE: str(run.folder), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    # What the checks leave when they are killed is removed with the run's folder or by the next start.
    environment["TMPDIR"] = str(run.folder / SCRATCH)
    environment.pop("PYTEST_ADDOPTS", None)
    profile = assignment.profile(run.data["profile"])
    budget = Budget(60 * profile.budget_minutes, assignment.deadlines_s(profile))
    log_path, told = run.folder / "checks.log", set[str]()
    while True:
        with open(log_path, "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(_die_with, os.getpid()),
            )
        overrun = _wait(process, run, budget, lambda: _announce_new(run, assignment, told, announce))
        if overrun:
            _set_aside(run, assignment, budget, overrun)
            _announce_new(run, assignment, told, announce)
        if not overrun or budget.spent:
            return process.returncode, log_path.read_text(encoding="utf-8", errors="replace")[-4000:]


def _wait(process: subprocess.Popen[bytes], run: Run, budget: Budget, on_look: Callable[[], None]) -> str:
    """Wait for the checks, and end them once their time is up; returns why, see `Budget.overrun`."""
    overrun = ""
    budget.watch(process.pid)
    try:
        while process.poll() is None and not overrun:
            time.sleep(POLL_S)
            on_look()
            overrun = budget.overrun(run.current)
    except KeyboardInterrupt:
        # The checks end their workers and engines themselves when they are interrupted.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        raise
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    on_look()
    return overrun


def _set_aside(run: Run, assignment: Assignment, budget: Budget, overrun: str) -> None:
    """Record that the check which was running took too long; all that are left if nothing is left of the budget."""
    verdicts = run.verdicts
    undecided = [check for check in assignment.checks if check.id in run.asked]
    left = [check for check in undecided if check.id not in verdicts or verdicts[check.id].status == COULD_NOT_GRADE]
    for check in left if budget.spent else [assignment.check(run.current)]:
        run.record(
            Verdict(
                id=check.id,
                status=COULD_NOT_GRADE,
                points=0.0,
                max_points=check.points,
                message=f"This check could not be graded and a person has to look: {overrun}.",
                handout=check.handout,
                title=check.title,
                evidence={OVERRUN: round(budget.used_s, 1)},
            )
        )


def _die_with(parent: int) -> None:
    """In a process about to become the checks: have it killed when the grader is, so that no two runs write one folder."""
    die_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def _announce_new(run: Run, assignment: Assignment, told: set[str], announce: Announce) -> None:
    verdicts = run.verdicts
    for check_id, verdict in verdicts.items():
        if check_id not in told:
            told.add(check_id)
            points = f"{verdict.points:g}/{verdict.max_points:g}"
            announce(
                f"[{len(told):2}/{len(assignment.checks)}] {check_id:28} {verdict.status:15} {points:>7}  {verdict.message}"
            )
    try:
        progress = (run.folder / "progress.txt").read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    if progress:
        announce(f"\r{progress}")


def _add_up(run: Run, assignment: Assignment, submission: Submission, code: int, log: str, seconds: float) -> dict[str, Any]:
    verdicts = run.verdicts
    checks = []
    for check in assignment.checks:
        lost = Verdict(
            id=check.id,
            status=COULD_NOT_GRADE,
            points=0.0,
            max_points=check.points,
            message=f"The checks ended (exit code {code}) before this one was decided; a person has to look.",
            handout=check.handout,
            title=check.title,
            evidence={"log": log},
        )
        # Points and titles are the assignment's even where a run began under an older one.
        checks.append(replace(verdicts.get(check.id, lost), title=check.title, max_points=check.points))
    for mark in assignment.marks:
        checks.append(
            Verdict(
                id=mark.id,
                status=AWAITING_MARKS,
                points=0.0,
                max_points=mark.points,
                message="Marked by a person.",
                handout=mark.handout,
                title=mark.title,
            )
        )
    program = [check for check in checks if check.status != AWAITING_MARKS]
    return {
        "assignment": assignment.id,
        "title": assignment.title,
        "submission": submission.name,
        "digest": submission.digest,
        "profile": run.profile.name,
        "seed": run.seed,
        "looked_at": run.looked_at,
        "points": round(sum(check.points for check in program), 2),
        "max_points": round(sum(check.max_points for check in checks), 2),
        "max_program_points": round(sum(check.max_points for check in program), 2),
        "awaiting_marks": round(sum(check.max_points for check in checks if check.status == AWAITING_MARKS), 2),
        "could_not_grade": [check.id for check in program if check.status == COULD_NOT_GRADE],
        "grader": run.data["identity"]["grader"],
        "sandbox": {**run.sandbox.properties, "sentence": run.sandbox.sentence},
        "environment": environment(assignment),
        "seconds": round(seconds, 1),
        "files": {"collected": list(submission.files), "reports": list(submission.reports)},
        "ignored": [list(pair) for pair in submission.ignored],
        "notes": list(submission.notes),
        "checks": [check.to_json() for check in checks],
    }


def environment(assignment: Assignment) -> dict[str, str]:
    """The versions and the machine that a verdict may depend on, and the date."""

    def version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "absent"

    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "torch": version("torch"),
        "compiler": _compiler_version(assignment),
        "system": platform.platform(),
        "processor": machine()["processor"],
        "cores": str(len(os.sched_getaffinity(0))),
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _compiler_version(assignment: Assignment) -> str:
    done = subprocess.run([assignment.compile_command[0], "-dumpfullversion"], capture_output=True, text=True)
    return done.stdout.strip()
