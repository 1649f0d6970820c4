"""Play against your own AI, or watch two players: `python human_play.py` opens a window, `--terminal` plays in the terminal.

Each side is `human`, `alphazero:FILE?playouts=N`, `mcts:playouts=N`, `minimax:PROGRAM` or `gomocup:PROGRAM` (handout sections
4.4 and 5.5). With `--game nogo` or `--game go`, a side is `human`, `mcts:playouts=N`, `gtp:COMMAND`, `nogo:uct?simulations=N`
(in NoGo), or a network of a run as `alphazero:FILE?playouts=N`, `gumbel:FILE?playouts=N` or `policy:FILE`. F1 shows the keys of
the window, `?` the commands of the terminal.
"""

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")
    expect_packages("human_play.py", "numpy")

import os
import re
import sys
import threading
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arena.engine.gtp_player import GtpPlayer
from arena.engine.specs import BACKENDS, engine_at, parse_agent, parse_player, parse_python_player
from common.devices import DEVICES, wants_cuda
from common.errors import UsageError
from common.harmless_text import on_screen
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED, expect_packages
from common.student_network import load_network
from common.typed import half_width, integer
from common.unwritten import students_faults_as_sentences
from common.weights import read_sizes, read_weights, stated_board
from Minimax.search_wrapper import EngineError, EnginePlayer

DEFAULT_ENGINE = "build/engines/baseline"
DEFAULT_MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model", "3_3_3.model")
SIDES = "human, alphazero:FILE, mcts:playouts=N, minimax:PROGRAM or gomocup:PROGRAM"
GAMES = ("gomoku", "nogo", "go")
ENGINE_BOARD = (15, 15, 5)
SWAP, SWAP_STONES = "swap", 3  # as a player answers and --position writes it, and with how many stones on the board
LATER_PACKAGES = ("pygame", "rich", "torch")  # for the window, for the terminal, for networks
# Option, its default, and the kinds of --player that use it.
USED_BY = (("playouts", None, ("alphazero", "mcts")), ("model", DEFAULT_MODEL, ("alphazero",)),
           ("engine", DEFAULT_ENGINE, ("minimax",)))  # fmt: skip


def parse_board(text):
    """Read `WxHxN` (columns, rows, stones in a row) as three integers; a board must be one that SGF can save."""
    from Board.play.game_file import LARGEST

    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", text, re.ASCII)
    if not match:
        raise UsageError(f"expected --board as WIDTHxHEIGHTxN such as 3x3x3 or 11x11x5; got {text!r}")
    if any(len(part) > 2 or int(part) > LARGEST for part in match.groups()[:2]):
        raise UsageError(f"expected --board of at most {LARGEST}x{LARGEST}, the largest that can be saved; {text} is too large")
    width, height, n_in_row = (int(part) for part in match.groups())
    if n_in_row > min(width, height):
        raise UsageError(f"expected a board of at least {n_in_row} by {n_in_row} for {n_in_row} in a row; got {text}")
    return width, height, n_in_row


def parse_moves(text, game):
    """Read the moves of a game from the empty board, such as `4 0 8`; brackets and commas may stand between them.

    In Gomoku, the fourth one may be `swap`.
    """
    last = game.pass_action or game.width * game.height - 1
    words = re.sub(r"[\[\],]", " ", half_width(text)).split()
    try:
        actions = [word if word == SWAP else integer(word) for word in words or [text]]
        expect_legal(actions, game)
    except ValueError:
        swap = ", or swap as the fourth" if game.in_place_of_a_stone == SWAP else ""
        raise UsageError(
            f'expected --position as moves from 0 to {last} on empty points, such as "4 0 8"{swap}, and none after the end of '
            f"the game; got {text!r}"
        ) from None
    return actions


def expect_legal(actions, game):
    """Raise ValueError unless a game can begin with these actions."""
    board = game.new_position()
    for ply, action in enumerate(actions):
        if board.game_end()[0]:  # a board of Gomoku itself takes more stones
            raise ValueError("the game has ended before this action")
        if action != SWAP:
            board.do_move(action)
        elif game.in_place_of_a_stone == SWAP and ply == SWAP_STONES:
            board.swap_colours()
        else:
            raise ValueError("a swap is the fourth move of a game of Gomoku")


