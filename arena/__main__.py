"""`python -m arena play` plays a match of NoGo or Go; `gtp` lets a player play under a GTP front end such as Sabaki or GoGui;
`view FILE` makes a page that shows recorded games; `replay FILE N` shows one and replays it; `calibrate` times this machine.

Exit codes: 0 the match was played, the page was made, the game was the same, or the machine was timed; 1 the game differed;
2 the call was wrong; 130 the match was interrupted (the summary covers the finished games).
"""

from __future__ import annotations

import argparse

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")

import os
import sys
from pathlib import Path
from typing import NoReturn

from arena.engine.specs import BASELINE, REFERENCE, engine_at, parse_player
from arena.match import board_match, calibrate
from arena.match.as_text import game_as_text
from arena.match.board_game import GAMES
from arena.match.match import Load, MatchResult, ThreadRunner, play_match
from arena.match.records import Records, agent_digest, machine, read_records
from arena.match.referee import REPEATS, GameRecord, play_game
from arena.match.setup import MatchSetup
from arena.match.summary import summary, write_result
from common.errors import UsageError
from common.harmless_text import on_screen
from common.program_ends import Parser, run_program


def first_difference(recorded: GameRecord, played: GameRecord) -> str:
    """Return a sentence that says where two games first differ, or an empty string if they are the same."""
    for ply, (before, now) in enumerate(zip(recorded.moves, played.moves, strict=False), 1):
        if before != now:
            agent = recorded.black if ply % 2 else 1 - recorded.black
            return f"The games differ from ply {ply} on: {recorded.name_of(agent)} answered {before} then, and {now} now."
    if (recorded.termination, recorded.winner, len(recorded.moves)) != (played.termination, played.winner, len(played.moves)):
        return (
            f"The games end differently: {recorded.termination.value} after {len(recorded.moves)} plies then, "
            f"and {played.termination.value} after {len(played.moves)} now. {played.detail}".rstrip()
        )
    return ""


def replay(path: Path, number: int) -> int:
    """Show game `number` of the records, and replay it with its seeds and limits.

    If the replay differs and the machine was busy, try again, at most REPEATS times: on a busy machine an engine that plans by
    the wall clock thinks less.

    Returns:
        The exit code.

    Raises:
        UsageError: there is no such game, or its agents cannot play again, as those of a graded run; the game is shown then.
    """
    heading, games = read_records(path)
    if number not in games:
        raise UsageError(f"expected the number of one of the {len(games)} games in {path}; got {number}")
    recorded = games[number]
    if recorded.game is None:
        print(game_as_text(recorded), flush=True)
    else:
        from arena.view.as_text import board_game_as_text  # needs rules that the kit of a lab does not hold

        print(board_game_as_text(recorded), flush=True)
    try:
        setup = MatchSetup.from_json(heading["match"])
    except UsageError as error:
        raise UsageError(f"the game is only shown, because its agents cannot play again: {error}") from error
    for agent, before in zip(setup.agents, heading["digests"], strict=True):
        if agent_digest(agent) != before:
            print(on_screen(f"{agent.path} has been rebuilt since the match."))
    for _ in range(REPEATS + 1):
        played = play_game(setup.task(number))
        difference = first_difference(recorded, played)
        if not difference or not Load.of([played]).busy_games:
            break
    print(on_screen(difference) or f"The same game: {len(recorded.moves)} plies, {recorded.termination.value}.")
    if difference:
        for when, game in (("When it was recorded", recorded), ("Now", played)):
            if (load := Load.of([game])).busy_games:
                print(f"{when} other programs withheld {100 * load.withheld_share:.0f} % of the time, which may be why.")
    return 1 if difference else 0


def play(options: argparse.Namespace) -> int:
    """Play or continue a match of a game of games/ and print its summary; return the exit code."""
    setup = board_match.setup_of(options)
    records = None if options.records is None else Records(options.records, setup)
    print(f"Seed {setup.seed}, {setup.plays} games, {setup.limits.move_s:g} s per move ({setup.limits.clock.value} time)")
    games: list[GameRecord] = []

    def on_game(game: GameRecord) -> None:
        games.append(game)
        score = " : ".join(str(sum(played.winner == agent for played in games)) for agent in (0, 1))
        fault = f"; {game.name_of(game.faulty)} {game.detail}" if game.faulty is not None else ""
        print(on_screen(f"{len(games)} of {setup.plays} games, {score}{fault}"), file=sys.stderr)

    try:
        result, code = play_match(setup, ThreadRunner(options.num_workers), on_game=on_game, records=records), 0
    except KeyboardInterrupt:
        result, code = MatchResult(setup, tuple(sorted(games, key=lambda game: game.index))), 130
        print(f"Interrupted after {result.plays} of {setup.plays} games.", file=sys.stderr)
        if records is not None:
            print(f"The same command continues the match in {records.path}.", file=sys.stderr)
    print(on_screen(summary(result), keep="\n"))
    print(write_result(result, options.json, options.sgf), end="")
    return code


