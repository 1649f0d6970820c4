"""Measure the milestones of Part 1: `python bench/milestones.py FOLDER` plays each against an earlier one and the baseline.

The steps are one source, instructor/teacher/milestones.cpp, compiled once for each. Matches are recorded in FOLDER, and the
same command continues a run that was killed, or adds games if it asks for more. `--steps` plays the matches of some steps only.
`--record` writes each result to bench/records/milestones.json, in place of that of the same match; bench/tables.py makes the
table of docs/engines.md from it, and docs/generate.py that of docs/theory.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_tables import MILESTONES, milestones
from ladder import REGULAR, play_with_bar
from recording import ROOT, Record, add_record_option, earlier_record, merged, write_record

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at
from arena.match.match import MatchResult
from arena.match.records import Records, machine
from arena.match.setup import MatchSetup
from common.errors import UsageError
from common.program_ends import Parser

BASELINE = "baseline"


def play(stronger: str, weaker: str, options: argparse.Namespace) -> MatchResult:
    """Play a match, in which `stronger` is agent 0; recorded games are not replayed."""
    first, second = (engine_at(str(_program(name))) for name in (stronger, weaker))
    limits = Limits(move_s=options.time_limit)
    setup = MatchSetup(agents=(first, second), plays=options.games, seed=options.seed, limits=limits)
    records = Records(options.folder / f"{stronger}-{weaker}.jsonl", setup)
    return play_with_bar(setup, f"{stronger} - {weaker}", options.num_workers, records)


def _program(name: str) -> Path:
    return ROOT / "build" / ("engines" if name == BASELINE else "milestones") / name


def row_of(step: str, opponent: str, result: MatchResult) -> Record:
    """Return a row of the record: the counts of one match."""
    seen = result.statistics(0)
    return {
        "step": step,
        "opponent": opponent,
        "games": seen.games,
        "effective_games": seen.effective_games,
        "won": seen.wins,
        "drawn": seen.draws,
        "lost": seen.losses,
        "lost_otherwise": sum(game.termination not in REGULAR for game in result.decided),
    }


def main() -> int:
    """Build the steps, play the missing games and print the table of all recorded matches."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the games")
    parser.add_argument(
        "--steps", nargs="+", choices=MILESTONES, default=[*MILESTONES], metavar="NAME", help="only these steps"
    )
    parser.add_argument("--games", type=int, default=16, help="number of games of each match (default 16)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="CPU seconds per move (default 5)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--num-workers", type=int, default=1, help="games at the same time, at most one per core (default 1)")
    add_record_option(parser, "milestones")
    options = parser.parse_args()
    if min(options.games, options.num_workers) < 1:
        parser.error("expected at least 1 for --games and --num-workers")
    command = (
        f"python bench/milestones.py FOLDER --games {options.games} --time-limit {options.time_limit:g} --seed {options.seed}"
    )
    programs = [str(_program(name).relative_to(ROOT)) for name in (*MILESTONES, BASELINE)]
    subprocess.run(["make", "-s", "-C", str(ROOT), *programs], check=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    pairs = [(step, BASELINE) for step in options.steps]
    pairs += [(step, earlier) for step in options.steps if (earlier := MILESTONES[step][0])]
    try:
        record = earlier_record(options.record, command) or {"command": command, "machine": machine(), "rows": []}
        for step, opponent in pairs:
            row = row_of(step, opponent, play(step, opponent, options))
            new = {"command": command, "machine": machine(), "rows": [row]}
            record = merged(record, new, key=lambda row: (row["step"], row["opponent"]))
            if options.record:
                write_record(options.record, record)
    except UsageError as error:
        print(f"milestones.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Interrupted; the same command continues the games in {options.folder}.", file=sys.stderr)
        return 130
    print(milestones(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
