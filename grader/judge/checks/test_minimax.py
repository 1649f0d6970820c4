"""Part 1: the C++ engine compiles, follows the protocol, opens by the rules and plays the baseline (handout 4)."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from arena.engine.cores import available_cores, one_core
from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, Limits
from arena.match.match import Load, MatchResult, ThreadRunner, play_match, result_for
from arena.match.records import Records
from arena.match.referee import REPEATS, GameRecord
from arena.match.setup import MatchSetup
from arena.rules import OPEN, Action, Termination, centre
from arena.statistics.stopping import Decided
from arena.view.games import shown_game
from arena.view.losses import can_be_examined, find_losses
from common.scoring import format_points, formula_named
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.engine_talk import first_stone, listen
from grader.judge.support.protocol_games import Side
from grader.judge.support.ruling import Ruling
from grader.pipeline.engine_build import MESSAGE_CHARACTERS, SUBMISSION_TOML, CompiledEngine, build_submitted
from grader.pipeline.opponents import build_opponent
from grader.pipeline.run import ENGINE, Run

# An engine that plays outside the centre once in n games is caught with probability 1 - (1 - 1 / n)^12.
FRESH_STARTS = 12
OPENING_PAUSE_S = 0.55  # from one start to the next, so that twelve starts fall into at least six different clock seconds
# It takes this many starts, over 21 seconds of the clock, to say that the first stone never varies: an engine that plays its
# most frequent first stone in half of its games is accused in fewer than 1 in 10^6 runs (2^-20).
SAME_STARTS = 28
# The lost games of the match for which the report says where they were lost, and the seconds for all of them.
EXAMINED_GAMES, EXAMINED_S = 3, 30.0


@dataclass(frozen=True)
class Built:
    """The student's engine after compilation.

    Attributes:
        compiled: what was compiled; None if there is no binary.
        failure: why there is no binary; None if there is a binary.
    """

    binary: Path
    compiled: CompiledEngine | None = None
    failure: StudentFault | CouldNotGrade | None = None

    def require(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure is not None:
            raise self.failure


@pytest.fixture(scope="module")
def built(run: Run) -> Built:
    """Compile the student's engine once for all checks."""
    binary = run.folder / ENGINE / "student"
    try:
        return Built(binary, build_submitted(run.workspace, run.submission, binary, run.assignment, run.sandbox))
    except (StudentFault, CouldNotGrade) as reason:
        return Built(binary, failure=reason)


@pytest.fixture
def engine(run: Run, built: Built) -> EngineSpec:
    """The student's engine, confined and ready for a match."""
    built.require()
    command = run.sandbox.wrap([str(built.binary)], limits=run.engine_limits, read_only=[built.binary])
    return EngineSpec(path=run.submission.name, command=tuple(command))


@pytest.fixture
def limits(run: Run) -> Limits:
    return Limits(move_s=run.profile.match.limit_s, told_move_s=run.profile.match.move_s)


@pytest.fixture
def baseline(run: Run, limits: Limits) -> EngineSpec:
    """The engine that the student's engine plays, once it has opened a game: each game that it cannot play would be a win."""
    name = run.assignment.opponent
    engine = EngineSpec(path=name, command=(str(build_opponent(name, run.assignment)),))
    for _ in range(REPEATS + 1):
        with one_core(), EngineProcess(engine, limits) as process:
            try:
                process.start(0)
                process.ask(OPEN)
            except EngineFailure as failure:
                reason = f"{failure.termination.value}: {failure}"
            else:
                return engine
    raise CouldNotGrade(f"the opponent {name} of assignment.toml does not open a game ({reason})")


