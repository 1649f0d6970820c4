"""pytest's side of a grading run: points, fixtures, and the verdict that follows from a test's outcome.

A check is one test marked `@pytest.mark.points("mcts_pure.tree")` with an id of assignment.toml. It passes by returning,
fails by raising StudentFault (directly or through `ruling.expect`), and gives a share of its points through `ruling.deduct`
or `ruling.partial`. Any other exception is a fault in the grader: the check could not be graded, which means neither zero
nor full marks.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from grader.assignment import Check
from grader.confinement.confine import die_with_parent
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.oracle import Oracle, is_kit
from grader.judge.support.ruling import Ruling
from grader.pipeline.handed_out import Resemblance, find_resemblances
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, PARTIAL, PASSED, Verdict
from grader.pipeline.run import FOLDER_VARIABLE, GRADER_VARIABLE, Run, settled

RUN = pytest.StashKey[Run]()
RESEMBLANCES = pytest.StashKey[list[Resemblance]]()
BEGAN = pytest.StashKey[float]()
MOST_CHARACTERS = 8000
# Only a kit runs these checks: they replace trusted/test_training.py, which no kit contains.
collect_ignore = [] if is_kit() else ["checks/test_own_training.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "points(check_id): the check in assignment.toml that this test decides")
    _die_with_the_grader()
    if FOLDER_VARIABLE not in os.environ:
        raise pytest.UsageError("the checks are run by python -m grader grade or check")
    config.stash[RUN] = Run.from_environment()


def _die_with_the_grader() -> None:
    """Have this process killed when the grader that started it ends, so that no two runs write to one folder."""
    if grader := os.environ.get(GRADER_VARIABLE):
        die_with_parent()
        if os.getppid() != int(grader):
            os._exit(1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the requested checks, in the assignment's order, except those already decided by an earlier run that was killed."""
    run = config.stash[RUN]
    order = {check.id: place for place, check in enumerate(run.assignment.checks)}
    found: dict[str, pytest.Item] = {}
    for item in items:
        check_id = _check_id(item)
        if check_id not in order:
            raise pytest.UsageError(f"{item.nodeid} is marked with {check_id!r}, which is not in assignment.toml")
        if check_id in found:
            raise pytest.UsageError(f"two tests decide {check_id}: {found[check_id].nodeid} and {item.nodeid}")
        found[check_id] = item
    decided = settled(run.verdicts)
    items[:] = [found[i] for i in sorted(found, key=order.__getitem__) if i in run.requested and i not in decided]


def _check_id(item: pytest.Item) -> str:
    marker = item.get_closest_marker("points")
    return marker.args[0] if marker and marker.args else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    failed_early = call.when == "setup" and call.excinfo is not None
    if call.when == "call" or failed_early:
        run = item.config.stash[RUN]
        check = run.assignment.check(_check_id(item))
        ruling = item.funcargs.get("ruling")
        seconds = time.monotonic() - item.stash[BEGAN]  # with the fixtures, one of which trains the network
        try:
            run.record(_decide(check, ruling if isinstance(ruling, Ruling) else Ruling(), call, seconds))
            run.progress("")
        except OSError as error:  # such as a full disk: this check stays undecided, and the next ones are still tried
            item.warn(pytest.PytestWarning(f"the verdict on {check.id} could not be written: {error}"))
    return report


def _decide(check: Check, ruling: Ruling, call: pytest.CallInfo[None], seconds: float) -> Verdict:
    status, points, message = PASSED, check.points * ruling.share, ruling.message
    error = call.excinfo.value if call.excinfo is not None else None
    evidence = ruling.evidence
    if isinstance(error, StudentFault):
        status, points, message = FAILED, 0.0, str(error)
        evidence = {**_boards(error), **evidence}
    elif error is not None:
        status, points = COULD_NOT_GRADE, 0.0
        reason = str(error) if isinstance(error, CouldNotGrade) else f"{type(error).__name__}: {error}"
        message = f"The grader could not decide this{'' if is_kit() else ', so a person has to look'}: {reason}"
        evidence = {**evidence, "traceback": "".join(traceback.format_exception(error))[-4000:]}
    elif points <= 0:
        status = FAILED
    elif points < check.points:
        status = PARTIAL
    return Verdict.of(
        check,
        status,
        _shortened(message) or "As expected.",
        round(points, 2),
        expected=_shortened(ruling.expected),
        seen=_shortened(ruling.seen),
        seconds=round(seconds, 2),
        evidence=evidence,
    )


def _shortened(text: str) -> str:
    """Return a text for reports and tables; it may quote a name or a list from a submission, of any length."""
    more = len(text) - MOST_CHARACTERS
    return text if more <= 0 else f"{text[:MOST_CHARACTERS]} ... and {more} more characters."


def _boards(fault: BaseException | None) -> dict[str, Any]:
    """Return as evidence the positions of a fault, or of the fault that it quotes."""
    while fault is not None:
        if isinstance(fault, StudentFault) and fault.boards:
            return {"boards": fault.boards}
        fault = fault.__cause__
    return {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Raise CouldNotGrade if the submission resembles the code we handed out too closely; a kit runs the check anyway."""
    item.stash[BEGAN] = time.monotonic()
    run = item.config.stash[RUN]
    run.begin(_check_id(item))
    if is_kit() or run.identity.looked_at:
        return
    resemblances = item.config.stash.get(RESEMBLANCES, None)
    if resemblances is None:
        resemblances = item.config.stash[RESEMBLANCES] = find_resemblances(run.submission, run.assignment)
    check = run.assignment.check(_check_id(item))
    found = [one for one in resemblances if any(check.is_of(name) for name in one.checks)]
    if found:
        raise CouldNotGrade("; ".join(one.sentence for one in found))


@pytest.fixture(scope="session")
def run(pytestconfig: pytest.Config) -> Run:
    """The grading run: assignment, profile, workspace, sandbox and seed."""
    return pytestconfig.stash[RUN]


@pytest.fixture
def ruling(run: Run, request: pytest.FixtureRequest) -> Ruling:
    """The ruling in which the test records more than pass or fail."""
    return Ruling(shares=run.assignment.shares.get(_check_id(request.node), {}))


@pytest.fixture
def rng(run: Run, request: pytest.FixtureRequest) -> Random:
    """The check's own random generator, seeded by the run's seed and the check's id."""
    return run.random(_check_id(request.node))


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """The source of correct answers."""
    # Imported here, because a check without this fixture does not depend on it (grader/pipeline/judging.py).
    from grader.judge.support.which_oracle import find_oracle

    return find_oracle()


@pytest.fixture(scope="module")
def worker(run: Run) -> Iterator[Worker]:
    """A process that runs the student's Python; each file of checks gets its own process."""
    submitted = run.assignment.python_parts
    with Worker(run.workspace, run.sandbox, run.worker_limits, run.profile.call_limit_s, submitted) as worker:
        yield worker


@pytest.fixture(autouse=True)
def worker_seeds(run: Run, request: pytest.FixtureRequest) -> None:
    """Derive the seed of the student's code from the check alone, so earlier checks do not change its draws."""
    if "worker" in request.fixturenames:
        # Do not change this label: recorded runs could no longer be replayed.
        request.getfixturevalue("worker").seed_rng = run.random(f"{_check_id(request.node)}:dice")  # codespell:ignore dice
