"""`python -m arena replay FILE N` plays a recorded game again; `... calibrate` times this machine.

Exit codes: 0 the same game, or timed; 1 the game went otherwise; 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from arena.engine import calibrate
from arena.engine.specs import engine_at
from arena.match.match import Load
from arena.match.records import digest, machine, read_records
from arena.match.referee import REPEATS, GameRecord, play_game
from arena.match.setup import MatchSetup
from common.errors import UsageError

BASELINE = "build/engines/baseline"


def difference(recorded: GameRecord, played: GameRecord) -> str:
    """Where two games part, as a sentence; empty if they do not."""
    for ply, (before, now) in enumerate(zip(recorded.moves, played.moves, strict=False), 1):
        if before != now:
            agent = recorded.black if ply % 2 else 1 - recorded.black
            return f"They part at ply {ply}: {recorded.names[agent]} answered {before}, and now {now}."
    if (recorded.termination, recorded.winner, len(recorded.moves)) != (played.termination, played.winner, len(played.moves)):
        return (
            f"They end otherwise: {recorded.termination.value} after {len(recorded.moves)} plies, "
            f"and now {played.termination.value} after {len(played.moves)}. {played.detail}".rstrip()
        )
    return ""


def replay(path: Path, number: int) -> int:
    """Play game `number` of the records again with its seeds and limits.

    One that differs is played once more, REPEATS times at most, where the machine was busy meanwhile: an engine that plans by
    the wall clock thinks less then.
    """
    heading, games = read_records(path)
    if number not in games:
        raise UsageError(f"expected a game's number among the {len(games)} of {path}; got {number}")
    setup = MatchSetup.from_json(heading["match"])
    for agent, before in zip(setup.agents, heading["digests"], strict=True):
        if digest(agent.path) != before:
            print(f"{agent.path} was built anew since the match.")
    recorded = games[number]
    for _ in range(REPEATS + 1):
        played = play_game(setup.task(number))
        found = difference(recorded, played)
        if not found or not Load.of([played]).busy_games:
            break
    print(found or f"The same game: {len(recorded.moves)} plies, {recorded.termination.value}.")
    if found:
        for when, game in (("When it was recorded", recorded), ("Now", played)):
            if (load := Load.of([game])).busy_games:
                print(f"{when} other programs withheld {100 * load.withheld_share:.0f} % of the time, which may be why.")
    return 1 if found else 0


def timed(baseline: str, anew: bool) -> int:
    """Time the machine, or make its time the recorded one."""
    speed = (calibrate.record if anew else calibrate.measure)(engine_at(baseline))
    times = f"{speed.cpu_s:.2f} s of CPU time, recorded {speed.recorded_s:.2f} s, speed {speed.factor:.2f}"
    print(f"{machine()['processor']}: {times}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m arena", description="Look into matches that evaluate.py played.")
    commands = parser.add_subparsers(dest="command", required=True)
    again = commands.add_parser("replay", help="play a recorded game again and say where it differs")
    again.add_argument("file", type=Path, help="records of evaluate.py --records")
    again.add_argument("number", type=int, help="the game's number, from 0")
    timing = commands.add_parser("calibrate", help="time this machine by the baseline's search")
    timing.add_argument("--baseline", default=BASELINE, help=f"the program (default {BASELINE})")
    timing.add_argument("--record", action="store_true", help="make this machine's time the recorded one")
    options = parser.parse_args(arguments)
    try:
        if options.command == "replay":
            return replay(options.file, options.number)
        return timed(options.baseline, options.record)
    except UsageError as error:
        print(f"arena: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