@pytest.mark.points("minimax.build")
def test_build(built: Built, ruling: Ruling) -> None:
    """Check that the engine compiles, if need be without sources that share no header with it.

    Accepts:
        several sources and headers, in subfolders, as .cpp and .cc (engine-in-parts, engine-always-swaps)
        a single source file (engine-of-one-file)
        AIController.h included by several sources, through a header (engine-always-swaps)
        a source that another source includes (engine-slow-start)
        a separate program next to the engine, such as a test (engine-slow-start)
    """
    ruling.expected = "The sources of one engine compile together without an error."
    built.require()
    compiled = built.compiled
    assert compiled is not None
    ruling.seen = f"Compiled: {', '.join(compiled.sources)[:MESSAGE_CHARACTERS]}. "
    if compiled.left_out:
        left_out = ", ".join(compiled.left_out)[:MESSAGE_CHARACTERS]
        ruling.seen += f"Left out, because the engine compiles only without them: {left_out}. "
    if compiled.named_programs:
        programs = ", ".join(compiled.named_programs)[:MESSAGE_CHARACTERS]
        ruling.message = (
            f"Not compiled, because a source with a main of its own counts as a separate program: {programs}. It defines "
            f"ai_name like an engine. If it is the engine, name its sources in {SUBMISSION_TOML}."
        )
    ruling.seen += compiled.warnings[:2000] or "There are no warnings."


@pytest.mark.points("minimax.protocol")
def test_protocol(engine: EngineSpec, baseline: EngineSpec, limits: Limits, ruling: Ruling, rng: Random) -> None:
    """Play games with each colour against the baseline, and against opponents that reveal which board an engine has in mind.

    Black's first stone may be anywhere here, since `minimax.opening` checks it.

    Accepts:
        an engine that always swaps, or swaps at random (engine-always-swaps, engine-in-parts)
        an engine that swaps according to its evaluation, or never swaps (reference, engine-slow-start, engine-of-one-file)
        random moves next to the stones (engine-in-parts)
        weak moves, without any look-ahead (engine-of-one-file, engine-always-swaps)
        an engine that ignores the environment and takes half a second of wall-clock time per move (engine-slow-start)
        a second before the name; a name with spaces that is not ASCII; notes on standard error (engine-slow-start)
        a seed in whole seconds, so that games started in the same second are equal (engine-always-swaps, engine-in-parts)
    """
    ruling.expected = "As black and as white: a name, then a legal answer to every line within the limit, until the game ends."
    sides = [Side(seat, engine, baseline, limits, Random(rng.randrange(2**31))) for seat in (0, 1)]
    with ThreadPoolExecutor(min(2, available_cores())) as pool:
        played = list(pool.map(Side.play, sides))
    ruling.evidence["games"] = [game.to_json() for side in played for game in side]
    ruling.evidence["seats"] = [side.seat for side, games in zip(sides, played, strict=True) for _ in games]
    broken = []
    for side in sides:
        ruling.seen += f"As {side.colour}: {side.endings()}. "
        if fault := side.fault():
            broken.append(fault)
        elif not side.games[-1].is_decided:
            detail = side.games[-1].detail
            raise CouldNotGrade(f"a game could not be decided ({detail}); grade it again when fewer programs are running")
    ruling.expect(len(broken) < 2, " ".join(broken))
    if broken:
        ruling.deduct("one_side", broken[0])


@pytest.mark.points("minimax.opening")
def test_opening(engine: EngineSpec, limits: Limits, ruling: Ruling, rng: Random) -> None:
    """Check black's first stone over repeated starts of the engine.

    The starts are half a second apart, because many engines take their seed from the seconds of the clock.

    Accepts:
        a first stone drawn from the whole central 7x7 (reference, engine-in-parts)
        a first stone drawn from a part of it (engine-slow-start)
        a first stone that varies only with the seconds of the clock (engine-always-swaps, engine-in-parts)
    """
    ruling.expected = f"{FRESH_STARTS} fresh starts as black: each first stone inside 4..10, not always the same point."
    stones: list[Action] = []
    while len(stones) < FRESH_STARTS or (len(set(stones)) == 1 and len(stones) < SAME_STARTS):
        started = time.monotonic()
        seeded = EngineSpec(engine.path, engine.command, {**engine.env, "GOMOKU_SEED": str(rng.randrange(2**31))})
        stones.append(_first_stone(seeded, limits))
        pause_s = OPENING_PAUSE_S if len(stones) < FRESH_STARTS else 1.1
        time.sleep(max(0.0, pause_s - (time.monotonic() - started)))
    ruling.seen = "First stones: " + ", ".join(f"({x}, {y})" for x, y in stones) + "."
    ruling.evidence["stones"] = stones
    outside = [stone for stone in stones if stone[0] not in centre() or stone[1] not in centre()]
    same = len(set(stones)) == 1
    ruling.expect(
        not (outside and same),
        f"The first stone was {stones[0]} in each of {len(stones)} games, outside the central 7x7.{_counted_from_1(stones)}",
    )
    if outside:
        ruling.deduct(
            "outside",
            f"{len(outside)} of {len(stones)} first stones lay outside the central 7x7 (x and y from 4 to 10), the first at "
            f"{outside[0]}; in a match, such a stone loses the game.{_counted_from_1(stones)}",
        )
    if same:
        ruling.deduct(
            "never_varies",
            f"The first stone was {stones[0]} in each of {len(stones)} games; it should vary. Draw it, with GOMOKU_SEED or the "
            "clock as the seed: without a seed, rand() gives the same numbers in each game, and the process id is the same.",
        )


