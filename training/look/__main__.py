"""`python -m training.look` looks into a search of AlphaZero/: numbers per move, the tree, the first playouts on a page.

`--example` shows the worked example of handout section 5.4, for which nothing has to be written yet.
Exit codes: 0 done, 2 the call was wrong, or the search is not written yet; 130 after Ctrl-C.
"""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from Board.game_board import Board
from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import on_screen
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED
from common.search_tree import SeenNode
from common.student_network import load_network
from common.unwritten import students_faults_as_sentences
from common.weights import read_sizes, read_weights, stated_board
from training.exact import remembered
from training.look.recorded_search import NewPlayer, Playout, first_playouts, is_for_the_player_to_move, searched_tree, turned
from training.look.search_page import GENERATOR, Subject, render_search, render_tree
from training.look.search_text import heat_map, table_of_moves, tree_lines
from training.look.worked_example import C_PUCT, LABELS, example_playouts

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_MODEL = ROOT / "model" / "3_3_3.model"
LARGEST = 26


def read_board(text: str, moves: str) -> Board:
    """Return the position after some moves on a board such as 3x3x3.

    Raises:
        UsageError: there is no such board, a move cannot be played, or the game is over.
    """
    match = re.fullmatch(r"(\d{1,2})x(\d{1,2})x(\d{1,2})", text)
    sizes = [int(part) for part in match.groups()] if match else [0]
    if not all(1 <= size <= LARGEST for size in sizes) or sizes[2] > min(sizes[:2]):
        raise UsageError(f"expected --board as WIDTHxHEIGHTxN such as 3x3x3, at most {LARGEST}x{LARGEST}; got {text!r}")
    board = Board(width=sizes[0], height=sizes[1], n_in_row=sizes[2])
    board.init_board()
    for word in re.sub(r"[\[\],]", " ", moves).split():
        if not (word.isascii() and word.isdigit() and len(word) < 5 and int(word) in board.availables):
            raise UsageError(f"expected --position as numbers of empty points, h * width + w, such as '4 0 8'; got {word!r}")
        board.do_move(int(word))
    if board.game_end()[0]:
        raise UsageError(f"expected a position in which the game goes on; after {moves} it is over")
    return board


@dataclass(frozen=True)
class Searcher:
    """A search of AlphaZero/.

    Attributes:
        value_of: the network's value of a position for the side to move; None without a network.
        board: the board, as `--board` names it, if the command line names none.
    """

    new_player: NewPlayer
    value_of: Callable[[Board], float] | None = None
    board: str = "3x3x3"


def make_searcher(options: argparse.Namespace) -> Searcher:
    """Return the search that the command line names."""
    if options.pure:
        from AlphaZero.mcts_pure import MCTSPlayer as PureMCTSPlayer

        return Searcher(lambda playouts: PureMCTSPlayer(c_puct=options.c_puct, n_playout=playouts))
    from AlphaZero.mcts_alphaZero import MCTSPlayer
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    width, height, _ = read_sizes(read_weights(options.model))
    net = load_network(PolicyValueNet, str(options.model), width, height)
    evaluate, handles = remembered(net.policy_value_fn), (net.action_fc_test, net.evaluation_fc2_test)

    def new_player(playouts: int) -> Any:
        return MCTSPlayer(evaluate, *handles, c_puct=options.c_puct, n_playout=playouts)

    def value_of(board: Board) -> float:
        return float(np.reshape(evaluate(board, *handles)[1], -1)[0])

    usual = width, height, 3 if width == 3 else min(5, width, height)
    return Searcher(new_player, value_of, "{}x{}x{}".format(*(stated_board(options.model, width, height) or usual)))


