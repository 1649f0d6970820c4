"""Play a match between two engines: `python Minimax/evaluate.py --agents-path A B --num-plays 64 --num-workers 8`.

A and B alternate colours. For each of them, the summary gives the wins and the score = (wins - losses) / plays, with their
uncertainty. Exit codes: 0 the match was played, 2 the call was wrong, 130 interrupted (the summary covers the finished games).
"""

from __future__ import annotations

import argparse
import secrets
import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")
    expect_packages("evaluate.py", "numpy", "tqdm")

from tqdm import tqdm

from arena.engine.cores import available_cores
from arena.engine.engine_process import Clock, Limits
from arena.engine.process import has_cpu_clock
from arena.engine.specs import check_size, engine_at, parse_agent
from arena.match import calibrate
from arena.match.match import MatchResult, Runner, ThreadRunner, play_match
from arena.match.places import check_places
from arena.match.ray_runner import RayRunner
from arena.match.records import Records, read_records
from arena.match.referee import GameRecord
from arena.match.setup import OPENINGS, MatchSetup
from arena.match.summary import summary, write_result
from arena.rules import FIVE, LARGEST_SIZE, SIZE
from arena.statistics.stopping import Decided, Sprt, StoppingRule
from common.errors import UsageError
from common.harmless_text import on_screen
from common.program_ends import Parser, run_program
from common.scoring import formula_named

POINTS = "shifted_score:30"
BASELINE = Path(__file__).resolve().parent.parent / "build" / "engines" / "baseline"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    main = Parser(description=__doc__.split("\n\n")[0])
    who = main.add_mutually_exclusive_group(required=True)
    who.add_argument("--agents-path", nargs=2, metavar=("A", "B"), help="two engines, or other agents as in docs/arena.md")
    who.add_argument("--resume", type=Path, metavar="FILE", help="continue the match recorded in this file")
    main.add_argument("--num-plays", type=int, help="number of games (default 64, or as recorded)")
    main.add_argument("--num-workers", type=int, help="games to play at the same time (default: one per core)")
    main.add_argument(
        "--engine", choices=("threads", "ray"), default="threads", help="ray: run the games as tasks on a Ray cluster"
    )
    main.add_argument("--ray-address", metavar="A", help="the cluster: HOST:PORT or auto (default: start one on this machine)")
    main.add_argument("--records", type=Path, metavar="FILE", help="record each game as it ends, so that --resume can continue")
    main.add_argument("--json", type=Path, metavar="FILE", help="write the result and all games as JSON")
    main.add_argument("--sgf", type=Path, metavar="DIR", help="write each game as an SGF file")

    terms = main.add_argument_group("terms of a new match")
    terms.add_argument("--seed", type=int, help="random seed of the match (default: drawn and printed)")
    terms.add_argument("--time-limit", type=float, default=5.0, help="seconds per move (default 5)")
    terms.add_argument(
        "--init-limit", type=float, default=10.0, help="seconds in which an engine must send its name (default 10)"
    )
    terms.add_argument("--clock", choices=list(Clock), default=Clock.CPU, help="what the time limits measure (default cpu)")
    terms.add_argument(
        "--wall-cap",
        type=float,
        help="wall-clock seconds per move with --clock cpu, not counting time when other programs had the core "
        "(default 2 x limit + 1)",
    )
    terms.add_argument(
        "--memory-mib",
        type=int,
        default=4096,
        help="limit on the address space of a process in MiB, without torch's libraries (default 4096)",
    )
    terms.add_argument(
        "--openings", choices=OPENINGS, default="free", help="all49: each first stone is played with both colours"
    )
    terms.add_argument("--board-size", type=int, default=SIZE, help=f"for agents that play on other sizes (default {SIZE})")
    stops = terms.add_mutually_exclusive_group()
    stops.add_argument("--stop", choices=["decided"], help="stop when the points of --points are certain (95 %%)")
    stops.add_argument("--sprt", metavar="ELO0,ELO1,ALPHA,BETA", help="stop when a sequential test accepts either hypothesis")
    terms.add_argument(
        "--points",
        metavar="FORMULA:FULL",
        help=f"the points that --stop decided uses (default {POINTS})",
    )
    terms.add_argument("--scale-time", action="store_true", help="use longer limits on a machine slower than the recorded one")
    return main


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    lowest = {"num_plays": 1, "num_workers": 1, "memory_mib": 16}
    for name, least in lowest.items():
        value = getattr(options, name)
        if value is not None and value < least:
            command_line.error(f"expected --{name.replace('_', '-')} of at least {least}; got {value}")
    for name in ("time_limit", "init_limit", "wall_cap"):
        value = getattr(options, name)
        if value is not None and not 0 < value < 3600:
            command_line.error(f"expected --{name.replace('_', '-')} in seconds, above 0 and below 3600; got {value:g}")
    if options.ray_address is not None and options.engine != "ray":
        command_line.error(f"expected --engine ray with --ray-address; got --engine {options.engine}")
    if options.points is not None and not options.stop and options.resume is None:
        command_line.error("expected --stop decided with --points, which only say when the match ends; got no --stop")
    if not FIVE <= options.board_size <= LARGEST_SIZE:
        command_line.error(f"expected --board-size from {FIVE} to {LARGEST_SIZE}; got {options.board_size}")
    if options.resume is not None:
        terms = terms_of(command_line)
        unset = argparse.Namespace(**{term.dest: None for term in terms})  # so that a default that was typed is noticed
        typed = command_line.parse_args(arguments, unset)
        given = [term for term in terms if getattr(typed, term.dest) is not None]
        if given or options.records is not None:
            names = ", ".join([a.option_strings[0] for a in given] or ["--records"])
            command_line.error(f"expected no {names} with --resume, because the records say how the match is played")
    return options


