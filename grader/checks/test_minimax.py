"""Part 1: the C++ engine builds, speaks the protocol, opens by the rules and meets the baseline (handout 4)."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from grader.checks.conftest import Ruling
from grader.engine_build import build_engine, build_opponent, engine_sources
from grader.errors import StudentFault
from grader.run import Run
from Minimax.arena.cores import available_cores
from Minimax.arena.engine import EngineFailure, EngineProcess, EngineSpec, Limits
from Minimax.arena.match import ThreadRunner, play_match
from Minimax.arena.records import Records
from Minimax.arena.referee import GameRecord, play_game
from Minimax.arena.rules import SWAP, Position, centre
from Minimax.arena.setup import MatchSetup

OPENINGS = 6
EDGE_PLAYER = Path(__file__).with_name("edge_player.py")
TAME_MOVE_S = 0.3  # what an engine is told against an opponent that does not resist
SWAP_GAMES = 8  # an engine that keeps its stones in mind shows it in every fourth one at least
TAME_PLIES = 26  # until then that opponent keeps to the corners and edges
FAULTS = ("timeout", "crash", "malformed", "illegal_move", "illegal_opening", "illegal_swap", "init_failed")


@pytest.fixture(scope="module")
def built(run: Run) -> tuple[Path | None, str, str]:
    """The student's engine, compiled once: (binary, compiler's warnings, "") or (None, "", why not)."""
    binary = run.folder / "engine" / "student"
    try:
        sources = engine_sources(run.submission, run.assignment)
        warnings = build_engine(run.workspace, sources, binary, run.assignment, run.sandbox)
    except StudentFault as fault:
        return None, "", str(fault)
    return binary, warnings, ""


@pytest.fixture
def engine(run: Run, built: tuple[Path | None, str, str]) -> EngineSpec:
    """The student's engine as a seat of a match, confined."""
    binary, _, reason = built
    if binary is None:
        raise StudentFault(reason)
    command = run.sandbox.wrap([str(binary)], limits=run.engine_limits, read_only=[binary])
    return EngineSpec(path=run.submission.name, command=tuple(command))


@pytest.fixture
def baseline(run: Run) -> EngineSpec:
    return EngineSpec(path="baseline", command=(str(build_opponent("baseline", run.assignment)),))


@pytest.fixture
def limits(run: Run) -> Limits:
    return Limits(move_s=run.profile.match.limit_s, told_move_s=run.profile.match.move_s)


@pytest.mark.points("minimax.build")
def test_build(built: tuple[Path | None, str, str], verdict: Ruling) -> None:
    verdict.expected = "The sources of one engine compile together, with no error."
    binary, warnings, reason = built
    verdict.expect(binary is not None, reason)
    verdict.seen = warnings[:2000] or "It compiles without a warning."


@pytest.mark.points("minimax.protocol")
def test_protocol(engine: EngineSpec, baseline: EngineSpec, limits: Limits, verdict: Ruling, rng: Random) -> None:
    """On each side against the baseline and an opponent who swaps and plays at the edges: what counts is how games end."""
    verdict.expected = "As black and as white: a name, then a legal answer to every line within the limit, to the end."
    edges = EngineSpec(path="edges", command=(sys.executable, "-I", str(EDGE_PLAYER)))
    tame = replace(limits, told_move_s=min(limits.told_s, TAME_MOVE_S))
    # Offered again and again: an engine that takes the swap for a new game opens a second time on its own stone.
    openings = [(rng.choice(centre()), rng.choice(centre())) for _ in range(SWAP_GAMES)]
    as_black = [(engine, baseline, limits, None), *((engine, edges, tame, opening) for opening in openings)]
    as_white = [(baseline, engine, limits, None), (edges, engine, tame, None)]
    games = [_play_until_fault(planned, seat, rng) for seat, planned in enumerate((as_black, as_white))]
    verdict.evidence["games"] = [game.to_json() for side in games for game in side]
    broken = []
    for seat, side in enumerate(("black", "white")):
        faults = [game for game in games[seat] if game.faulty == seat]
        if faults:
            after = " after a swap" if faults[0].swapped and seat == 0 else ""
            broken.append(f"As {side} it lost{after} by {faults[0].termination.value}: {faults[0].detail}")
        elif seat == 0 and any(map(goes_on_with_lost_stones, games[0][1:])):
            broken.append(
                "As black, told of a swap, it went on as if no stone had changed hands: it completed five with stones that "
                "had become white's."
            )
        ends = ", ".join(f"{game.termination.value} after {len(game.moves)} plies" for game in games[seat])
        verdict.seen += f"As {side}: {ends}. "
    verdict.expect(len(broken) < 2, " ".join(broken))
    if broken:
        verdict.partial(0.5, broken[0])