def read_recorded(path, number, game):
    """Return a game from the records of a match, such as `python Minimax/evaluate.py --records` writes.

    Args:
        number: the number of the game; None for the first one.
        game: the game that is played here.

    Raises:
        UsageError: there is no such game, or it is not the game `game`.
    """
    from arena.match.records import read_records
    from arena.rules import SWAP as SWAPPED
    from Board.play.for_people import Gomoku
    from Board.play.game_file import game_file

    _, games = read_records(path)
    number = min(games, default=0) if number is None else number
    if number not in games:
        raise UsageError(f"expected the number of one of the {len(games)} games in {path}; got {number}")
    record = games[number]
    name = record.game.name if record.game else "gomoku"
    if name != game.name:
        raise UsageError(f"expected --game {name} for the games in {path}; got {game.name}")
    if record.game:
        from games.for_people import game_for_people

        played: Any = game_for_people(name, record.size, record.game.komi)
        actions: list[Any] = [record.game.action(move) for move in record.moves]
    else:
        played = Gomoku(record.size, record.size, min(record.size, ENGINE_BOARD[2]))
        actions = [SWAP if move == SWAPPED else move[1] * record.size + move[0] for move in record.moves]
    try:
        expect_legal(actions, played)
    except (TypeError, ValueError):
        raise UsageError(f"expected a legal game; game {number} in {path} has an illegal move") from None
    black, white = (on_screen(record.names[agent]) for agent in (record.black, 1 - record.black))
    return game_file(played, actions, black, white, "")


def read_opened(options, game):
    """Return the game that --open names; it is one of `game`, on a board of any size."""
    from Board.play.game_file import read_game

    path, *numbers = options.open
    if len(numbers) > 1 or not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        raise UsageError(f"expected --open FILE, or FILE and the number of a game; got {' '.join(options.open)}")
    if path.endswith(".jsonl"):
        return read_recorded(Path(path), int(numbers[0]) if numbers else None, game)
    if numbers:
        raise UsageError(f"expected the number of a game only with records of a match (.jsonl); {path} is opened as SGF")
    return read_game(Path(path), game)


def board_of_weights(model):
    """Return the board (width, height, n_in_row) that a network was trained for."""
    width, height, _ = read_sizes(read_weights(model))
    stated = stated_board(model, width, height)
    if stated is not None:
        return stated
    if width != height:
        raise UsageError(f"expected --board, because the weights in {model} are not for a square board")
    return width, height, 3 if width == 3 else min(5, width)


def sides_of(options):
    """Return what plays black and white, as `--black` and `--white` name it."""
    if options.black is None and options.white is None:
        player = options.player or ("alphazero" if options.game == "gomoku" else "mcts")
        for name, usual, users in USED_BY:
            if getattr(options, name) != usual and player not in users:
                raise UsageError(f"expected --player {' or '.join(users)} with --{name}; {player} ignores it")
        playouts = f"playouts={options.playouts}" if options.playouts is not None else ""
        ai = {
            "minimax": f"minimax:{options.engine}",
            "mcts": f"mcts:{playouts or 'playouts=1000'}",
            "alphazero": f"alphazero:{options.model}{'?' if playouts else ''}{playouts}",
        }[player]
        return ("human", ai) if options.start == "human" else (ai, "human")
    if options.player is not None:
        raise UsageError("expected either --player or --black and --white; got both")
    for name, usual, _ in (*USED_BY, ("start", "human", ())):
        if getattr(options, name) != usual:
            raise UsageError(
                f"expected no --{name} with --black or --white, which say who plays and how, such as mcts:playouts=400"
            )
    return options.black or "human", options.white or "human"