def _counted_from_1(stones: list[Action]) -> str:
    """Return a sentence if all stones would lie inside the centre for an engine that counts from 1, or ""."""
    if all(coordinate - 1 in centre() for stone in stones for coordinate in stone):
        return " If the engine counts from 1 instead of 0, it meant points inside: both numbers count from 0 to 14."
    return ""


def _first_stone(engine: EngineSpec, limits: Limits) -> Action:
    """Return black's first stone, wherever it is in the engine's output; `minimax.protocol` checks the form."""
    for _ in range(REPEATS + 1):
        # A thread pool with a thread for each core fits into the engine's memory, because the engine sees one core.
        with one_core(), EngineProcess(engine, limits) as process:
            try:
                process.start(0)
                return process.ask(OPEN)
            except EngineFailure as failure:
                doubt = str(failure)
                if failure.termination == Termination.UNDECIDED:
                    continue
                if (stone := first_stone(listen(engine, limits, 0))) is not None:
                    return stone
                raise StudentFault(
                    f"The engine did not open as black ({failure.termination.value}): {failure}; see minimax.protocol."
                ) from failure
    raise CouldNotGrade(
        f"it is unclear whether the engine opens in time (it {doubt}); grade it again when fewer programs are running"
    )


@pytest.mark.points("minimax.win_rate")
def test_win_rate(run: Run, engine: EngineSpec, baseline: EngineSpec, limits: Limits, ruling: Ruling, rng: Random) -> None:
    """Play a match against the baseline.

    Accepts:
        an engine that ignores the announced time per move and keeps its own pace (engine-slow-start)
        an engine that swaps whatever stones are on the board (engine-always-swaps)
    """
    profile, points = run.profile.match, run.assignment.check("minimax.win_rate").points
    ruling.expected = (
        f"At most {profile.games} games against the opponent {run.assignment.opponent}, at most {profile.limit_s:g} s of CPU "
        f"time per move; points by the formula {run.assignment.win_rate_formula} in assignment.toml."
    )
    setup = MatchSetup((engine, baseline), profile.games, rng.randrange(2**31), limits)
    records = Records(run.folder / "games.jsonl", setup)
    tally: Counter[str] = Counter()
    started, recorded = time.monotonic(), len(records.games)

    def progress(game: GameRecord) -> None:
        tally[("wins", "losses")[game.winner] if game.winner is not None else "others"] += 1
        done = tally.total()
        told = f"match: {done} of {profile.games} games, {tally['wins']} won, {tally['losses']} lost"
        if played := max(0, done - recorded):
            told += f", about {(time.monotonic() - started) / played * (profile.games - done):.0f} s left"
        run.progress(told)

    rule = None if run.identity.whole_match else Decided(formula_named(run.assignment.win_rate_formula), points, profile.games)
    result = play_match(setup, ThreadRunner(available_cores()), on_game=progress, records=records, rule=rule)
    ruling.evidence["match"] = match = result.to_json()
    ruling.seen = " ".join(filter(None, (_describe(match), result.stopped, Load.of(result.games).sentence)))
    given = rule.points if rule is not None else None
    if given is None:
        given = _points_of_all_games(run, result, points, ruling.seen)
    _expect_no_fault_of_the_opponent(run, result, points)
    ruling.message = ruling.seen
    if given < points:
        ruling.share = given / points
        ruling.message += f" The formula gives {format_points(given)} of {points:g} points."
    ruling.message += f" {_plausible_points(run, result, points)}"
    if given < points:
        ruling.evidence["losses"] = _where_lost(run, result, baseline)


