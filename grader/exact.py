"""Does an agent ever lose? It plays, as first and as second player, against EVERY line of replies on a small board.

`python -m grader.exact WEIGHTS` asks it of a 3x3 network under the grader's own search. A losing line is a game, from the
first move to the last, that the agent loses; the agent is deterministic, so their number is exact and needs no statistics.
One number of playouts proves little, since the count does not fall steadily with it; hence four by default.
Exit codes: 0 no losing line, 1 some, 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from Board.game_board import Board
from grader.trusted_network import forward, load_weights, read_sizes
from grader.trusted_search import Evaluation, most_visited, search_many

Line = tuple[int, ...]
ChooseMoves = Callable[[Sequence[Line]], Sequence[int]]
"""Games so far, as moves from the empty board -> the agent's move in each."""
PolicyValue = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""States [N, 9, H, W] -> (probs [N, W*H], values [N] or [N, 1] for the side to move)."""
EXAMPLES = 5
BATCH = 256


@dataclass
class LineCounts:
    """Games of an agent in one seat, by result; a game that the agent breaks off by an illegal move is lost.

    Attributes:
        losing_lines: some of the lost games, the illegal move included.
        illegal_choices: how many of the lost games ended by an illegal move.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    illegal_choices: int = 0
    losing_lines: list[Line] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return self.wins + self.draws + self.losses

    def lose(self, line: Line) -> None:
        """Count a lost game, and keep it if it is among the first."""
        self.losses += 1
        if len(self.losing_lines) < EXAMPLES:
            self.losing_lines.append(line)


@dataclass(frozen=True)
class ExactResult:
    """All games of an agent as first and as second player."""

    first: LineCounts
    second: LineCounts

    @property
    def losing_lines(self) -> int:
        return self.first.losses + self.second.losses


def play_all_replies(choose_moves: ChooseMoves, width: int = 3, height: int = 3, n_in_row: int = 3) -> ExactResult:
    """Play the agent against every reply, in both seats, breadth first so that its decisions come in batches.

    Games that reach the same position by other moves are kept apart: a network sees the last moves too.

    Args:
        choose_moves: asked for all open games of the same length at once.

    Raises:
        ValueError: the agent gave more or fewer moves than it was asked for.
    """
    return ExactResult(*(_play_seat(choose_moves, seat, (width, height, n_in_row)) for seat in (0, 1)))


def board_after(line: Line, size: tuple[int, int, int]) -> Board:
    """The position after the moves, on a board of (width, height, n_in_row)."""
    board = Board(width=size[0], height=size[1], n_in_row=size[2])
    board.init_board()
    for move in line:
        board.do_move(move)
    return board


def _play_seat(choose_moves: ChooseMoves, seat: int, size: tuple[int, int, int]) -> LineCounts:
    counts = LineCounts()
    open_lines: list[Line] = [()]
    while open_lines:
        agents_turn = len(open_lines[0]) % 2 == seat
        choices = [[int(move)] for move in choose_moves(open_lines)] if agents_turn else [None] * len(open_lines)
        following: list[Line] = []
        for line, choice in zip(open_lines, choices, strict=True):
            board = board_after(line, size)
            for move in choice or board.availables:
                after = board.copy()
                try:
                    after.do_move(move)
                except ValueError:
                    counts.illegal_choices += 1
                    counts.lose((*line, move))
                    continue
                ended, winner = after.game_end()
                if not ended:
                    following.append((*line, move))
                elif winner == -1:
                    counts.draws += 1
                elif winner == seat + 1:
                    counts.wins += 1
                else:
                    counts.lose((*line, move))
        open_lines = following
    return counts


def searching_agent(
    policy_value: PolicyValue, n_playout: int, c_puct: float = 5.0, size: tuple[int, int, int] = (3, 3, 3)
) -> ChooseMoves:
    """An agent that plays the most visited move of the grader's own search over a network; of equals, the lowest move.

    What the network said of a position is remembered, so one agent should be asked for all its games.

    Raises:
        ValueError: on a call, if the network answers with something that is not finite.
    """
    known: dict[Line, Evaluation] = {}

    def evaluate(leaves: Sequence[Board]) -> list[Evaluation]:
        # A board's stones are kept in the order they were placed, so they name the whole game.
        lines = [tuple(leaf.states) for leaf in leaves]
        new = {line: leaf for line, leaf in zip(lines, leaves, strict=True) if line not in known}
        if new:
            probs, values = policy_value(np.stack([leaf.current_state() for leaf in new.values()]))
            values = np.asarray(values).reshape(-1)
            if not (np.isfinite(probs).all() and np.isfinite(values).all()):
                raise ValueError("expected finite probabilities and values; the network gives others")
            for number, (line, leaf) in enumerate(new.items()):
                legal = leaf.availables
                known[line] = (list(zip(legal, probs[number][legal].tolist(), strict=True)), float(values[number]))
        return [known[line] for line in lines]

    def choose(lines: Sequence[Line]) -> list[int]:
        moves: list[int] = []
        for start in range(0, len(lines), BATCH):
            boards = [board_after(line, size) for line in lines[start : start + BATCH]]
            moves += [most_visited(root) for root in search_many(boards, evaluate, n_playout, c_puct)]
        return moves

    return choose


def network_agent(weights: dict[str, np.ndarray], n_playout: int, c_puct: float = 5.0) -> ChooseMoves:
    """`searching_agent` over weights alone, on the board that they belong to (3 in a row on 3x3)."""
    width, height, _ = read_sizes(weights)

    def policy_value(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_probs, values = forward(weights, states)
        return np.exp(log_probs), values

    return searching_agent(policy_value, n_playout, c_puct, (width, height, min(width, height)))


def main(arguments: list[str] | None = None) -> int:
    """Print the losing lines of a 3x3 network at each number of playouts."""
    parser = argparse.ArgumentParser(prog="python -m grader.exact", description=__doc__.split("\n\n")[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("--playouts", type=int, nargs="+", default=[100, 400, 800, 1600])
    parser.add_argument("--c-puct", type=float, default=5.0)
    options = parser.parse_args(arguments)
    try:
        weights = load_weights(options.weights)
        width, height, _ = read_sizes(weights)
        if (width, height) != (3, 3):
            raise ValueError(f"expected weights of a 3x3 board, whose games can all be played; got {width}x{height}")
        if min(options.playouts) < 2:
            raise ValueError(f"expected at least 2 playouts; got {min(options.playouts)}")
        print("playouts   losing lines   as first (of)   as second (of)")
        losing = 0
        for n_playout in options.playouts:
            result = play_all_replies(network_agent(weights, n_playout, options.c_puct))
            first, second = result.first, result.second
            losing += result.losing_lines
            seats = [f"{seat.losses} ({seat.lines})" for seat in (first, second)]
            print(f"{n_playout:8} {result.losing_lines:14} {seats[0]:>15} {seats[1]:>16}", flush=True)
            for line in [*first.losing_lines[:2], *second.losing_lines[:2]]:
                print(f"           for example {line}")
    except ValueError as error:
        print(f"exact: {error}", file=sys.stderr)
        return 2
    return 1 if losing else 0


if __name__ == "__main__":
    sys.exit(main())
