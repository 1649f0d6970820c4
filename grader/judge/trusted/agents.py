"""Count the lines that a network loses with the grader's own search when every line of replies is played (training/exact.py).

`python -m grader.judge.trusted.agents WEIGHTS` does this for a 3x3 network. A single number of playouts proves little, since
the number of losing lines does not fall steadily as playouts increase; the default is therefore four numbers. Exit codes: 0 no
losing lines, 1 some losing lines, 2 the call was wrong.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from Board.game_board import Board
from common.weights import load_weights, read_sizes
from grader.judge.trusted.network import evaluator
from grader.judge.trusted.search import Evaluation, best_move, search_many
from training.exact import ChooseMoves, Line, RememberedBoard, Size, play_all_replies

PolicyValue = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""States [N, 9, H, W] -> (probs [N, W*H], values [N] or [N, 1] for the side to move)."""
POSITIONS_AT_ONCE = 256


def searching_agent(policy_value: PolicyValue, n_playout: int, c_puct: float = 5.0, size: Size = (3, 3, 3)) -> ChooseMoves:
    """Return an agent that plays the most visited move of the grader's own search with a network; ties go to the lowest move.

    The agent caches the network's evaluations, so use one agent for all games.

    Raises:
        ValueError: raised by the agent when it is called, if the network's outputs are not finite.
    """
    beginning = RememberedBoard(*size)
    beginning.init_board()
    known: dict[Line, Evaluation] = {}

    def evaluate(leaves: Sequence[Board]) -> list[Evaluation]:
        # A board keeps its stones in the order of play, so they identify the game.
        lines = [tuple(leaf.states) for leaf in leaves]
        new = {line: leaf for line, leaf in zip(lines, leaves, strict=True) if line not in known}
        if new:
            probs, values = policy_value(np.stack([leaf.current_state() for leaf in new.values()]))
            values = np.asarray(values).reshape(-1)
            if not (np.isfinite(probs).all() and np.isfinite(values).all()):
                raise ValueError("expected finite probabilities and values; the network's are not")
            for number, (line, leaf) in enumerate(new.items()):
                legal = leaf.availables
                known[line] = (list(zip(legal, probs[number][legal].tolist(), strict=True)), float(values[number]))
        return [known[line] for line in lines]

    def choose(lines: Sequence[Line]) -> list[int]:
        moves: list[int] = []
        with without_collector():
            for start in range(0, len(lines), POSITIONS_AT_ONCE):
                boards = [beginning.after(line) for line in lines[start : start + POSITIONS_AT_ONCE]]
                moves += [best_move(root) for root in search_many(boards, evaluate, n_playout, c_puct, until_decided=True)]
        return moves

    return choose


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause Python's search for cycles of objects. Trees have none, and it looks through all their nodes again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def network_agent(weights: dict[str, np.ndarray], n_playout: int, c_puct: float = 5.0) -> ChooseMoves:
    """Return a `searching_agent` for the network with these weights, on a board of its size (3 in a row on 3x3)."""
    width, height, _ = read_sizes(weights)
    outputs = evaluator(weights)

    def policy_value(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_probs, values = outputs(states)
        return np.exp(log_probs), values

    return searching_agent(policy_value, n_playout, c_puct, (width, height, min(width, height)))


def main(arguments: list[str] | None = None) -> int:
    """Print the number of losing lines of a 3x3 network for each number of playouts."""
    parser = argparse.ArgumentParser(prog="python -m grader.judge.trusted.agents", description=__doc__.split("\n\n")[0])
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
        print(f"agents: {error}", file=sys.stderr)
        return 2
    return 1 if losing else 0


if __name__ == "__main__":
    sys.exit(main())