def kind_of(side):
    """Return human, alphazero, mcts or engine.

    Raises:
        UsageError: the side is something else.
    """
    kind = side.partition(":")[0]
    if side == "human" or kind in ("alphazero", "mcts"):
        return kind
    if kind not in ("minimax", "gomocup") and not os.path.exists(side):
        raise UsageError(f"expected {SIDES}; got {side!r}")
    return "engine"


def board_for(sides, text, opened):
    """Return the board (width, height, n_in_row) for these sides, --board's value and the game of --open; both may be None."""
    wanted = parse_board(text) if text else None
    kinds = [kind_of(side) for side in sides]
    if "engine" in kinds:
        if wanted not in (None, ENGINE_BOARD) and any(side.startswith("minimax:") for side in sides):
            raise UsageError(f"expected --board 15x15x5, or no --board, with an engine of the course; got {text}")
        return wanted or ENGINE_BOARD
    models = [weights_of(side) for side in sides if kind_of(side) == "alphazero"]
    if wanted or models or opened is None:
        return wanted or (board_of_weights(models[0]) if models else (3, 3, 3))
    board = opened.played.new_position()
    return board.width, board.height, board.n_in_row


def weights_of(side):
    """Return the file of weights that a side alphazero:FILE?playouts=N names."""
    kind, file = side.partition(":")[0], side.partition(":")[2].partition("?")[0]
    if not file:
        raise UsageError(f"expected a file of weights, such as {kind}:model/best_policy.model; got {side!r}")
    return file


def make_player(side, sizes, options):
    """Return (name, player, adviser) of a side, as `Participant` has them; the player is None for a person.

    Args:
        side: as `--black` and `--white` name it.
        sizes: (width, height, n_in_row).
        options: where and by what a network is computed.
    """
    kind = kind_of(side)
    if kind == "human":
        return None, None, None
    if kind == "engine":
        program = side.partition(":")[2]
        spec = engine_at(program) if side.startswith("minimax:") else parse_agent(side)
        engine = EnginePlayer(spec)
        if spec.protocol == "gomocup":  # only the engine knows which boards it can play on
            engine.try_board(*sizes)
        # A hint must not disturb the engine that plays the game.
        return os.path.basename(program or side), engine, EnginePlayer(spec)
    if kind == "alphazero":
        read_weights(weights_of(side))  # this program has its own words for what is wrong with them
    chosen = parse_python_player("mcts:" if side == "mcts" else side)
    if kind == "mcts":
        from AlphaZero.mcts_pure import MCTSPlayer as PureMCTSPlayer

        return f"MCTS {chosen.playouts}", PureMCTSPlayer(c_puct=5, n_playout=chosen.playouts), None
    from AlphaZero.mcts_alphaZero import MCTSPlayer
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    net = load_network(partial(PolicyValueNet, cuda=wants_cuda(options.device)), chosen.model, *sizes[:2])
    handles = net.action_fc_test, net.evaluation_fc2_test
    name = f"AlphaZero {Path(chosen.model).stem}"
    player = MCTSPlayer(policy_of(net, sizes, chosen, options, name), *handles, c_puct=5, n_playout=chosen.playouts)
    return name, player, None


def policy_of(net, sizes, chosen, options, name):
    """Return the network's policy_value_fn, computed faster where the network and this tree allow it (a kit does not).

    Raises:
        UsageError: the player or the options ask for a backend that is not available.
    """
    backend = chosen.backend or options.backend
    if find_spec("training.single_game") is None:
        if backend != "auto":
            raise UsageError(
                f"expected all of training/ for --backend {backend}; this kit does not contain it: leave --backend out"
            )
        return net.policy_value_fn
    from training.single_game import FoldedPolicy

    try:
        policy = FoldedPolicy(net, sizes[0], sizes[1], backend=backend, device=options.device, weights=chosen.model)
    except ValueError as error:
        if backend != "auto":
            raise UsageError(f"--backend {backend}: {error}") from error
        return net.policy_value_fn
    say_how_computed(name, policy.description)
    return policy


def say_how_computed(name, description):
    """Say on standard error by which library and where a player's network is computed."""
    print(f"{name}: the network is computed by {description}.", file=sys.stderr)


