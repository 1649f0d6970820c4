"""Part 2 of the assignment as an engine: the search of AlphaZero/ behind the course's line protocol.

    python Minimax/python_player.py alphazero --model model/best_policy.model --playouts 400
    python Minimax/python_player.py mcts --playouts 1000
    python Minimax/python_player.py mcts --playouts 200 --gtp nogo

AlphaZero/ and Board/ are taken from the current folder if it contains AlphaZero/__init__.py, otherwise from the tree that
contains this program. A match starts this program for the agents `alphazero:FILE?playouts=N` and `mcts:playouts=N`.

With --gtp gomoku, nogo or go, the player speaks the Go Text Protocol instead and plays that game, without a swap
(arena.engine.gtp_server). NoGo and Go are for the pure search; agent_player.py plays them with networks.

The player runs a fixed number of playouts and does not look at the clock: choose a number that fits the time for a move.

Black's first stone is chosen by the same search, restricted to the central 7x7.

The swap. White's second turn begins with a search for white's best stone. The value of that stone is its mean Q in the search
tree, for this player, who would place the stone. If the value is below zero, white is behind: the player swaps and takes the
better side. This program reads the tree at `mcts._root`, just before `mcts.update_with_move` throws it away. AlphaZero/ is the
student's code, so the tree may not be readable there; then there is no value and the player does not swap. Since white takes
the better side, black's second stone should not be the strongest one: black chooses a stone after which neither side is ahead
(`even_move`), by short searches that together take about as many playouts as a move. The pure search has no network and places
the strongest stone.

Environment variables: GOMOKU_BOARD_SIZE (default 15), GOMOKU_SEED, GOMOKU_OPENING (black's first stone), GOMOKU_NO_SWAP (never
swap), GOMOKU_POSITION (stones that are already on the board).
Exit codes: 0 the end of the input, 2 the call was wrong or AlphaZero/ is not written yet, 130 interrupted, 141 nobody reads
the answers.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, os.getcwd() if os.path.isfile("AlphaZero/__init__.py") else sys.path[0])

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")

# Each game has one core. numpy and torch read these variables when they are imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import numpy as np

from arena.engine.engine_process import POSITION_TAKEN
from arena.engine.gtp_server import GtpServer, Rules, serve
from arena.engine.specs import BACKENDS
from arena.rules import FIVE, SIZE, SWAP, Action, centre, from_line, to_line
from Board.game_board import SWAP_STONES, Board
from common.errors import UsageError
from common.program_ends import run_program
from common.search_tree import kept_roots
from common.student_network import load_network
from common.unwritten import students_faults_as_sentences
from common.weights import read_sizes, read_weights
from games.catalog import rules_of

LARGEST = 30
GTP_NAMES = {"gomoku": "Gomoku", "nogo": "NoGo", "go": "Go"}
GTP_SIZE = 9
EVEN = -0.1  # a search of some 100 playouts gives the side to move about 0.1 less than one of 3000 does (15x15, 25 positions)


class OpeningBoard(Board):
    """A board that offers only the centre for the first stone, and every empty point after that."""

    def __init__(self, size: int) -> None:
        super().__init__(width=size, height=size, n_in_row=FIVE)
        self.init_board()
        self.availables = [h * size + w for h in centre(size) for w in centre(size)]

    def do_move(self, move: int) -> None:
        is_first = not self.states
        super().do_move(move)
        if is_first:
            self.availables = [point for point in range(self.width * self.height) if point != move]


class Seat:
    """A search that plays one side of a game.

    Args:
        player: a player from AlphaZero/, which searches.
        side: 0 for black, 1 for white.
        size: the number of points on each side of the board.
        opening: black's first stone, if it is prescribed.
        may_swap: whether white's second action may be a swap.
        even_move: a function that chooses black's second stone if white may swap; None leaves the choice to the search.
    """

    def __init__(
        self,
        player: Any,
        side: int,
        size: int,
        opening: Action | None = None,
        may_swap: bool = True,
        even_move: Callable[[Board], int] | None = None,
    ) -> None:
        self._player, self._side, self._size = player, side, size
        self._opening, self._may_swap, self._even_move = opening, may_swap, even_move
        self._board = Board(width=size, height=size, n_in_row=FIVE)
        self._board.init_board()
        player.set_player_ind(self._board.players[side])
        player.reset_player()

    def set_stone(self, point: Action) -> None:
        """Place one stone of a given position for the side to move.

        Raises:
            ValueError: the stone is not legal.
        """
        self._board.do_move(self._board.location_to_move([point[1], point[0]]))

    def answer(self, action: Action) -> Action:
        """Carry out the opponent's action and return this player's answer.

        Raises:
            UsageError: the opponent's action is not legal.
        """
        board = self._board
        if action != SWAP:
            try:
                self.set_stone(action)
            except ValueError:
                raise UsageError(f"expected an empty point of the board; got {action[0]} {action[1]}") from None
        elif board.states:
            try:
                board.swap_colours()
            except ValueError as error:
                raise UsageError(str(error)) from None
        move = self._choose()
        if move is None:
            board.swap_colours()
            return SWAP
        board.do_move(move)
        return move % self._size, move // self._size

    def _choose(self) -> int | None:
        """Choose this player's move; return None to swap."""
        board = self._board
        if not board.states:
            if self._opening is not None:
                return board.location_to_move([self._opening[1], self._opening[0]])
            return search(self._player, OpeningBoard(self._size))[0]
        if self._even_move and self._may_swap and self._side == 0 and len(board.states) == SWAP_STONES - 1:
            return self._even_move(board)
        move, value = search(self._player, board.copy())
        swaps = self._may_swap and self._side == 1 and len(board.states) == SWAP_STONES
        return None if swaps and value is not None and value < 0 else move