def _where_lost(run: Run, result: MatchResult, baseline: EngineSpec) -> dict[str, Any]:
    """Return the number of a lost game -> where the baseline sees that it was lost, for the first few lost games."""
    lost = [game for game in result.decided if game.winner == 1]
    games = [game for each in lost if can_be_examined(game := shown_game(each))][:EXAMINED_GAMES]
    find_losses(games, range(len(games)), baseline, run.progress, EXAMINED_S)
    return {game.title.removeprefix("Game "): asdict(game.loss) for game in games if game.loss is not None}


def _points_of_all_games(run: Run, result: MatchResult, points: float, seen: str) -> float:
    """Return the points of a match that was played to its end; raise CouldNotGrade if its undecided games could change them."""
    planned, wins, losses = run.profile.match.games, result.wins(0), result.wins(1)
    missing = planned - result.plays
    # The points if all undecided games were lost, and the points if all were won.
    lowest, highest = (run.assignment.win_rate_points(wins + w, losses + missing - w, planned, points) for w in (0, missing))
    if lowest < highest:
        raise CouldNotGrade(
            f"{missing} of {planned} games could not be decided, since other programs occupied the cores. That leaves "
            f"{lowest:g} to {highest:g} points; grade it again when fewer programs are running. {seen}"
        )
    return lowest


def _expect_no_fault_of_the_opponent(run: Run, result: MatchResult, points: float) -> None:
    """Raise CouldNotGrade if the opponent's own faults have won games that could change the points."""
    faults = [game for game in result.decided if game.faulty == 1]
    wins, losses = result.wins(0), result.wins(1)
    lowest, highest = (
        run.assignment.win_rate_points(wins - turned, losses + turned, result.plays, points) for turned in (len(faults), 0)
    )
    if lowest < highest:
        raise CouldNotGrade(
            f"the opponent {run.assignment.opponent} of assignment.toml lost {len(faults)} of {result.plays} games by its own "
            f"fault, which says nothing about the submission; in the first it {faults[0].detail} "
            f"({faults[0].termination.value}). That leaves {lowest:g} to {highest:g} points"
        )


def _plausible_points(run: Run, result: MatchResult, points: float) -> str:
    """Return a sentence that gives the interval in points; for a short match it adds that the match says little."""
    games = [result_for(game, 0, result.setup) for game in result.decided]
    low, high = map(format_points, run.assignment.win_rate_points_between(games, points))
    longest = max(run.assignment.profiles.values(), key=lambda profile: profile.match.games)
    if run.profile.match.games < longest.match.games:
        return (
            f"{result.plays} games say little: from {low} to {high} of {points:g} points are plausible; the "
            f"{longest.match.games} games of profile {longest.name} narrow this range."
        )
    return f"Another match like this could plausibly give from {low} to {high} points."


def _describe(match: dict[str, Any]) -> str:
    own = match["agents"][0]
    low, high = own["statistics"]["interval_95"]
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(match["terminations"].items()))
    if not match["plays"]:
        return f"No game was decided. Endings: {ends}."
    faults = {reason: count for reason, count in own["losses_by"].items() if reason != Termination.FIVE}
    own_faults = " Lost by fault: " + ", ".join(f"{c} {r}" for r, c in faults.items()) + "." if faults else ""
    if openings := faults.get(Termination.ILLEGAL_OPENING):
        as_black = sum(game["black"] == 0 for game in match["games"])
        own_faults += (
            f" {openings} of {as_black} games as black were lost by the first stone ({Termination.ILLEGAL_OPENING}): see "
            f"minimax.opening."
        )
    return (
        f"Won {own['wins']}, lost {own['losses']}, drew {match['draws']} of {match['plays']} games "
        f"({match['distinct_games']} distinct; score rate {own['statistics']['score_rate']:.2f}, 95 % interval "
        f"{low:.2f} to {high:.2f}). Endings: {ends}.{own_faults}"
    )
