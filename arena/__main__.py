"""`python -m arena replay FILE N` replays a recorded game; `python -m arena calibrate` times this machine.

Exit codes: 0 the game was the same, or the machine was timed; 1 the game differed; 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from arena.engine.specs import engine_at
from arena.match import calibrate
from arena.match.match import Load
from arena.match.records import digest, machine, read_records
from arena.match.referee import REPEATS, GameRecord, play_game
from arena.match.setup import MatchSetup
from common.errors import UsageError

BASELINE = "build/engines/baseline"


def first_difference(recorded: GameRecord, played: GameRecord) -> str:
    """Return a sentence that says where two games first differ, or an empty string if they are the same."""
    for ply, (before, now) in enumerate(zip(recorded.moves, played.moves, strict=False), 1):
        if before != now:
            agent = recorded.black if ply % 2 else 1 - recorded.black
            return f"The games differ from ply {ply} on: {recorded.names[agent]} answered {before}, and now {now}."
    if (recorded.termination, recorded.winner, len(recorded.moves)) != (played.termination, played.winner, len(played.moves)):
        return (
            f"The games end differently: {recorded.termination.value} after {len(recorded.moves)} plies, "
            f"and now {played.termination.value} after {len(played.moves)}. {played.detail}".rstrip()
        )
    return ""


def replay(path: Path, number: int) -> int:
    """Replay game `number` of the records with its seeds and limits.

    If the replay differs and the machine was busy, try again, at most REPEATS times: on a busy machine an engine that plans by
    the wall clock thinks less.

    Returns:
        The exit code.
    """
    heading, games = read_records(path)
    if number not in games:
        raise UsageError(f"expected the number of one of the {len(games)} games in {path}; got {number}")
    setup = MatchSetup.from_json(heading["match"])
    for agent, before in zip(setup.agents, heading["digests"], strict=True):
        if digest(agent.path) != before:
            print(f"{agent.path} has been rebuilt since the match.")
    recorded = games[number]
    for _ in range(REPEATS + 1):
        played = play_game(setup.task(number))
        difference = first_difference(recorded, played)
        if not difference or not Load.of([played]).busy_games:
            break
    print(difference or f"The same game: {len(recorded.moves)} plies, {recorded.termination.value}.")
    if difference:
        for when, game in (("When it was recorded", recorded), ("Now", played)):
            if (load := Load.of([game])).busy_games:
                print(f"{when} other programs withheld {100 * load.withheld_share:.0f} % of the time, which may be why.")
    return 1 if difference else 0


def time_this_machine(baseline: str, record: bool) -> int:
    """Time this machine or, with `record`, make it the reference machine."""
    speed = (calibrate.record if record else calibrate.measure)(engine_at(baseline))
    times = f"{speed.cpu_s:.2f} s of CPU time, recorded {speed.recorded_s:.2f} s, speed {speed.factor:.2f}"
    print(f"{machine()['processor']}: {times}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run one command."""
    parser = argparse.ArgumentParser(
        prog="python -m arena", description="Replay games that evaluate.py recorded, or time this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    replaying = commands.add_parser("replay", help="replay a recorded game and say where it differs")
    replaying.add_argument("file", type=Path, help="a file written by evaluate.py --records")
    replaying.add_argument("number", type=int, help="the number of the game, from 0")
    timing = commands.add_parser("calibrate", help="time this machine with a search by the baseline")
    timing.add_argument("--baseline", default=BASELINE, help=f"the baseline program (default {BASELINE})")
    timing.add_argument("--record", action="store_true", help="make this machine the reference machine")
    options = parser.parse_args(arguments)
    try:
        if options.command == "replay":
            return replay(options.file, options.number)
        return time_this_machine(options.baseline, options.record)
    except UsageError as error:
        print(f"arena: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