def _play_until_fault(planned: list[Any], seat: int, rng: Random) -> list[GameRecord]:
    """Games of (black, white, limits, black's first stone), up to the first that the engine at this seat loses by a fault."""
    games: list[GameRecord] = []
    for black, white, limits, opening in planned:
        games.append(play_game(black, white, limits, seed=rng.randrange(2**31), opening=opening))
        if games[-1].faulty == seat:
            break
    return games


def goes_on_with_lost_stones(game: GameRecord) -> bool:
    """Whether black's stones make five with those that it lost by the swap, and it wins more than a move later.

    A right engine may lay four stones of its own beside one that it lost; with the next move it wins, since the opponent of
    `edge_player` stays out of the way. Later, or against one that blocks, right engines too come to such a five; and one that
    aims at nothing may at any time, but does not win then.
    """
    if not game.swapped or game.winner != 0:
        return False
    believed = Position()
    for ply, action in enumerate(game.moves[:TAME_PLIES]):
        if action != SWAP:
            believed.turn = ply % 2
            believed.play(action)
        if believed.winner == 0:
            return ply + 2 < len(game.moves) - 1
    return False


@pytest.mark.points("minimax.opening")
def test_opening(engine: EngineSpec, limits: Limits, verdict: Ruling, rng: Random) -> None:
    """Several fresh starts as black; more than a second apart, since many engines take their seed from the clock."""
    verdict.expected = f"{OPENINGS} fresh starts as black: each first stone inside 4..10, not always the same point."
    stones = []
    for _ in range(OPENINGS):
        started = time.monotonic()
        seeded = EngineSpec(engine.path, engine.command, {**engine.env, "GOMOKU_SEED": str(rng.randrange(2**31))})
        stones.append(_first_stone(seeded, limits))
        time.sleep(max(0.0, 1.1 - (time.monotonic() - started)))
    verdict.seen = "First stones: " + ", ".join(f"({x}, {y})" for x, y in stones) + "."
    verdict.evidence["stones"] = stones
    outside = [stone for stone in stones if stone[0] not in centre() or stone[1] not in centre()]
    verdict.expect(not outside, f"Black's first stone lay outside the central 7x7: {outside[0] if outside else ''}.")
    if len(set(stones)) == 1:
        verdict.partial(0.5, f"The first stone was {stones[0]} in each of {OPENINGS} games; it should vary.")


def _first_stone(engine: EngineSpec, limits: Limits) -> tuple[int, int]:
    with EngineProcess(engine, limits) as process:
        try:
            process.start(0)
            return process.ask((-1, -1))
        except EngineFailure as failure:
            raise StudentFault(f"The engine did not open as black ({failure.termination.value}): {failure}") from failure


@pytest.mark.points("minimax.win_rate")
def test_win_rate(run: Run, engine: EngineSpec, baseline: EngineSpec, limits: Limits, verdict: Ruling, rng: Random) -> None:
    profile, points = run.profile.match, run.assignment.check("minimax.win_rate").points
    verdict.expected = (
        f"{profile.games} games against the baseline, {profile.limit_s:g} s of CPU time a move at most; points by the formula "
        f"{run.assignment.win_rate_formula} of assignment.toml."
    )
    tally: Counter[str] = Counter()
    started = time.monotonic()

    def progress(game: GameRecord) -> None:
        tally["draws" if game.winner is None else ("wins", "losses")[game.winner]] += 1
        done = tally.total()
        left = (time.monotonic() - started) / done * (profile.games - done)
        run.progress(
            f"match: {done} of {profile.games} games, {tally['wins']} won, {tally['losses']} lost, about {left:.0f} s left"
        )

    setup = MatchSetup((engine, baseline), profile.games, rng.randrange(2**31), limits)
    records = Records(run.folder / "games.jsonl", setup)
    result = play_match(setup, ThreadRunner(available_cores()), on_game=progress, records=records)
    verdict.evidence["match"] = match = result.to_json()
    given = run.assignment.win_rate_points(match["agents"][0]["wins"], match["agents"][0]["losses"], match["plays"], points)
    verdict.seen = _describe(match)
    verdict.message = verdict.seen
    if given < points:
        verdict.share = given / points
        verdict.message += f" The formula gives {given:g} of {points:g} points."


def _describe(match: dict[str, Any]) -> str:
    own = match["agents"][0]
    low, high = own["statistics"]["interval_95"]
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(match["terminations"].items()))
    faults = {reason: count for reason, count in own["losses_by"].items() if reason in FAULTS}
    own_faults = " Lost by fault: " + ", ".join(f"{c} {r}" for r, c in faults.items()) + "." if faults else ""
    return (
        f"Won {own['wins']}, lost {own['losses']}, drew {match['draws']} of {match['plays']} games "
        f"({match['distinct_games']} distinct; score rate {own['statistics']['score_rate']:.2f}, 95 % interval "
        f"{low:.2f} to {high:.2f}). Endings: {ends}.{own_faults}"
    )
