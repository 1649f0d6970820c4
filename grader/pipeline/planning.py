"""How long the grading of a class will take, said before it begins (`python -m grader grade ... --plan`).

The time of each check is the mean over the results of this class that already exist. Before there are any, and for checks that
none of them has, recorded times (costs.json, written by `python bench/grading_costs.py`) are scaled by the speed of this
machine with as many cores busy as the class will use. They are the times of the reference and, for some profiles, of a
rehearsed class, in which nearly every submission has a bug, so that more networks are trained again. Engines differ most: one
that thinks for as long as it may needs several times as long for a game as one that answers at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import mean

from arena.engine.cores import available_cores
from arena.statistics.estimates import GameResult
from arena.statistics.stopping import Decided
from common.errors import UsageError
from common.scoring import formula_named
from grader.assignment import Assignment
from grader.pipeline.class_grading import submissions_at_once
from grader.pipeline.class_progress import in_words
from grader.pipeline.engine_build import require_compiler
from grader.pipeline.machine_speed import machine_speed
from grader.pipeline.order import Order
from grader.pipeline.regrading import require_same_assignment, work_for
from grader.pipeline.requests import interrupted_request
from grader.pipeline.results import COULD_NOT_GRADE, RESULTS, Results, read_results
from grader.pipeline.submission import different_names, read_submission, require_submissions, submission_name

RECORD = Path(__file__).with_name("costs.json")
REFERENCE, REHEARSED = "the reference", "a rehearsed class"  # whose costs are recorded for a profile
SIMULATED = 4  # matches at each of eleven true win rates
ENOUGH = 3  # results of the class from which its costs are taken


@dataclass(frozen=True)
class Costs:
    """What a submission costs, in seconds on one core.

    Attributes:
        checks: check -> seconds; a match counts by its games instead.
        overhead_s: everything outside the checks.
        game_s: one game of the match; 0 if none was played.
        basis: whose times these are, in words.
    """

    checks: dict[str, float]
    overhead_s: float
    game_s: float
    basis: tuple[str, ...]

    def scaled(self, factor: float) -> Costs:
        """Return the costs on a machine that needs this many times the seconds."""
        checks = {check: factor * seconds for check, seconds in self.checks.items()}
        return Costs(checks, factor * self.overhead_s, factor * self.game_s, self.basis)

    def completed(self, other: Costs, wanted: Collection[str], matches: Collection[str]) -> Costs:
        """Return these costs, with those of another basis for the wanted checks, and for games, that were not measured."""
        lacking = {check: other.checks[check] for check in wanted if check in other.checks and check not in self.checks}
        game_s = self.game_s or other.game_s
        if not lacking and (game_s == self.game_s or not set(wanted).intersection(matches)):
            return self
        return Costs(lacking | self.checks, self.overhead_s, game_s, self.basis + other.basis)


@dataclass(frozen=True)
class Left:
    """What is left to do for a submission.

    Attributes:
        checks: the checks to run.
        played: the games of its match that are recorded already.
    """

    checks: Collection[str]
    played: int = 0


def measured_costs(results: Sequence[Results], assignment: Assignment, basis: str) -> Costs:
    """Return the mean costs of submissions that were graded with one profile; a check that could not begin has none."""
    matches = assignment.long_checks.get("match", ())
    checks: dict[str, list[float]] = {}
    overheads, games = list[float](), list[float]()
    for result in results:
        overhead_s = result.seconds - sum(verdict.seconds for verdict in result.program)
        if overhead_s > 0:  # a run that was continued counts only the seconds since then
            overheads.append(overhead_s)
        for verdict in result.program:
            if verdict.status == COULD_NOT_GRADE and not verdict.seconds:
                continue
            played = [game["seconds"] for game in verdict.evidence.get("match", {}).get("games", ())]
            games += played
            checks.setdefault(verdict.id, []).append(0.0 if verdict.id in matches and played else verdict.seconds)
    means = {check: mean(seconds) for check, seconds in checks.items()}
    return Costs(means, mean(overheads or [0.0]), mean(games or [0.0]), (basis,))


def recorded_costs(assignment: Assignment, at_once: int) -> dict[str, list[Costs]]:
    """Return profile of this assignment -> the recorded costs, scaled to this machine; empty if there are none.

    Args:
        assignment: the assignment whose costs are asked for.
        at_once: the cores that will be busy at the same time.
    """
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    ids = {check.id for check in assignment.checks}
    if not any(ids & each["checks"].keys() for profile in record.values() for each in profile.values()):
        return {}
    speed = machine_speed(assignment, at_once)
    return {
        name: [
            Costs(each["checks"], each["overhead_s"], each["game_s"], (basis,)).scaled(each["speed"] / speed)
            for basis, each in profile.items()
        ]
        for name, profile in record.items()
        if name in assignment.profiles
    }


def expected_games(assignment: Assignment, profile: str) -> float:
    """Return the mean number of games of a match that ends when its points are known.

    The mean is over true win rates 0, 0.1 ... 1, since nothing is known about the class.
    """
    planned = assignment.profile(profile).match.games
    points = max((assignment.check(i).points for i in assignment.long_checks.get("match", ())), default=0.0)
    lengths = []
    for tenths in range(11):
        for number in range(SIMULATED):
            rng = Random(f"{tenths} {number}")
            rule = Decided(formula_named(assignment.win_rate_formula), points, planned)
            played = 1
            while played < planned and rule.add(GameResult(float(rng.random() < tenths / 10))) is None:
                played += 1
            lengths.append(played)
    return mean(lengths)


def class_seconds(
    class_: Sequence[Left], costs: Costs, games: float, matches: Collection[str], cores: int, jobs: int | None = None
) -> float:
    """Return the seconds until a class is graded, on cores that do nothing else.

    Args:
        class_: what is left to do for each submission.
        games: games of a match.
        matches: the checks that are a match.
        jobs: the most submissions at once; None for as many as there are cores.
    """
    busy = min(submissions_at_once(len(class_), jobs, cores), cores)
    seconds = 0.0
    for left in class_:
        match_s = sum(check in matches for check in left.checks) * max(0.0, games - left.played) * costs.game_s
        # With fewer submissions at once than cores, a match plays on several cores; nothing else does.
        seconds += costs.overhead_s + sum(costs.checks.get(check, 0.0) for check in left.checks) + match_s * busy / cores
    return seconds / busy


def plan_class(paths: Sequence[Path], order: Order, jobs: int | None) -> Iterator[str]:
    """Yield the plan for these submissions: how much is left to do, and how long that takes with each profile.

    Raises:
        UsageError: there is no compiler, nothing is at a path, two have the same name, the only one holds a whole class, or
            the results are those of another assignment.
    """
    assignment, out = order.assignment, order.out
    names = different_names(paths)
    require_submissions(paths)
    require_same_assignment(names, order)
    require_compiler(assignment)
    order = replace(order, request=interrupted_request(names, order))
    class_: list[Left] = []
    finished = 0
    refused: list[str] = []
    for path in paths:
        try:
            work = work_for(read_submission(path, assignment), order, out / submission_name(path))
        except UsageError:
            refused.append(submission_name(path))
            continue
        if work.finished is not None:
            finished += 1
            continue
        decided = work.decided.union(verdict.id for verdict in work.taken_over.verdicts)
        checks = [check.id for check in work.order.assignment.checks if check.id not in decided]
        class_.append(Left(checks, work.taken_over.games.count(b"\n")))
    cores = available_cores()
    at_once = submissions_at_once(len(class_), jobs, cores)
    left_out = [f"{finished} finished"] if finished else []
    left_out += [f"{len(refused)} not readable ({', '.join(refused)})"] if refused else []
    submissions = "1 submission" if len(paths) == 1 else f"{len(paths)} submissions"
    left_out += [f"{at_once} at a time"] if jobs else []
    yield f"{submissions}{''.join(f', {words}' for words in left_out)}, {cores} {'core' if cores == 1 else 'cores'}:"
    known, matches = _results_of(paths, order), assignment.long_checks.get("match", ())
    costs = recorded_costs(assignment, min(at_once, cores))
    if len(known) >= ENOUGH:
        measured = measured_costs(known, assignment, f"{len(known)} results in {out}")
        wanted = {check for left in class_ for check in left.checks}
        recorded = costs.get(order.profile, [measured])
        costs[order.profile] = [measured.completed(each, wanted, matches) for each in recorded]
    if order.profile not in costs:
        yield (
            f"  {order.profile:6} no times are recorded; grade {ENOUGH} submissions with this profile, and the estimate will "
            "use their times"
        )
    for profile in sorted(costs, key=lambda name: name != order.profile):
        yield _line(profile, class_, costs[profile], order, cores, jobs)


def _results_of(paths: Sequence[Path], order: Order) -> list[Results]:
    """Return the results of these submissions with the requested profile, as far as there are any."""
    found = []
    for path in paths:
        try:
            results = read_results(order.out / submission_name(path) / RESULTS)
        except UsageError:
            continue
        if results.profile == order.profile:
            found.append(results)
    return found


def _line(profile: str, class_: Sequence[Left], costs: Sequence[Costs], order: Order, cores: int, jobs: int | None) -> str:
    assignment = order.assignment
    matches = assignment.long_checks.get("match", ())
    planned, games = assignment.profile(profile).match.games, expected_games(assignment, profile)

    def about(played: float) -> str:
        seconds = sorted(class_seconds(class_, each, played, matches, cores, jobs) for each in costs)
        return " to ".join(dict.fromkeys(map(in_words, seconds)))

    early, whole = about(games), about(planned)
    line = f"  {profile:6} about {whole if order.whole_match else early}"
    if any(check in matches for left in class_ for check in left.checks) and early != whole and not order.whole_match:
        line += f", or {whole} with --whole-match ({games:.0f} of {planned} games decide a match on average)"
    *first, last = dict.fromkeys(basis for each in costs for basis in each.basis)
    return f"{line}; by the times of {', '.join(first)}{' and ' if first else ''}{last}"
