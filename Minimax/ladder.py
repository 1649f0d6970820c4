"""Which rungs of the ladder does an engine beat? `python Minimax/ladder.py build/my_engine` plays them, weakest first.

The rungs are the engines that were handed out: random moves, Monte Carlo tree search with a fixed number of simulations, and
the baseline. Those that are not in build/engines/ yet are compiled. The games are kept below build/ladder/, in a folder for
each build of the engine and a file for each build of the rung, so the same command continues, adds games (`--games`) or only
draws the picture again.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")
    expect_packages("ladder.py", "numpy", "tqdm")

from tqdm import tqdm

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.specs import engine_at
from arena.match.match import ThreadRunner, play_match
from arena.match.records import Records, digest
from arena.match.setup import MatchSetup
from arena.match.summary import faults
from common.errors import UsageError, reason_of
from common.files import replacing, write_whole
from common.harmless_text import on_screen
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED

ROOT = Path(__file__).resolve().parent.parent
COMPILE = ("g++", "-std=c++17", "-O2", "-pthread", "-I", "Minimax")
RUNGS = {
    "sample": ("Minimax/sample.cpp",),
    "mcts_50000": ("-DSIMULATIONS=50000", "Minimax/mcts_baselines/mcts.cpp", "Minimax/mcts_baselines/rung.cpp"),
    "mcts_100000": ("-DSIMULATIONS=100000", "Minimax/mcts_baselines/mcts.cpp", "Minimax/mcts_baselines/rung.cpp"),
    "mcts_400000": ("-DSIMULATIONS=400000", "Minimax/mcts_baselines/mcts.cpp", "Minimax/mcts_baselines/rung.cpp"),
    "baseline": ("Minimax/baseline.cpp",),
}
"""Rungs, weakest first -> the arguments that compile them."""
RULE_S = 5.0
DIGEST_CHARACTERS = 16
WIDTH, LEFT, RIGHT, TOP, STEP = 640, 130, 600, 60, 44
CAPTION = "on the ladder: win rate with 95 % interval"
COLOURS = {"beats": "#1e8449", "undecided": "#b7950b", "loses to": "#b03a2e"}


@dataclass(frozen=True)
class Result:
    """A match against one rung.

    Attributes:
        rate: points per game; a draw counts as half a point.
        low, high: the 95 % interval of the rate.
        faults: a line for each kind of fault by which either of the two lost games.
    """

    rung: str
    wins: int
    draws: int
    losses: int
    rate: float
    low: float
    high: float
    faults: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """Whether the engine beats the rung, loses to it, or the games do not decide."""
        return "beats" if self.low > 0.5 else "loses to" if self.high < 0.5 else "undecided"


def rung_program(rung: str, folder: Path) -> Path:
    """Return the program of a rung; compile it if it is missing.

    Raises:
        UsageError: the compiler is missing or fails.
    """
    program = folder / rung
    if program.is_file():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(program) as unfinished:
        command = [*COMPILE, *RUNGS[rung], "-o", str(unfinished)]
        try:
            subprocess.run(command, cwd=ROOT, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageError(f"the rung {rung} could not be compiled by {shlex.join(command)}: {error}") from error
    return program


def play_rung(engine: EngineSpec, rung: str, options: argparse.Namespace, folder: Path) -> Result:
    """Play the missing games against a rung, half of them as black.

    Raises:
        UsageError: the rung cannot be built, the records belong to another match, or the machine was too busy.
    """
    program = rung_program(rung, ROOT / "build" / "engines")
    opponent = engine_at(str(program))
    build = (digest(str(program)) or "other")[:DIGEST_CHARACTERS]
    # The records are found by what the programs are, so they must not depend on how their paths were typed.
    agents = (
        replace(engine, path="engine", command=tuple(engine.argv)),
        replace(opponent, path=rung, command=tuple(opponent.argv)),
    )
    # As in quick grading: an engine is told to plan with less than the rule's limit, at which it loses.
    limits = Limits(move_s=max(RULE_S, options.time_limit), told_move_s=options.time_limit)
    setup = MatchSetup(agents=agents, plays=options.games, seed=options.seed, limits=limits)
    records = Records(folder / f"{rung}-{build}-seed{options.seed}-{options.time_limit:g}s.jsonl", setup)
    with tqdm(total=options.games, unit="game", disable=None, desc=rung) as bar:
        result = play_match(setup, ThreadRunner(options.num_workers), on_game=lambda _: bar.update() and None, records=records)
    seen = result.statistics(0)
    if seen.score_rate is None:
        raise UsageError(f"the machine was too busy to decide a game against {rung}; try again when fewer programs are running")
    lost_by = tuple(faults(result, ("your engine", rung)))
    return Result(rung, seen.wins, seen.draws, seen.losses, seen.score_rate, *seen.interval_95, lost_by)


def told(result: Result) -> str:
    """Return the line about one rung, and those about games that were lost by faults."""
    score = f"{result.wins} won, {result.draws} drawn, {result.losses} lost"
    interval = f"95 % {result.low:.2f} to {result.high:.2f}"
    line = f"{result.verb:10} {result.rung:12} {score}: win rate {result.rate:.2f}, {interval}"
    return "\n".join([line, *result.faults])


def picture(name: str, results: Sequence[Result]) -> str:
    """Return an SVG picture: for each rung, the strongest at the top, the win rate as a point and its interval as a line."""
    height = TOP + STEP * len(results) + 30
    title = escape(f"{on_screen(name)} {CAPTION}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" '
        f'font-size="13"><title>{title}</title><rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="20" y="26" font-size="15">{title}</text>',
    ]
    for rate in (0, 0.25, 0.5, 0.75, 1):
        dashes = ' stroke-dasharray="5 3"' if rate == 0.5 else ""
        colour = "#555" if rate == 0.5 else "#ddd"
        parts.append(f'<line x1="{_x(rate)}" y1="{TOP - 14}" x2="{_x(rate)}" y2="{height - 34}" stroke="{colour}"{dashes}/>')
        parts.append(f'<text x="{_x(rate)}" y="{height - 14}" text-anchor="middle" fill="#555">{rate:g}</text>')
    for row, result in enumerate(reversed(results)):
        y, colour = TOP + STEP * row + 10, COLOURS[result.verb]
        about = f"{result.verb}: {result.wins} : {result.losses}"
        parts += [
            f'<text x="{LEFT - 14}" y="{y}" text-anchor="end">{result.rung}</text>',
            f'<text x="{LEFT - 14}" y="{y + 15}" text-anchor="end" font-size="11" fill="{colour}">{about}</text>',
            f'<line x1="{_x(result.low)}" y1="{y}" x2="{_x(result.high)}" y2="{y}" stroke="{colour}" stroke-width="4"/>',
            f'<circle cx="{_x(result.rate)}" cy="{y}" r="6" fill="{colour}"/>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(rate: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * rate, 1)


def prepare_place_of(file: Path) -> None:
    """Make the folder of the picture, before any game is played.

    Raises:
        UsageError: the picture cannot be written there, or would replace something other than an earlier picture.
    """
    if file.is_dir():
        raise UsageError(f"expected the name of a file for --svg; {file} is a folder")
    if file.exists() and CAPTION not in file.read_text(encoding="utf-8", errors="replace")[:1000]:
        raise UsageError(f"expected a new file or an earlier picture for --svg; {file} is something else and stays as it is")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"expected a folder at {file.parent} for --svg; it cannot be made: {reason_of(error)}") from error


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    main = Parser(description=(__doc__ or "").split("\n\n")[0])
    main.add_argument("engine", help="the compiled engine, such as build/my_engine")
    main.add_argument("--rungs", nargs="+", choices=list(RUNGS), default=list(RUNGS), metavar="NAME", help="only these rungs")
    main.add_argument("--games", type=int, default=16, help="number of games against each rung (default 16)")
    main.add_argument("--time-limit", type=float, default=1.0, help="CPU seconds per move to plan with (default 1)")
    main.add_argument("--num-workers", type=int, default=1, help="games at the same time, at most one per core (default 1)")
    main.add_argument("--seed", type=int, default=1)
    main.add_argument("--svg", type=Path, default=Path("build", "ladder.svg"), metavar="FILE", help="the picture to write")
    return main


def main(arguments: list[str] | None = None) -> int:
    """Play the rungs, print a line for each, and draw them."""
    command_line = parser()
    options = command_line.parse_args(arguments)
    if min(options.games, options.num_workers) < 1:
        command_line.error("expected at least 1 for --games and --num-workers")
    if not 0 < options.time_limit < 3600:
        command_line.error(f"expected --time-limit in seconds, above 0 and below 3600; got {options.time_limit:g}")
    engine = engine_at(options.engine)
    prepare_place_of(options.svg)
    folder = ROOT / "build" / "ladder" / (digest(engine.argv[0]) or "other")[:DIGEST_CHARACTERS]
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    try:
        for rung in (rung for rung in RUNGS if rung in options.rungs):
            results.append(play_rung(engine, rung, options, folder))
            print(told(results[-1]), flush=True)
    except KeyboardInterrupt:
        print("\nInterrupted; the same command continues.", file=sys.stderr)
        return INTERRUPTED
    write_whole(options.svg, picture(Path(options.engine).name, results))
    beaten = [result.rung for result in results if result.verb == "beats"]
    print(f"Beaten: {', '.join(beaten) or 'no rung yet'}. The picture is in {options.svg}.")
    return 0


if __name__ == "__main__":
    sys.exit(run_program("ladder.py", main))