def gtp_rules(game: str, superko: bool, size: int, komi: float) -> Rules:
    """Return the rules of a game for a GTP server; five in a row win in Gomoku.

    Raises:
        ValueError: the game has no such board, or no such komi.
    """
    try:
        return rules_of(game, size, size, n_in_row=FIVE, komi=komi, superko=superko)
    except UsageError as error:
        raise ValueError(str(error)) from None


class GtpPlayer:
    """A search from AlphaZero/ behind a GTP server. It begins each move with a new tree, since moves may be taken back.

    Args:
        kind: "alphazero" or "mcts".
        playouts: the number of playouts for each move.
        make: makes the search for boards of a size; WeightsError if it cannot play on them.
    """

    def __init__(self, kind: str, playouts: int, make: Callable[[int], Any]) -> None:
        self.name, self.version, self._make = kind, str(playouts), make
        self._size = 0

    def prepare(self, rules: Rules) -> None:
        """See `arena.engine.gtp_server.ServedPlayer`."""
        size = rules.width
        if size != self._size:
            self._player = self._make(size)
            self._size = size

    def seed(self, seed: int) -> None:
        """See `arena.engine.gtp_server.ServedPlayer`."""
        seed_everything(str(seed))

    def choose(self, position: Any) -> int:
        """See `arena.engine.gtp_server.ServedPlayer`."""
        self._player.set_player_ind(position.get_current_player())
        self._player.reset_player()
        return int(self._player.get_action(position, is_selfplay=False, print_probs_value=0)[0])


def search(player: Any, board: Board) -> tuple[int, float | None]:
    """Return the player's move and the move's mean value in [-1, 1] in the tree, for the side to move; None if it has no value.

    get_action may throw the tree away by calling `mcts.update_with_move`, so the root is saved before each such call.
    """
    mcts = player.mcts
    with kept_roots(mcts) as roots:
        move, _ = player.get_action(board, is_selfplay=False, print_probs_value=0)
    move = int(move)
    values = [value_at(root, move) for root in [*roots, getattr(mcts, "_root", None)]]
    return move, next((value for value in reversed(values) if value is not None), None)


def value_at(root: Any, move: int) -> float | None:
    """Return the mean value of a root's move; None if it was not visited, or the tree cannot be read.

    Q is for the player who moved into the node, the side to move at its parent, the root.
    """
    try:
        node = root._children[move]
        return float(np.reshape(node._Q, -1)[0]) if node._n_visits > 0 else None
    except (AttributeError, LookupError, TypeError, ValueError):  # a student's tree, which may be of another kind
        return None


def even_move(net: Any, player: Any, board: Board) -> int:
    """Return the point after which a short search gives white's best answer the value nearest to EVEN.

    The network evaluates all points in one batch. A binary search along the order of these values then looks for the place
    where neither side is ahead any more: at most `searches_of_even_move` short searches, one for each point tried. The network
    alone decides only if the search's tree cannot be read, since where it sees an even game, a search often sees white ahead.

    Args:
        net: the network.
        player: a player that makes the short searches.
        board: the position with black to move.
    """
    points, states = list(board.availables), []
    for point in points:
        after = board.copy()
        after.do_move(point)
        states.append(after.current_state())
    _, values = net.policy_value(np.array(states), net.action_fc_test, net.evaluation_fc2_test)
    raw_values = np.reshape(values, -1)  # for white, who moves next
    best_for_black_first = np.argsort(raw_values, kind="stable")
    searched: dict[int, float] = {}
    low, high = 0, len(points)
    while low < high:
        middle = (low + high) // 2
        point = points[best_for_black_first[middle]]
        after = board.copy()
        after.do_move(point)
        player.set_player_ind(after.get_current_player())
        player.reset_player()
        _, value = search(player, after)
        if value is None:
            return points[int(np.abs(raw_values).argmin())]
        searched[point] = value
        low, high = (low, middle) if value > EVEN else (middle + 1, high)
    return min(searched, key=lambda point: abs(searched[point] - EVEN))


