"""Compare two versions of the reference engine: `python bench/versions.py FOLDER NEW OLD --nodes 20000 --games 100`.

Every move searches the same number of nodes (GOMOKU_NODES), so the result depends neither on how busy the machine is nor on how
fast either version is; `--time-limit` compares them at equal CPU time instead. Each first stone is played with both colours.
The games are recorded in FOLDER, and the same command continues a match that was killed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ladder import play_with_bar

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at
from arena.match.match import MatchResult
from arena.match.records import Records
from arena.match.setup import MatchSetup
from arena.match.summary import summary
from common.errors import UsageError
from common.program_ends import Parser

LONG_S = 600.0  # for a move whose length is given in nodes


def play(options: argparse.Namespace) -> MatchResult:
    """Play the match, in which the new version is agent 0; recorded games are not replayed."""
    terms = {} if options.nodes is None else {"GOMOKU_NODES": str(options.nodes)}
    agents = tuple(replace(engine_at(str(path)), env=terms) for path in (options.new, options.old))
    options.folder.mkdir(parents=True, exist_ok=True)
    limits = Limits(move_s=LONG_S if options.nodes else options.time_limit)
    setup = MatchSetup((agents[0], agents[1]), options.games, options.seed, limits, openings="all49")
    unit = f"{options.nodes}-nodes" if options.nodes else f"{options.time_limit:g}-s"
    name = f"{options.new.name}-{options.old.name}-{unit}"
    return play_with_bar(setup, name, 1, Records(options.folder / f"{name}-seed-{options.seed}.jsonl", setup))


def main() -> int:
    """Play the missing games and print the summary."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the games")
    parser.add_argument("new", type=Path, help="the version whose gain is measured")
    parser.add_argument("old", type=Path, help="the version it is compared with")
    terms = parser.add_mutually_exclusive_group(required=True)
    terms.add_argument("--nodes", type=int, help="nodes for each move")
    terms.add_argument("--time-limit", type=float, help="CPU seconds for each move")
    parser.add_argument("--games", type=int, default=100, help="number of games (default 100)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.games < 1 or not (options.nodes or options.time_limit or 0) > 0:
        parser.error("expected --games of at least 1, and --nodes or --time-limit above 0")
    try:
        print(summary(play(options)))
    except UsageError as error:
        print(f"versions.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Interrupted; the same command continues the games in {options.folder}.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
