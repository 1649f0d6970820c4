"""Measure how fast the board is: `python bench/board.py` prints microseconds and ratios to a plain model of the same rules.

The boards have 3, 8, 11 and 15 points a side and 0, 10, 60 and 120 stones, where these fit without a winner. Measured are
do_move + game_end, current_state and copy, and from the empty board a random rollout (copy, then random moves until the end).
The plain model checks the lines through every stone after every move, fills its planes from lists and is copied by
`copy.deepcopy`. Both play the same moves, and the run stops if they ever disagree. Each figure is the best of several repeats,
since other programs can only add time.
"""

from __future__ import annotations

import copy
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from arena.match.records import machine
from Board.game_board import Board
from common.program_ends import Parser

SIZES = (3, 8, 11, 15)
STONES = (0, 10, 60, 120)
MOVES_AT_ONCE = 20
ATTEMPTS = 2000


class PlainBoard:
    """The rules in their simplest form: only the moves are stored, and everything else is computed from them."""

    def __init__(self, width: int, height: int, n_in_row: int) -> None:
        self.width, self.height, self.n_in_row = width, height, n_in_row
        self.states: dict[int, int] = {}
        self.moves: list[tuple[int, int]] = []
        self.availables = list(range(width * height))
        self.current_player = 1

    def do_move(self, move: int) -> None:
        self.states[move] = self.current_player
        self.moves.append((move, self.current_player))
        self.availables.remove(move)
        self.current_player = 3 - self.current_player

    def has_a_winner(self) -> tuple[bool, int]:
        width, height, n = self.width, self.height, self.n_in_row
        for move, player in self.states.items():
            h, w = divmod(move, width)
            for dh, dw in ((0, 1), (1, 0), (1, 1), (1, -1)):
                if h + dh * (n - 1) < height and 0 <= w + dw * (n - 1) < width:
                    step = dh * width + dw
                    if all(self.states.get(move + i * step) == player for i in range(1, n)):
                        return True, player
        return False, -1

    def game_end(self) -> tuple[bool, int]:
        won, winner = self.has_a_winner()
        return won or not self.availables, winner

    def current_state(self) -> np.ndarray:
        planes = np.zeros((9, self.height, self.width))
        for offset, player in ((0, 3 - self.current_player), (1, self.current_player)):
            moves = np.array([move for move, who in self.moves if who == player], dtype=int)
            for back in range(4):
                seen = moves[: max(0, len(moves) - back)]
                planes[offset + 2 * back, seen // self.width, seen % self.width] = 1.0
        if len(self.moves) % 2 == 0:
            planes[8] = 1.0
        return planes[:, ::-1, :]

    def copy(self) -> PlainBoard:
        return copy.deepcopy(self)


def line_length(size: int) -> int:
    """Return how many stones in a row win on a board of this size."""
    return 3 if size == 3 else 5


def undecided_game(size: int, stones: int) -> list[int] | None:
    """Return random moves that put `stones` stones on the board without a winner, or None if no such game is found."""
    if stones > size * size - 1:
        return None
    rng = random.Random(size * 1000 + stones)
    for _ in range(ATTEMPTS):
        board = new_board(Board, size)
        while len(board.states) < stones:
            quiet = (move for move in rng.sample(board.availables, len(board.availables)) if not wins(board, move))
            move = next(quiet, None)
            if move is None:
                break
            board.do_move(move)
        else:
            return list(board.states)
    return None


def wins(board: Board, move: int) -> bool:
    """Return whether a move would win the game."""
    after = board.copy()
    after.do_move(move)
    return after.has_a_winner()[0]


def new_board(kind: type, size: int, moves: list[int] | None = None) -> Any:
    """Return a square board of one of the two kinds after these moves."""
    board = kind(width=size, height=size, n_in_row=line_length(size))
    for move in moves or []:
        board.do_move(move)
    return board


def best_us(task: Callable[[], float], repeats: int) -> float:
    """Return the best time of one operation in microseconds; `task` returns the nanoseconds that one operation took."""
    return min(task() for _ in range(repeats)) / 1000


def time_moves(board: Any, moves: list[int], rounds: int) -> Callable[[], float]:
    """Return a task that times do_move + game_end; each move is made on a new copy, so the number of stones stays the same."""

    def task() -> float:
        pairs = [(board.copy(), move) for move in moves * rounds]
        start = time.perf_counter_ns()
        for fresh, move in pairs:
            fresh.do_move(move)
            fresh.game_end()
        return (time.perf_counter_ns() - start) / len(pairs)

    return task


def time_calls(call: Callable[[], object], rounds: int) -> Callable[[], float]:
    """Return a task that times many calls of a method without arguments."""

    def task() -> float:
        start = time.perf_counter_ns()
        for _ in range(rounds):
            call()
        return (time.perf_counter_ns() - start) / rounds

    return task


def rollout(board: Any, seed: int) -> tuple[int, int]:
    """Play random moves on a copy until the game ends; return (number of moves, winner)."""
    choice = random.Random(seed).choice
    board = board.copy()
    ended, winner = board.game_end()
    moves = 0
    while not ended:
        board.do_move(choice(board.availables))
        ended, winner = board.game_end()
        moves += 1
    return moves, winner


def time_rollouts(board: Any, seeds: range) -> Callable[[], float]:
    """Return a task that times rollouts with these seeds."""

    def task() -> float:
        start = time.perf_counter_ns()
        for seed in seeds:
            rollout(board, seed)
        return (time.perf_counter_ns() - start) / len(seeds)

    return task


def check_agreement(board: Board, plain: PlainBoard, seeds: range) -> None:
    """Raise AssertionError if the two boards disagree."""
    same_planes = np.array_equal(board.current_state(), plain.current_state())
    if not same_planes or any(rollout(board, seed) != rollout(plain, seed) for seed in seeds):
        raise AssertionError(f"the board and the plain model disagree on {board.width}x{board.height}")


def measure(size: int, stones: int, moves: list[int], repeats: int) -> list[tuple[str, float, float]]:
    """Measure one position; return rows of (operation, microseconds of the board, microseconds of the plain model)."""
    board, plain = new_board(Board, size, moves), new_board(PlainBoard, size, moves)
    check_agreement(board, plain, range(3))
    free = board.availables
    tried = random.Random(1).sample(free, min(MOVES_AT_ONCE, len(free)))
    few = max(2, repeats // 4)
    rows = [
        (
            "do_move + game_end",
            best_us(time_moves(board, tried, -(-200 // len(tried))), repeats),
            best_us(time_moves(plain, tried, 1), few),
        ),
        (
            "current_state",
            best_us(time_calls(board.current_state, 300), repeats),
            best_us(time_calls(plain.current_state, 50), few),
        ),
        ("copy", best_us(time_calls(board.copy, 300), repeats), best_us(time_calls(plain.copy, 20), few)),
    ]
    if not stones:
        seeds = range(10)
        rows.append(("rollout", best_us(time_rollouts(board, seeds), repeats), best_us(time_rollouts(plain, seeds), few)))
    return rows


def main() -> int:
    """Measure everything and print one table."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=20, help="repeats of each measurement; the best counts (default 20)")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"expected --repeats of at least 1; got {options.repeats}")
    here = machine()
    print(f"{here['processor']}, {here['cores']} cores, {here['system']}, Python {here['python']}, numpy {np.__version__}")
    print(f"best of {options.repeats} repeats\n")
    print(f"{'board':>7} {'stones':>6}  {'what':18} {'us':>9} {'plain us':>10} {'ratio':>7}")
    for size in SIZES:
        for stones in STONES:
            moves = undecided_game(size, stones)
            if moves is None:
                continue
            for what, fast, slow in measure(size, stones, moves, options.repeats):
                print(f"{f'{size}x{size}':>7} {stones:6}  {what:18} {fast:9.2f} {slow:10.1f} {slow / fast:6.1f}x", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