def searches_of_even_move(size: int) -> int:
    """Return the most searches that `even_move` makes on a board of this size."""
    return (size * size).bit_length()


def make_network(model: str, size: int) -> Any:
    """Load these weights into the network from AlphaZero/, and make torch use one thread.

    Raises:
        UsageError: the weights do not fit.
        NotImplementedError: the network is not written yet.
    """
    import torch

    from AlphaZero.policy_value_net_torch import PolicyValueNet

    torch.set_num_threads(1)
    return load_network(PolicyValueNet, model, size, size)


def fast_policy(net: Any, size: int, backend: Any, model: str) -> Any:
    """Return the network's `policy_value_fn`, computed as fast as this machine can, and say on standard error how.

    Args:
        net: the network.
        size: the size of its board.
        backend: what computes it, one of BACKENDS; auto is the fastest, and int8 comes from a file beside the weights.
        model: the file of its weights.

    Raises:
        UsageError: this tree has no module for it, the backend is not available, or the network cannot be folded.
    """
    try:
        from training.single_game import FoldedPolicy

        policy = FoldedPolicy(net, size, size, backend=backend, weights=model)
    except ModuleNotFoundError:
        raise UsageError("expected training/single_game.py for --fast, which only the course's repository has") from None
    except ValueError as error:
        raise UsageError(f"--fast: {error}") from None
    print(f"The network is computed by {policy.description}.", file=sys.stderr)
    return policy


def make_player(net: Any, playouts: int, policy_value_fn: Any = None) -> Any:
    """Make the AlphaZero player with this network, or the pure MCTS player if `net` is None.

    Args:
        policy_value_fn: what the search calls in place of the network's own.

    Raises:
        NotImplementedError: the search is not written yet.
    """
    if net is None:
        from AlphaZero.mcts_pure import MCTSPlayer as PureMCTSPlayer

        return PureMCTSPlayer(c_puct=5, n_playout=playouts)
    from AlphaZero.mcts_alphaZero import MCTSPlayer

    policy = policy_value_fn or net.policy_value_fn
    return MCTSPlayer(policy, net.action_fc_test, net.evaluation_fc2_test, c_puct=5, n_playout=playouts)


def seed_everything(seed: str) -> None:
    """Seed all random generators."""
    number = int(seed) % 2**32
    random.seed(number)
    np.random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def number_from(name: str, default: int, least: int, most: int) -> int:
    """Read an integer from an environment variable.

    Raises:
        UsageError: it is not an integer, or out of range.
    """
    text = os.environ.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise UsageError(f"expected {name} from {least} to {most}; got {text!r}")
    return int(text)


def opening_from(size: int) -> Action | None:
    """Read GOMOKU_OPENING; return None if it does not name a point of the central area."""
    try:
        x, y = from_line(os.environ.get("GOMOKU_OPENING", ""))
    except ValueError:
        return None
    return (x, y) if x in centre(size) and y in centre(size) else None


def position_from() -> list[Action]:
    """Read the stones in GOMOKU_POSITION, in the order of play.

    Raises:
        UsageError: it is not a list of points.
    """
    words = os.environ.get("GOMOKU_POSITION", "").split()
    try:
        numbers = [int(word) for word in words]
        return list(zip(numbers[::2], numbers[1::2], strict=True))
    except ValueError:
        raise UsageError(f"expected GOMOKU_POSITION to give x y of each stone; got {' '.join(words)[:60]!r}") from None


def converse(name: str, player: Any, even: Callable[[Board], int] | None, size: int, lines: TextIO, say: TextIO) -> None:
    """Speak the line protocol until the input ends; for `even`, the choice of black's second stone, see `Seat`.

    Raises:
        UsageError: a line does not follow the protocol or the rules.
    """
    first = lines.readline().strip()
    if not first:
        return
    if first not in ("0", "1"):
        raise UsageError(f"expected 0 or 1 as the first line; got {first[:40]!r}")
    seat = Seat(player, int(first), size, opening_from(size), "GOMOKU_NO_SWAP" not in os.environ, even)
    position = position_from()
    try:
        for point in position:
            seat.set_stone(point)
    except ValueError:
        raise UsageError(f"expected GOMOKU_POSITION to be a position on {size}x{size}; got {position}") from None
    say.write(f"{name} {POSITION_TAKEN}\n" if position else f"{name}\n")
    say.flush()
    for line in lines:
        try:
            action = from_line(line)
        except ValueError:
            raise UsageError(f"expected two numbers such as 7 7; got {line.strip()[:40]!r}") from None
        say.write(to_line(seat.answer(action)))
        say.flush()


