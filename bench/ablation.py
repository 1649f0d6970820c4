"""Measure what each idea of the reference engine is worth: `python bench/ablation.py FOLDER`.

The engine plays a match against itself with one idea switched off (GOMOKU_WITHOUT; the names are explained in
instructor/reference/Minimax/options.h), at equal time, and the loss is printed in Elo. The games of each match are recorded in
FOLDER, so a run that was killed can be continued.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tqdm import tqdm

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.specs import engine_at
from arena.match.match import MatchResult, ThreadRunner, play_match
from arena.match.records import Records, machine
from arena.match.setup import MatchSetup
from common.errors import UsageError

REFERENCE = Path("build/engines/reference")
IDEAS = (
    "danger",
    "table",
    "forced",
    "width",
    "pvs",
    "balance",
    "vcf,rootvcf,rootvct",
    "killers,history",
    "lmr",
    "extension",
    "wins",
)


def match_without(ideas: str, whole: EngineSpec, options: argparse.Namespace) -> MatchResult:
    """Play the whole engine, agent 0, against the engine without these ideas."""
    without = replace(whole, env={"GOMOKU_WITHOUT": ideas})
    limits = Limits(move_s=options.time_limit)
    setup = MatchSetup((whole, without), options.games, options.seed, limits, openings="all49")
    records = Records(options.folder / f"without-{ideas.replace(',', '-')}.jsonl", setup)
    with tqdm(total=options.games, unit="game", disable=None, desc=ideas) as bar:
        return play_match(setup, ThreadRunner(options.num_workers), on_game=lambda game: bar.update() and None, records=records)


def row(ideas: str, result: MatchResult) -> str:
    """Return one line of the table."""
    found = result.statistics(0)
    assert found.elo is not None
    low, high = (f"{end:+.0f}" if isfinite(end) else "without end" for end in (found.elo.low, found.elo.high))
    worth = f"{found.elo.difference:+.0f}" if isfinite(found.elo.difference) else "all won"
    late = sum(game.termination.value == "timeout" for game in result.games)
    return f"| {ideas} | {found.wins} : {found.losses} | {worth} | {low} to {high} | {found.distinct_games} | {late} |"


def main() -> int:
    """Play the missing games, and print each row when its match ends."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the records")
    parser.add_argument(
        "--ideas", nargs="+", default=IDEAS, metavar="NAMES", help="ideas to switch off, one at a time; join several by commas"
    )
    parser.add_argument("--engine", type=Path, default=REFERENCE)
    parser.add_argument("--games", type=int, default=64, help="number of games in each match (default 64)")
    parser.add_argument(
        "--time-limit", type=float, default=0.25, help="CPU seconds per move, of which 0.2 are used (default 0.25)"
    )
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if min(options.games, options.num_workers) < 1 or not options.time_limit > 0:
        parser.error("expected --games and --num-workers of at least 1, and --time-limit above 0")
    try:
        engine = engine_at(str(options.engine))
    except UsageError as error:
        parser.error(str(error))
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{options.time_limit:g} s of CPU time per move, seed {options.seed}, {machine()['processor']}\n")
    print("| without | won : lost with it | worth, Elo | 95 % interval | distinct games | late |")
    print("|---|---|---|---|---|---|", flush=True)
    try:
        for ideas in options.ideas:
            print(row(ideas, match_without(ideas, engine, options)), flush=True)
    except UsageError as error:
        print(f"ablation.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Interrupted; the same command continues the games in {options.folder}.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
