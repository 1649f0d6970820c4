"""The command `python -m arena play`: a match of NoGo or Go between two players that speak GTP."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from arena.engine.engine_process import Clock, Limits
from arena.engine.specs import check_start
from arena.match.board_game import GAMES, USUAL_KOMI, BoardGame, parse_board
from arena.match.places import check_places
from arena.match.records import begins_anew, read_records
from arena.match.setup import MatchSetup
from common.errors import UsageError

SEEDS = 2**31


def add_match_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument(
        "players",
        nargs=2,
        metavar="PLAYER",
        help="gtp:COMMAND, mcts:playouts=N, alphazero|gumbel|policy:FILE, or nogo:uct|rave|random?simulations=N",
    )
    parser.add_argument("--game", choices=GAMES, required=True)
    parser.add_argument("--board", default="9x9", metavar="9x9", help="a square board (default 9x9)")
    parser.add_argument("--komi", type=float, help=f"points for white in Go (default {USUAL_KOMI})")
    parser.add_argument("--superko", action="store_true", help="in Go, forbid the repetition of any earlier position")
    parser.add_argument("--games", type=int, default=20, help="number of games; colours alternate (default 20)")
    parser.add_argument(
        "--opening-stones",
        type=int,
        default=0,
        metavar="N",
        help="begin with N random stones, and play each opening with both colours, since games between players without "
        "randomness repeat otherwise (default 0)",
    )
    parser.add_argument("--seed", type=int, help="random seed of the match (default: drawn and printed)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds per move (default 5)")
    parser.add_argument("--init-limit", type=float, default=10.0, help="seconds to start and prepare a board (default 10)")
    parser.add_argument("--clock", choices=list(Clock), default=Clock.CPU, help="what the limits measure (default cpu)")
    parser.add_argument("--memory-mib", type=int, default=4096, help="limit on the address space of a process (default 4096)")
    parser.add_argument("--num-workers", type=int, default=1, help="games to play at the same time (default 1)")
    parser.add_argument("--records", type=Path, metavar="FILE", help="record each game; the same command continues a match")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result and all games as JSON")
    parser.add_argument("--sgf", type=Path, metavar="DIR", help="write each game as an SGF file")


def setup_of(options: argparse.Namespace) -> MatchSetup:
    """Return the match that the options describe. Without --seed, a match that is continued keeps its seed.

    Raises:
        UsageError: an option is wrong.
    """
    for name, least in (("games", 1), ("opening_stones", 0), ("num_workers", 1), ("memory_mib", 16)):
        if (value := getattr(options, name)) < least:
            raise UsageError(f"expected --{name.replace('_', '-')} of at least {least}; got {value}")
    for name in ("time_limit", "init_limit"):
        if not 0 < (value := getattr(options, name)) < 3600:
            raise UsageError(f"expected --{name.replace('_', '-')} in seconds, above 0 and below 3600; got {value:g}")
    if options.seed is not None and not 0 <= options.seed < SEEDS:
        raise UsageError(f"expected --seed from 0 to {SEEDS - 1}; got {options.seed}")
    check_places(records=options.records, continues=_continues(options), json_file=options.json, sgf_folder=options.sgf)
    size = parse_board(options.board)
    komi = USUAL_KOMI if options.komi is None and options.game == "go" else options.komi
    game = BoardGame(options.game, size, komi, options.superko)
    if options.opening_stones:
        game.opening(options.opening_stones, seed=0)  # refuses too many stones
    first, second = (game.player(text) for text in options.players)
    for player in (first, second):
        check_start(player)
    return MatchSetup(
        agents=(first, second),
        plays=options.games,
        seed=_seed(options),
        limits=Limits(
            move_s=options.time_limit,
            init_s=options.init_limit,
            clock=Clock(options.clock),
            memory_mib=options.memory_mib,
        ),
        size=size,
        game=game,
        opening_stones=options.opening_stones,
    )


def _seed(options: argparse.Namespace) -> int:
    if options.seed is not None:
        return int(options.seed)
    if _continues(options):
        return int(read_records(options.records)[0]["match"]["seed"])
    return secrets.randbelow(SEEDS)


def _continues(options: argparse.Namespace) -> bool:
    return options.records is not None and options.records.is_file() and not begins_anew(options.records)
