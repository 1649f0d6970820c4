"""Play against your own AI: `python human_play.py` opens a window, `--terminal` plays in the terminal (handout section 5.5).

In the terminal, type a move as `h,w`: the row from the bottom, then the column from the left. The end of the input ends the
program.
"""

import argparse
import os
import re
import sys

from arena.engine.specs import engine_at
from common.errors import UsageError
from common.unwritten import first_unwritten
from common.weights import WeightsError, load_network, read_sizes, read_weights
from Minimax.search_wrapper import EngineError, EnginePlayer

DEFAULT_ENGINE = "build/engines/baseline"
DEFAULT_MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model", "3_3_3.model")


class Human:
    """A player whose moves a person types at the keyboard."""

    def __init__(self):
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        """Do nothing: this player keeps no state between games."""

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        """Ask for a move until the person types an empty point.

        Raises:
            EOFError: the input has ended.
        """
        while True:
            text = input("Your move (h,w): ")
            if not sys.stdin.isatty():  # moves from a file: echo them, so that the output reads like a typed game
                print(text.encode("ascii", "replace").decode())
            try:
                location = [int(part) for part in text.replace(",", " ").split()]
            except ValueError:
                location = []
            move = board.location_to_move(location) if len(location) == 2 else -1
            if move in board.availables:
                return move, None
            print(f'expected an empty point such as "{board.height // 2},{board.width // 2}"; got {text!r}')


def parse_board(text):
    """Read `WxHxN` (columns, rows, stones in a row) as three integers."""
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", text)
    if not match or not all(1 <= int(part) <= 30 for part in match.groups()):
        raise UsageError(f"expected --board as WIDTHxHEIGHTxN such as 3x3x3 or 11x11x5; got {text!r}")
    width, height, n_in_row = (int(part) for part in match.groups())
    if n_in_row > min(width, height):
        raise UsageError(f"expected a board of at least {n_in_row} by {n_in_row} for {n_in_row} in a row; got {text}")
    return width, height, n_in_row


def make_ai(options, board_sizes):
    """Return the AI that the options name, and the board (width, height, n_in_row) that it plays on."""
    if options.player == "minimax":
        if board_sizes not in (None, (15, 15, 5)):
            raise UsageError(f"expected --board 15x15x5, or no --board, with --player minimax; got {options.board}")
        return EnginePlayer(engine_at(options.engine)), (15, 15, 5)
    if options.player == "mcts":
        from AlphaZero.mcts_pure import MCTSPlayer as PureMCTSPlayer

        return PureMCTSPlayer(c_puct=5, n_playout=options.playouts or 1000), board_sizes or (3, 3, 3)
    from AlphaZero.mcts_alphaZero import MCTSPlayer
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    if board_sizes is None:
        width, height, _ = read_sizes(read_weights(options.model))
        if width != height:
            raise UsageError(f"expected --board, because the weights in {options.model} are not for a square board")
        board_sizes = (width, height, 3 if width == 3 else min(5, width))
    net = load_network(PolicyValueNet, options.model, *board_sizes[:2])
    handles = net.action_fc_test, net.evaluation_fc2_test
    return MCTSPlayer(net.policy_value_fn, *handles, c_puct=5, n_playout=options.playouts or 400), board_sizes


def play_in_window(game, ai, first):
    """Open the window and play.

    Raises:
        UsageError: the machine has no screen, or the AI failed.
        NotImplementedError, EngineError: the AI is not written yet, or the engine broke the protocol.
    """
    try:
        game.start_play_with_UI(ai, start_player=first)
    except RuntimeError as error:
        if isinstance(error.__cause__, (NotImplementedError, EngineError)):
            raise error.__cause__ from None
        raise UsageError(str(error)) from error


def main():
    """Parse the command line, then play one game in the terminal or open the window."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--player", choices=("alpha_zero", "mcts", "minimax"), default="alpha_zero", help="the AI")
    parser.add_argument(
        "--engine", default=DEFAULT_ENGINE, metavar="PROGRAM", help=f"the engine, for minimax (default {DEFAULT_ENGINE})"
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, metavar="FILE", help="weights for alpha_zero (default 3x3)")
    parser.add_argument("--board", metavar="WxHxN", help="columns x rows x stones in a row (default: as in the weights)")
    parser.add_argument("--playouts", type=int, metavar="N", help="playouts for each move (default 400; mcts 1000)")
    parser.add_argument("--start", choices=("human", "ai"), default="human", help="the player who moves first (default human)")
    parser.add_argument("--terminal", action="store_true", help="play in the terminal")
    options = parser.parse_args()
    if options.playouts is not None and options.playouts < 2:
        parser.error(f"expected --playouts of at least 2; got {options.playouts}")
    try:
        from Board.game_board import Board, Game

        ai, (width, height, n_in_row) = make_ai(options, parse_board(options.board) if options.board else None)
        game = Game(Board(width=width, height=height, n_in_row=n_in_row))
        first = 0 if options.start == "human" else 1
        try:
            if options.terminal:
                game.start_play(Human(), ai, start_player=first, is_shown=1, print_prob=False)
            else:
                play_in_window(game, ai, first)
        finally:
            ai.reset_player()
    except NotImplementedError as error:
        print(f"human_play.py: {first_unwritten(error)}.", file=sys.stderr)
        return 2
    except (UsageError, WeightsError, EngineError, ModuleNotFoundError) as error:
        print(f"human_play.py: {error}", file=sys.stderr)
        return 2
    except (EOFError, KeyboardInterrupt):
        print("\nThe game was left unfinished.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