def game_of(options):
    """Return NoGo or Go as the options describe it, and what an engine hears about it.

    Raises:
        UsageError: there is no such board or komi, or this kit has no such game.
    """
    from arena.engine.gtp_engine import BoardOffer
    from arena.match.board_game import USUAL_KOMI, BoardGame, parse_board

    komi = USUAL_KOMI if options.komi is None and options.game == "go" else options.komi
    asked = BoardGame(options.game, parse_board(options.board or "9x9"), komi)
    if find_spec("games") is None:
        raise UsageError(f"expected the folder games/ for --game {options.game}; this kit does not contain it")
    from games.for_people import game_for_people

    return game_for_people(asked.name, asked.size, asked.komi), BoardOffer(asked.size, asked.komi)


def make_player_of(game, offer, side, options):
    """Return (name, player, adviser) of a side of NoGo or Go; see `make_player`."""
    kind = side.partition(":")[0]
    if side == "human":
        return None, None, None
    if kind == "mcts":
        return make_player(side, None, options)
    if kind in ("alphazero", "gumbel", "policy"):
        return run_player(game, side, options)
    spec = parse_player(side, game.name)
    # A hint must not disturb the engine that plays the game.
    return os.path.basename(spec.argv[0]), GtpPlayer(spec, game.rules, offer), GtpPlayer(spec, game.rules, offer)


def run_player(game, side, options):
    """Return (name, player, None) of a network of a run, with a search of training/."""
    if find_spec("training.matches") is None:
        raise UsageError(f"expected all of training/ for {side}; this kit does not contain it")
    import numpy as np

    from training.single_game import make_agent_player

    wants_cuda(options.device)  # refuses if there is no GPU
    name = f"{side.partition(':')[0]} {Path(weights_of(side)).stem}"
    player = make_agent_player(side, game.rules, np.random.default_rng(), options.backend, options.device)
    say_how_computed(name, player.computed_by)
    return name, player, None


def make_session(options, language):
    """Return the games that the options ask for."""
    from Board.play.for_people import Gomoku
    from Board.play.game_file import game_file
    from Board.play.people import Participant, Refused, Rules
    from Board.play.session import Session
    from Board.play.words import say

    sides = sides_of(options)
    game, offer = (Gomoku(*ENGINE_BOARD), None) if options.game == "gomoku" else game_of(options)
    begun = read_opened(options, game) if options.open is not None else None
    if options.game == "gomoku":
        sizes = board_for(sides, options.board, begun)
        game = Gomoku(*sizes)
        made = [make_player(side, sizes, options) for side in sides]
        on_engine_board = sizes == ENGINE_BOARD
        engines = any(kind_of(side) == "engine" for side in sides)
        rules = Rules(may_swap=on_engine_board, central_opening=engines and on_engine_board)
    else:
        made = [make_player_of(game, offer, side, options) for side in sides]
        rules = Rules()
    alone = sum(side == "human" for side in sides) == 1
    people = []
    for number, (name, player, adviser) in enumerate(made, start=1):
        own = say(language, "you") if alone else say(language, "person", number=number)
        people.append(Participant(on_screen(name or own), player, adviser))
    black = 0
    if sides[1] == "human" and alone:  # the person's row comes first in the window
        people.reverse()
        black = 1
    session = Session(game.new_position(), (people[0], people[1]), black, rules, game=game)
    if options.position is not None:
        begun = game_file(game, parse_moves(options.position, game), "", "", "")
    if begun is not None:
        try:
            session.load(begun)
        except Refused as refused:
            raise UsageError(say(language, f"open_{refused.key}", **refused.values)) from None
        session.paused = options.position is None and session.paused  # a game is looked at first, a position played on
    return session


def play_in_window(session, language, font):
    """Open the window and play.

    Raises:
        UsageError: the machine has no screen, or the font cannot be used.
        NotImplementedError: a player is not written yet.
    """
    from Board.GUI_v1_4 import show_session

    try:
        show_session(session, language, font)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        raise UsageError(str(error)) from error