def look(options: argparse.Namespace) -> tuple[SeenNode, list[Playout], Subject]:
    """Search, and return the tree, the first playouts, and what was searched."""
    if options.example:
        playouts = example_playouts()
        subject = Subject("Four playouts: the example of section 5.4", read_board("3x3x3", ""), C_PUCT, LABELS.__getitem__)
        return playouts[-1].after, playouts, subject
    searcher = make_searcher(options)
    board = read_board(options.board or searcher.board, options.position)
    kind = "Pure MCTS" if options.pure else f"AlphaZero with {options.model.name}"
    after = f", after the moves {', '.join(map(str, board.states))}" if board.states else ""
    size = f"{board.width}x{board.height}, {board.n_in_row} in a row"
    subject = Subject(f"{kind}: {options.playouts} playouts on {size}{after}", board, options.c_puct, rolls_out=options.pure)
    tree = searched_tree(searcher.new_player(options.playouts), board, options.depth, options.seed)
    playouts = first_playouts(searcher.new_player, board, min(options.first, options.playouts), options.seed)
    if is_for_the_player_to_move(tree, board, searcher.value_of):
        print("This search keeps Q for the player to move; here it is shown for the player who moved into a node.\n")
        return turned(tree), [playout.turned() for playout in playouts], subject
    return tree, playouts, subject


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = Parser(prog="python -m training.look", description="Show a search of AlphaZero/ on a page.")
    made.add_argument("--example", action="store_true", help="show the worked example of handout section 5.4")
    made.add_argument("--pure", action="store_true", help="pure MCTS (default: AlphaZero with --model)")
    made.add_argument("--model", type=Path, default=DEFAULT_MODEL, metavar="FILE", help="weights (default model/3_3_3.model)")
    made.add_argument("--board", metavar="WxHxN", help="columns x rows x stones in a row (default: as in the weights)")
    made.add_argument(
        "--position", "--moves", default="", metavar="MOVES", help="search after these moves, such as '4 0 8' (default: none)"
    )
    made.add_argument("--playouts", type=int, default=400, metavar="N", help="playouts of the search (default 400)")
    made.add_argument("--c-puct", type=float, default=5.0, metavar="C", help="weight of the bonus (default 5)")
    made.add_argument("--first", type=int, default=8, metavar="K", help="how many playouts to show step by step (default 8)")
    made.add_argument("--depth", type=int, default=2, metavar="D", help="how deep the tree is shown (default 2)")
    made.add_argument("--seed", type=int, default=1, help="seed of the random moves (default 1)")
    made.add_argument("--out", type=Path, default=Path("search.html"), metavar="FILE.html", help="the page to write")
    made.add_argument("--svg", type=Path, metavar="FILE.svg", help="draw the tree to --depth as a picture, too")
    return made


def require_sizes(options: argparse.Namespace) -> None:
    """Raise a UsageError unless the numbers of the command line make sense."""
    for name, least, most in (("playouts", 2, 100_000), ("first", 0, 50), ("depth", 1, 8), ("seed", 0, 2**32 - 1)):
        if not least <= (value := getattr(options, name)) <= most:
            raise UsageError(f"expected --{name} from {least} to {most}; got {value}")
    if not 0 <= options.c_puct <= 1e6:
        raise UsageError(f"expected --c-puct from 0 to 1000000; got {options.c_puct:g}")


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, search, print the numbers and write the page."""
    options = command_line().parse_args(arguments)
    try:
        with students_faults_as_sentences():
            require_sizes(options)
            tree, playouts, subject = look(options)
            page = render_search(tree, playouts, subject, options.depth)
            print(on_screen(subject.title))
            for lines in (
                table_of_moves(tree, subject.name),
                heat_map(tree, subject.board),
                tree_lines(tree, subject.name, options.depth),
            ):
                print()
                print("\n".join(lines))
            write_own("--out", options.out, page)
            if options.svg is not None:
                write_own("--svg", options.svg, render_tree(tree, subject, options.depth))
    except (UsageError, ModuleNotFoundError) as error:
        hint = " --example needs none of your code." if isinstance(error.__cause__, NotImplementedError) else ""
        print(f"look: {error}{hint}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("look: stopped; no page was written.", file=sys.stderr)
        return INTERRUPTED
    print(on_screen(f"\nStep by step: {options.out}"))
    if options.svg is not None:
        print(on_screen(f"The tree: {options.svg}"))
    return 0


def write_own(option: str, path: Path, text: str) -> None:
    """Write a file, or replace an earlier one of this program.

    Raises:
        UsageError: the file is something else, or it cannot be written.
    """
    try:
        if path.exists() and GENERATOR not in path.read_text(encoding="utf-8", errors="replace")[:1000]:
            raise UsageError(
                f"expected a new file for {option}, or one that this program wrote; {path} is neither and stays as it is"
            )
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(run_program("look", main))