def converse_gtp(options: argparse.Namespace, backend: str | None, lines: TextIO, say: TextIO) -> None:
    """Speak the Go Text Protocol until quit or the end of the input.

    Raises:
        NotImplementedError: the search or the network is not written yet.
        UsageError: the game is not played on the board of the weights.
        WeightsError: the weights cannot be read.
    """
    game, model, playouts = options.gtp, options.model, options.playouts
    make_rules = partial(gtp_rules, game, options.superko)
    size = SIZE if game == "gomoku" else GTP_SIZE
    if model is not None:
        size = read_sizes(read_weights(model))[0]
    empty = rules_of(game, size, size, n_in_row=FIVE).position()

    def make(wanted: int) -> Any:
        net = None if model is None else make_network(model, wanted)
        return make_player(net, playouts, None if backend is None else fast_policy(net, wanted, backend, model))

    # A short search comes first: it reports code that is not written yet before the game.
    trial = make_player(None if model is None else make_network(model, size), 2)
    trial.set_player_ind(1)
    trial.get_action(empty, is_selfplay=False, print_probs_value=0)
    player = GtpPlayer("mcts" if model is None else "alphazero", playouts, make)

    def send(text: str) -> None:
        say.write(text)
        say.flush()

    serve(GtpServer(GTP_NAMES[game], make_rules, player, size), lines, send)


def speak(options: argparse.Namespace, backend: str | None, answers: TextIO) -> None:
    """Make the player and speak the protocol that the options name.

    Raises:
        NotImplementedError, UsageError, WeightsError: see `converse` and `converse_gtp`.
    """
    if options.gtp is not None:
        converse_gtp(options, backend, sys.stdin, answers)
        return
    size = number_from("GOMOKU_BOARD_SIZE", SIZE, FIVE, LARGEST)
    seed = number_from("GOMOKU_SEED", 0, 0, 2**63)
    # A short search comes first: it reports code that is not written yet before the game, and warms up the network.
    net = None if options.model is None else make_network(options.model, size)
    search(make_player(net, 2), OpeningBoard(size))
    policy = None if backend is None else fast_policy(net, size, backend, options.model)
    player = make_player(net, options.playouts, policy)
    if "GOMOKU_SEED" in os.environ:
        seed_everything(str(seed))
    choose_even = None
    if net is not None:
        short = max(2, options.playouts // searches_of_even_move(size))
        choose_even = partial(even_move, net, make_player(net, short, policy))
    converse(f"{options.kind} {options.playouts}", player, choose_even, size, sys.stdin, answers)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, then make the player and speak its protocol.

    Raises:
        UsageError: the call was wrong, or AlphaZero/ is not written yet.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kind", choices=("alphazero", "mcts"), help="the search of AlphaZero/ to use")
    parser.add_argument("--model", metavar="FILE", help="weights file, for alphazero")
    parser.add_argument("--playouts", type=int, default=400, metavar="N", help="playouts for each move (default 400)")
    parser.add_argument("--fast", action="store_true", help="compute the network as fast as possible (training.single_game)")
    parser.add_argument("--backend", choices=BACKENDS, help="with --fast: what computes the network (default: auto)")
    parser.add_argument("--gtp", choices=GTP_NAMES, metavar="GAME", help="speak GTP and play gomoku, nogo or go")
    parser.add_argument("--superko", action="store_true", help="with --gtp go, forbid the repetition of any earlier position")
    options = parser.parse_args(arguments)
    if options.gtp not in (None, "gomoku") and options.kind == "alphazero":
        parser.error(f"expected mcts with --gtp {options.gtp}; the network of alphazero plays only Gomoku")
    if options.playouts < 2:
        parser.error(f"expected --playouts of at least 2; got {options.playouts}")
    if (options.kind == "alphazero") != (options.model is not None):
        parser.error("expected --model with alphazero, and no --model with mcts")
    if options.fast and options.model is None:
        parser.error("expected --fast with alphazero; mcts has no network")
    if options.backend is not None and not options.fast:
        parser.error("expected --fast with --backend; without it, the network's own code computes")
    backend = (options.backend or "auto") if options.fast else None
    answers = sys.stdout
    # Whatever the student's code prints must not mix with the answers.
    with redirect_stdout(sys.stderr), students_faults_as_sentences():
        try:
            speak(options, backend, answers)
        except ModuleNotFoundError as error:
            raise UsageError(str(error)) from error
    return 0


if __name__ == "__main__":
    sys.exit(run_program("python_player.py", main))