def language_and_font(options):
    """Return the language of the window, and a font that can write it; English if no font can write Chinese."""
    from Board.window.fonts import find_font

    try:
        return options.language, find_font(options.language, options.font)
    except UsageError as error:
        if options.language == "en" or options.font is not None:
            raise
        print(f"human_play.py: {error}.", file=sys.stderr)
        return "en", find_font("en")


def parse(arguments=None):
    """Parse the command line."""
    from Board.play.words import LANGUAGES, language_of_the_locale

    parser = Parser(prog="human_play.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--game", choices=GAMES, default="gomoku", help="which game (default gomoku)")
    parser.add_argument("--komi", type=float, metavar="POINTS", help="points for white in Go (default 7.5)")
    parser.add_argument("--black", metavar="SIDE", help=f"who moves first: {SIDES}")
    parser.add_argument("--white", metavar="SIDE", help="who moves second (both default to human)")
    players, by_name = ("alphazero", "mcts", "minimax"), lambda text: text.replace("_", "")  # alpha_zero is its former name
    parser.add_argument("--player", type=by_name, choices=players, help="the AI (default alphazero)")
    parser.add_argument("--engine", default=DEFAULT_ENGINE, metavar="PROGRAM", help=f"for minimax (default {DEFAULT_ENGINE})")
    parser.add_argument("--model", default=DEFAULT_MODEL, metavar="FILE", help="weights for alphazero (default 3x3)")
    parser.add_argument(
        "--board", metavar="WxHxN", help="columns x rows x stones in a row (default: of weights or --open); 9x9 in NoGo and Go"
    )
    parser.add_argument("--playouts", type=int, metavar="N", help="playouts for each move (default 400; mcts 1000)")
    parser.add_argument("--start", choices=("human", "ai"), default="human", help="the player who moves first (default human)")
    begun = parser.add_mutually_exclusive_group()
    begun.add_argument(
        "--open", nargs="+", metavar=("FILE", "N"), help="begin with this game: SGF, or records (.jsonl) and a game's number"
    )
    begun.add_argument(
        "--position", "--moves", metavar="MOVES", help='begin after these moves, as numbered in reports: "4 0 8", swap'
    )
    parser.add_argument("--device", choices=DEVICES, help="where networks are computed (default: on the GPU if it is faster)")
    parser.add_argument("--backend", choices=BACKENDS, default="auto", help="what computes them (default: the fastest)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--terminal", action="store_true", help="play in the terminal")
    shown.add_argument("--font", metavar="FILE", help="a font for the window")
    parser.add_argument(
        "--language", choices=LANGUAGES, help="language of the window and the terminal (default: that of the locale)"
    )
    options = parser.parse_args(arguments)
    if options.playouts is not None and options.playouts < 2:
        parser.error(f"expected --playouts of at least 2; got {options.playouts}")
    if options.komi is not None and options.game != "go":
        parser.error(f"expected --komi only with --game go; got --game {options.game}")
    options.language = options.language or language_of_the_locale()
    return options


def play(options):
    """Play in the terminal or in the window."""
    if options.terminal:
        from Board.play.terminal import Terminal

        session = make_session(options, options.language)
        try:
            Terminal(session, options.language).run()
        finally:
            session.close()
        return
    language, font = language_and_font(options)
    play_in_window(make_session(options, language), language, font)


def main():
    """Parse the command line, then play; return the exit code."""
    try:
        with students_faults_as_sentences():
            play(parse())
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in LATER_PACKAGES:
            expect_packages("human_play.py", package)
        print(f"human_play.py: {error}", file=sys.stderr)
        return 2
    except (UsageError, EngineError) as error:
        print(f"human_play.py: {error}", file=sys.stderr)
        return 2
    except EOFError:
        print("\nThe game was left unfinished.")
    except KeyboardInterrupt:
        print("\nThe game was left unfinished.")
        return INTERRUPTED
    return 0


def leave(code):
    """End the program, even if a search that cannot be cancelled is still running in another thread."""
    from Board.play.thinking import SEARCH

    if any(thread.name == SEARCH and not thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    leave(run_program("human_play.py", main))
