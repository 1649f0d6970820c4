"""Measure how strong the NoGo rungs are: `python bench/nogo_ladder.py FOLDER` plays neighbouring rungs and prints Elo ratings.

A rung is our NoGo player in C++ with a search and a fixed number of simulations, named as in `python -m arena play` without
`nogo:`. List the rungs from the weakest to the strongest. Each match is recorded in FOLDER; the same command continues a run
that was killed, or adds games if it asks for more. `--record` writes the results to bench/records/nogo_ladder.json. The ratings
are those of bench/ladder.py; the first rung is at 0.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ladder import play_with_bar, run_ladder
from recording import add_record_option

from arena.engine.engine_process import Limits
from arena.engine.specs import parse_player
from arena.match.board_game import BoardGame, parse_board
from arena.match.match import MatchResult
from arena.match.records import Records, read_records
from arena.match.setup import MatchSetup
from common.harmless_text import file_name
from common.program_ends import Parser

RUNGS = ("random", *(f"{search}?simulations={n}" for n in (10_000, 50_000, 200_000) for search in ("rave", "uct")))
MOVE_S = 60.0  # CPU seconds; a rung has no clock, and only one that hangs takes as long


def play_rungs(weaker: str, stronger: str, games: int, options: argparse.Namespace) -> MatchResult:
    """Play the match of two rungs, in which the stronger one is agent 0; recorded games are not played again."""
    path = options.folder / f"{file_name(stronger, 60)}-{file_name(weaker, 60)}.jsonl"
    if path.exists():
        games = max(games, len(read_records(path)[1]))
    size = parse_board(options.board)
    game = BoardGame("nogo", size)
    agents = (parse_player(f"nogo:{stronger}", "nogo"), parse_player(f"nogo:{weaker}", "nogo"))
    setup = MatchSetup(agents, games, options.seed, Limits(move_s=MOVE_S, init_s=MOVE_S), size=size, game=game)
    return play_with_bar(setup, f"{stronger} - {weaker}", options.num_workers, Records(path, setup))


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the games")
    parser.add_argument("--rungs", nargs="+", default=RUNGS, metavar="RUNG", help="weakest first")
    parser.add_argument("--board", default="9x9", help="a square board (default 9x9)")
    parser.add_argument("--games", type=int, default=20, help="number of games between neighbours (default 20)")
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser, "nogo_ladder")
    options = parser.parse_args(arguments)
    if len(options.rungs) < 2 or min(options.games, options.num_workers) < 1:
        parser.error("expected at least two --rungs, and at least 1 for --games and --num-workers")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Play the missing games and print the tables."""
    options = parse_options(arguments)
    rungs = " ".join(f"'{name}'" for name in options.rungs)
    terms = f"--games {options.games} --board {options.board} --seed {options.seed}"

    def play(weaker: str, stronger: str, neighbours: bool) -> MatchResult | None:
        return play_rungs(weaker, stronger, options.games, options) if neighbours else None

    command = f"python bench/nogo_ladder.py FOLDER {terms} --rungs {rungs}"
    return run_ladder(list(options.rungs), play, options, f"NoGo {options.board}", command)


if __name__ == "__main__":
    sys.exit(main())
