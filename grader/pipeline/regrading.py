"""What is left to do for a submission that was graded before, as a whole or in part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from common.errors import UsageError
from grader.pipeline.grading import NOTHING, absent_verdicts
from grader.pipeline.judging import bases, grader_digest
from grader.pipeline.order import Identity, Order, Regrade
from grader.pipeline.results import COULD_NOT_GRADE, GAMES, PASSED, RESULTS, Results, Verdict, read_results
from grader.pipeline.run import RunRecord, decided_so_far, settled
from grader.pipeline.run_folder import TakenOver, differing
from grader.pipeline.submission import Submission

ALTERED = "the record itself, which was altered or is damaged"


@dataclass(frozen=True)
class Work:
    """What is left to do for a submission.

    Attributes:
        order: the order, with the checks and the seed to use.
        taken_over: what the run takes over; an unfinished run that is continued has it already.
        decided: ids of the checks that an unfinished run has decided, if it is continued.
        finished: the results if nothing is left to do.
        reason: what has changed if a finished submission is graded again without a request to do so.
    """

    order: Order
    taken_over: TakenOver = NOTHING
    decided: frozenset[str] = frozenset()
    finished: Results | None = None
    reason: str = ""


def work_for(submission: Submission, order: Order, folder: Path) -> Work:
    """Return what is left to do for a submission whose results are, or will be, in this folder; nothing is written."""
    record, results = RunRecord.read(folder), _results_in(folder)
    unfinished = record if record is not None and not (folder / RESULTS).exists() else None
    begun = _begun(folder, unfinished) if unfinished else {}
    order = _restricted(order, begun if unfinished else {verdict.id for verdict in results.program} if results else ())
    identities = {Identity.of(submission, one): one for one in _cleared(order)}
    if unfinished and order.seed in (None, unfinished.seed):
        known, games = unfinished.identity, _games_in(folder)
        if known in identities:  # it is continued, even if another part of it is requested now
            kept = tuple(begun[i] for i in unfinished.taken_over if i in begun)
            return Work(identities[known], TakenOver(kept, games), frozenset(begun))
        if (others := replace(known, checks=tuple(check.id for check in order.assignment.checks))) in identities:
            order, absent = identities[others], {one.id: one for one in absent_verdicts(submission, order.assignment)}
            return Work(replace(order, seed=unfinished.seed), TakenOver(tuple((absent | begun).values()), games))
    again = order.again and not (order.request and record is not None and record.request == order.request)
    fresh = Work(order, TakenOver(absent_verdicts(submission, order.assignment)))
    if record is None or results is None:
        return replace(fresh, reason=ALTERED if (folder / RESULTS).exists() else "")
    checks = tuple(check.id for check in order.assignment.checks)
    same = identities.get(replace(record.identity, checks=checks))
    is_other_profile = same is None and replace(record.identity, checks=checks, profile=order.profile) in identities
    if is_other_profile and not again and _games(order, results.profile) >= _games(order, order.profile):
        return Work(order, finished=results)  # the profile was probably forgotten
    if order.seed not in (None, results.seed):
        if same is not None and not again:
            return Work(order, finished=results)
        changes = (*differing(folder, Identity.of(submission, order)), "the seed, which all checks of a run share")
        return replace(fresh, reason=", ".join(changes))
    regrade = order.regrade
    if regrade is not None and regrade.which is None and not again:
        regrade = replace(regrade, which="changed")
    if regrade is None and order.whole_match and not results.whole_match:
        regrade = Regrade(only=order.assignment.long_checks.get("match", ()))
    if regrade is None and same is not None and not again:
        regrade = Regrade(which="changed")  # an earlier command may have graded only some checks, or only some again
    if regrade is None:
        return replace(fresh, reason="" if same else ", ".join(differing(folder, Identity.of(submission, order))))
    if same is not None and record.regrade == str(regrade) and not again:
        return Work(order, finished=results)
    return _regraded(submission, replace(order, regrade=regrade), folder, results, regrade)


def require_same_assignment(names: Iterable[str], order: Order) -> None:
    """Raise a UsageError if the folder of a submission holds a run of another assignment, as where `--lab` was forgotten."""
    for name in names:
        record = RunRecord.read(order.out / name)
        if record is not None and record.identity.assignment not in ("", order.assignment.id):
            raise UsageError(
                f"expected runs of the assignment {order.assignment.id!r} in {order.out}; {name} was graded there as "
                f"{record.identity.assignment!r}: give --lab {record.identity.assignment}, or another folder after --out"
            )


def _regraded(submission: Submission, order: Order, folder: Path, results: Results, regrade: Regrade) -> Work:
    """Return the work of grading some checks again.

    These are the requested ones, those whose verdicts belong to other work, those that had another number of points, and those
    to which `--looked-at` and `--whole-match` now apply, since the results will say so.
    """
    now = bases(submission.files, order.sandbox.level, order.assignment, order.profile)
    then = {verdict.id: verdict for verdict in results.program}
    changed = {i for i, basis in now.items() if i not in then or then[i].basis != basis}
    again = {i for i in now if not regrade.only or i in regrade.only}
    if regrade.which == "changed":
        again &= changed
    elif regrade.which == "failed":
        again &= {i for i in now if i not in then or then[i].status != PASSED}
    graded, level = (results.digest, results.profile), results.sandbox.get("level")
    wanted = (submission.digest, order.profile, order.sandbox.level)
    if (*graded, level) != wanted:
        again |= changed
    points = {check.id: check.points for check in order.assignment.checks}
    again |= {i for i in now if i in then and then[i].max_points != points[i]}
    matches = order.assignment.long_checks.get("match", ())
    if order.looked_at and not results.looked_at:
        again |= {i for i in now if i in then and then[i].status == COULD_NOT_GRADE}
    if order.whole_match and not results.whole_match:
        again |= {i for i in matches if i in now}
    if not again:
        return Work(order, finished=results)
    absent = [verdict for verdict in absent_verdicts(submission, order.assignment) if verdict.id in again]
    decided = (*(then[i] for i in now if i not in again), *absent)
    games = b""
    for check in matches:
        if check in then:
            goes_on = check not in changed and (order.whole_match or then[check].status == COULD_NOT_GRADE)
        else:  # an interrupted run may have begun it
            goes_on = (*graded, level, results.grader) == (*wanted, grader_digest(order.assignment))
        if check not in again or goes_on:
            games = _games_in(folder)
    return Work(replace(order, seed=results.seed), TakenOver(decided, games))


def _games(order: Order, profile: str) -> int:
    """Return the games of the match in a profile; 0 if the assignment has no match or no such profile."""
    found = order.assignment.profiles.get(profile)
    return found.match.games if found else 0


def _cleared(order: Order) -> Iterator[Order]:
    """Yield the orders whose results do for this one: what a person has cleared stays so, and a whole match says no less."""
    for looked_at, whole_match in product({True, order.looked_at}, {True, order.whole_match}):
        yield replace(order, looked_at=looked_at, whole_match=whole_match)


def _restricted(order: Order, known: Collection[str]) -> Order:
    """Return the order for the checks that the results will have: those requested, and those that were graded before."""
    only = order.regrade.only if order.regrade else ()
    if not only:
        return order
    chosen = tuple(check for check in order.assignment.checks if check.id in only or check.id in known)
    return replace(order, assignment=replace(order.assignment, checks=chosen))


def _begun(folder: Path, record: RunRecord) -> dict[str, Verdict]:
    """Return the verdicts with which an unfinished run is continued: its own, and those that it took over."""
    verdicts = decided_so_far(folder)
    stand = settled(verdicts)
    return {i: verdict for i, verdict in verdicts.items() if i in stand or i in record.taken_over}


def _games_in(folder: Path) -> bytes:
    """Return the recorded games of a match, without a last line that a kill cut off."""
    path = folder / GAMES
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def _results_in(folder: Path) -> Results | None:
    try:
        return read_results(folder / RESULTS)
    except UsageError:
        return None
