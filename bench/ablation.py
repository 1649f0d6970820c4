"""Measure what each idea of the reference engine is worth: `python bench/ablation.py FOLDER`.

The engine plays a match against itself with one idea switched off (GOMOKU_WITHOUT; the names are explained in
instructor/reference/Minimax/options.h), at equal time, and the loss is printed in Elo. The games of each match are recorded in
FOLDER, so a run that was killed can be continued. `--record` writes the results to bench/records/ablation.json, from which
bench/tables.py makes the table of docs/engines.md; the rows of other ideas in that file stay.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_tables import ablation
from recording import Record, add_record_option, earlier_record, merged, write_record
from tqdm import tqdm

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.specs import engine_at
from arena.match.match import MatchResult, ThreadRunner, play_match
from arena.match.records import Records, machine
from arena.match.setup import MatchSetup
from common.errors import UsageError
from common.program_ends import Parser

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
    "futility,razoring,skipping",
    "iir",
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


def row_of(ideas: str, result: MatchResult) -> Record:
    """Return the row of the record for a match of the whole engine against the engine without these ideas."""
    found = result.statistics(0)
    assert found.elo is not None
    return {
        "without": ideas,
        "games": found.games,
        "distinct_games": found.distinct_games,
        "won": found.wins,
        "drawn": found.draws,
        "lost": found.losses,
        "timeouts": sum(game.termination.value == "timeout" for game in result.games),
        "elo_95": [end if isfinite(end) else None for end in (found.elo.low, found.elo.high)],
    }


def main() -> int:
    """Play the missing games, and print the table."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the games")
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
    add_record_option(parser, "ablation")
    options = parser.parse_args()
    if min(options.games, options.num_workers) < 1 or not options.time_limit > 0:
        parser.error("expected --games and --num-workers of at least 1, and --time-limit above 0")
    try:
        engine = engine_at(str(options.engine))
    except UsageError as error:
        parser.error(str(error))
    options.folder.mkdir(parents=True, exist_ok=True)
    counts = f"--games {options.games} --time-limit {options.time_limit:g} --seed {options.seed}"
    record: Record = {"command": f"python bench/ablation.py FOLDER {counts}", "machine": machine(), "rows": []}
    print(f"{options.time_limit:g} s of CPU time per move, seed {options.seed}, {machine()['processor']}\n", flush=True)
    try:
        earlier = earlier_record(options.record, record["command"])
        for ideas in options.ideas:
            row = row_of(ideas, match_without(ideas, engine, options))
            record["rows"].append(row)
            print(
                f"{ideas}: {row['won']} won, {row['lost']} lost, {row['distinct_games']} distinct games, "
                f"{row['timeouts']} lost on time",
                flush=True,
            )
            if options.record:
                write_record(options.record, merged(earlier, record, key=lambda row: row["without"]))
        print(f"\n{ablation(record)}", end="")
    except UsageError as error:
        print(f"ablation.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Interrupted; the same command continues the games in {options.folder}.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