def serve_gtp(player: str, game: str, superko: bool) -> NoReturn:
    """Become the program of the player, which speaks GTP on standard input and output."""
    command = parse_player(player, game, superko=superko).argv
    os.execv(command[0], command)


def time_this_machine(baseline: str, record: bool) -> int:
    """Time this machine or, with `record`, make it the reference machine."""
    speed = (calibrate.record if record else calibrate.measure)(engine_at(baseline))
    times = f"{speed.cpu_s:.2f} s of CPU time, recorded {speed.recorded_s:.2f} s, speed {speed.factor:.2f}"
    print(f"{machine()['processor']}: {times}")
    return 0


def tell(words: str) -> None:
    """Print a line about the progress of a long step."""
    print(on_screen(words), file=sys.stderr)


def view(options: argparse.Namespace) -> int:
    """Write the page of a file's games; the strongest engine available says where they were lost."""
    from arena.view.page import write_page  # replay and calibrate need no templates

    out = options.out or Path(f"{options.file.stem}.html")
    asked = options.engine or next((path for path in (REFERENCE, BASELINE) if Path(path).is_file()), None)
    engine = engine_at(asked) if asked else None
    game = write_page(options.file, options.number, options.agent, engine, out, tell)
    print(on_screen(f"{game.title}: {game.ending}"))
    if game.loss is not None:
        print(on_screen(game.loss.sentence))
    print(on_screen(f"Page: {out}"))
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run one command."""
    parser = Parser(
        prog="python -m arena", description="Play NoGo or Go, look at recorded games again, replay them, or time this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    playing = commands.add_parser("play", help="play a match of NoGo or Go between two players that speak GTP")
    board_match.add_match_options(playing)
    serving = commands.add_parser("gtp", help="let a player play under a GTP front end such as Sabaki or GoGui")
    serving.add_argument("--game", choices=("gomoku", *GAMES), required=True)
    serving.add_argument(
        "--player", required=True, help="mcts:playouts=N, alphazero|gumbel|policy:FILE, nogo:rave?simulations=N"
    )
    serving.add_argument("--superko", action="store_true", help="in Go, forbid the repetition of any earlier position")
    viewing = commands.add_parser("view", help="make a page for stepping through the games of a file")
    viewing.add_argument("file", type=Path, help="a file written by --records of evaluate.py or play, or an .sgf")
    viewing.add_argument("number", type=int, nargs="?", help="the game to open with (default: the first lost one)")
    viewing.add_argument(
        "--agent", type=int, choices=(0, 1), default=0, help="the agent whose lost games are examined (default 0)"
    )
    viewing.add_argument("--engine", help=f"the engine that says where games were lost (default {REFERENCE} or {BASELINE})")
    viewing.add_argument("--out", type=Path, metavar="FILE.html", help="the page (default: the file's name with .html)")
    replaying = commands.add_parser(
        "replay", help="show a recorded game, play it again with the programs that the file names, and compare"
    )
    replaying.add_argument("file", type=Path, help="a file written by evaluate.py --records")
    replaying.add_argument("number", type=int, help="the number of the game, from 0")
    timing = commands.add_parser("calibrate", help="time this machine with a search by the baseline")
    timing.add_argument("--baseline", default=BASELINE, help=f"the baseline program (default {BASELINE})")
    timing.add_argument("--record", action="store_true", help="make this machine the reference machine")
    options = parser.parse_args(arguments)
    try:
        if options.command == "play":
            return play(options)
        if options.command == "gtp":
            serve_gtp(options.player, options.game, options.superko)
        if options.command == "view":
            return view(options)
        if options.command == "replay":
            return replay(options.file, options.number)
        return time_this_machine(options.baseline, options.record)
    except UsageError as error:
        print(f"arena: {on_screen(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("arena: stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run_program("arena", main))