def terms_of(command_line: argparse.ArgumentParser) -> list[argparse.Action]:
    """List the options whose values are fixed by the records of a match."""
    names: tuple[str, ...] = ("seed", "time_limit", "init_limit", "clock", "wall_cap", "memory_mib", "openings", "board_size")
    names += ("stop", "sprt", "points", "scale_time")
    return [action for action in command_line._actions if action.dest in names]


def new_match(options: argparse.Namespace, speed: float | None) -> MatchSetup:
    """Return the setup of the match that the options describe."""
    first, second = (parse_agent(words) for words in options.agents_path)
    check_size((first, second), options.board_size)
    slower = 1.0
    if options.scale_time:
        if speed is None:
            raise UsageError(
                f"expected the baseline at {BASELINE} for --scale-time; build it as section 2 of docs/handout.md says"
            )
        slower = 1 / speed
    limits = Limits(
        move_s=round(options.time_limit * slower, 3),
        init_s=round(options.init_limit * slower, 3),
        clock=Clock(options.clock),
        wall_cap_s=options.wall_cap,
        memory_mib=options.memory_mib,
    )
    return MatchSetup(
        agents=(first, second),
        plays=options.num_plays or 64,
        seed=secrets.randbelow(2**31) if options.seed is None else options.seed,
        limits=limits,
        openings=options.openings,
        size=options.board_size,
        stop=f"decided:{options.points or POINTS}" if options.stop else f"sprt:{options.sprt}" if options.sprt else "",
    )


def rule_of(setup: MatchSetup) -> StoppingRule | None:
    """Return the rule that may stop the match early, or None."""
    kind, _, words = setup.stop.partition(":")
    if kind == "sprt":
        return Sprt.parse(words)
    if kind == "decided":
        name, _, full = words.partition(":")
        try:
            points = float(full)
            if not (isfinite(points) and points > 0):
                raise ValueError
        except ValueError:
            raise UsageError(f"expected --points such as shifted_score:30, with points above 0; got {words!r}") from None
        return Decided(formula_named(name), points, setup.plays)
    return None


def check_files(options: argparse.Namespace) -> None:
    """Raise a UsageError if a file or a folder that the match is to write cannot be where the options say."""
    check_places(
        records=options.resume or options.records,
        continues=options.resume is not None,
        json_file=options.json,
        sgf_folder=options.sgf,
    )
    if options.records is not None and options.records.exists():
        raise UsageError(f"expected no file at {options.records}; continue that match with --resume, or name another file")


def prepare(options: argparse.Namespace) -> tuple[MatchSetup, Records | None]:
    """Return the setup of a new or continued match, and its records or None."""
    if options.resume is not None:
        setup = MatchSetup.from_json(read_records(options.resume)[0]["match"])
        setup = replace(setup, plays=options.num_plays or setup.plays)
        return setup, Records(options.resume, setup)
    speed = None
    if BASELINE.exists() and (options.scale_time or (options.records and has_cpu_clock())):
        speed = round(calibrate.measure(engine_at(str(BASELINE))).factor, 3)
    setup = new_match(options, speed)
    rule_of(setup)  # raises UsageError for a mistake before the first game
    return setup, None if options.records is None else Records(options.records, setup, speed)


def runner_of(options: argparse.Namespace) -> Runner:
    """Make the runner that plays the games."""
    wanted = options.num_workers
    runner: RayRunner | ThreadRunner
    runner = RayRunner(wanted, options.ray_address) if options.engine == "ray" else ThreadRunner(wanted or available_cores())
    if wanted is not None and runner.workers is not None and runner.workers < wanted:
        print(f"{wanted} games at the same time were requested; {runner.workers} will be played at a time, one per core.")
    return runner


def play(setup: MatchSetup, runner: Runner, records: Records | None) -> tuple[MatchResult, bool]:
    """Play the match with a progress bar; return the result and whether it was interrupted."""
    games: list[GameRecord] = []
    recorded = sum(game.is_decided and game.index < setup.plays for game in records.games.values()) if records else 0
    with tqdm(total=setup.plays, initial=recorded, unit="game", disable=None) as bar:

        def on_game(game: GameRecord) -> None:
            games.append(game)
            won = [sum(g.winner == agent for g in games) for agent in (0, 1)]
            bar.set_postfix_str(f"{won[0]} : {won[1]}", refresh=False)
            bar.update(len(games) > recorded)

        try:
            return play_match(setup, runner, on_game=on_game, records=records, rule=rule_of(setup)), False
        except KeyboardInterrupt:
            return MatchResult(setup, tuple(sorted(games, key=lambda g: g.index))), True


def main(arguments: list[str] | None = None) -> int:
    """Play the match and print its summary."""
    options = parse(arguments)
    try:
        check_files(options)
        runner = runner_of(options)  # before any file is written
        setup, records = prepare(options)
        clock = f"{setup.limits.clock.value} time"
        if setup.limits.clock == Clock.CPU and not has_cpu_clock():
            clock = "wall-clock time, because this system does not show the CPU time of other programs"
        print(f"Seed {setup.seed}, {setup.plays} games, {setup.limits.move_s:g} s per move ({clock})")
        result, interrupted = play(setup, runner, records)
    except UsageError as error:
        print(f"evaluate.py: {on_screen(str(error))}", file=sys.stderr)
        return 2
    if interrupted:
        print(f"Interrupted after {result.plays} of {setup.plays} games.", file=sys.stderr)
        if records is not None:
            print(f"Continue this match with --resume {records.path}", file=sys.stderr)
    print(on_screen(summary(result), keep="\n"))
    print(write_result(result, options.json, options.sgf), end="")
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(run_program("evaluate.py", main))
