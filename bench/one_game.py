"""Measure how fast a search of one game is: `python bench/one_game.py`, or `--boards 11x11 --playouts 400 --moves 4`.

For each of the handed-out networks, the reference's search chooses moves of one game on one core: with the network as a
student's loop evaluates it, and with `training.single_game.FoldedPolicy`, once in the network's own type and once in the
fastest. They take turns in the same game. The table shows playouts per second, the ratio of the last to the first, and in how
many moves a fast search counts every move as often as the student's loop. Run this on a machine that does nothing else, or with
`--cpu-time`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from recording import Record, add_record_option, write_record
from reference_package import reference_package

from arena.match.records import machine
from Board.game_board import Board
from common.program_ends import Parser
from common.student_network import load_network
from grader.assignment import ROOT
from training.single_game import FoldedPolicy

BOARDS = {"11x11": 11, "15x15": 15}
STUDENT, EXACT, FASTEST = "student's loop", "float32", "fastest"


def counts_of(
    net: Any, policy: Callable[..., Any], board: Board, playouts: int, clock: Callable[[], float]
) -> tuple[float, dict[int, int]]:
    """Return the seconds that a search from an empty tree takes, and its root's visits."""
    from AlphaZero.mcts_alphaZero import MCTS

    search = MCTS(policy, net.action_fc_test, net.evaluation_fc2_test, is_selfplay=False, c_puct=5, n_playout=playouts)
    started = clock()
    for _ in range(playouts):
        search._playout(board.copy())
    return clock() - started, {move: child._n_visits for move, child in search._root._children.items()}


def measure(name: str, playouts: int, moves: int, clock: Callable[[], float]) -> Record:
    """Measure one board; print and return its row."""
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    size = BOARDS[name]
    net = load_network(PolicyValueNet, str(ROOT / "model" / f"{size}_{size}_5.pt"), size, size)
    board = Board(width=size, height=size, n_in_row=5)
    board.init_board()
    how = ""
    took, same = dict.fromkeys((STUDENT, EXACT, FASTEST), 0.0), dict.fromkeys((EXACT, FASTEST), 0)
    for _ in range(moves):
        policies: dict[str, Callable[..., Any]] = {
            STUDENT: net.policy_value_fn,
            EXACT: FoldedPolicy(net, size, size, exact=True),
        }
        policies[FASTEST] = fastest = FoldedPolicy(net, size, size)
        how, found = fastest.description, {}
        for each, policy in policies.items():
            seconds, found[each] = counts_of(net, policy, board, playouts, clock)
            took[each] += seconds
        for each in same:
            same[each] += found[each] == found[STUDENT]
        board.do_move(max(found[STUDENT], key=lambda move: found[STUDENT][move]))
    rates = {each: moves * playouts / seconds for each, seconds in took.items()}
    print(
        f"{name:>5} {rates[STUDENT]:14.0f} {rates[EXACT]:9.0f} {rates[FASTEST]:9.0f} {rates[FASTEST] / rates[STUDENT]:6.1f}"
        f" {same[EXACT]:5} of {moves} {same[FASTEST]:5} of {moves}  {how}",
        flush=True,
    )
    return {
        "board": name,
        "how": how,
        "moves": moves,
        "playouts_per_s": {k: round(v, 1) for k, v in rates.items()},
        "same": same,
    }


def main() -> None:
    """Parse the command line and measure board after board."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--boards", nargs="+", choices=BOARDS, default=list(BOARDS))
    parser.add_argument("--playouts", type=int, default=400, help="playouts for each move (default 400)")
    parser.add_argument("--moves", type=int, default=6, help="moves of the game (default 6)")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure CPU seconds instead of wall-clock time, for a busy machine"
    )
    add_record_option(parser, "one_game")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with reference_package():
        np.random.seed(1)
        print("board student's loop   float32   fastest  ratio  same in float32, fastest")
        clock = time.process_time if options.cpu_time else time.perf_counter
        rows = [measure(name, options.playouts, options.moves, clock) for name in options.boards]
    if options.record is not None:
        command = f"python bench/one_game.py --boards {' '.join(options.boards)}"
        command += f" --playouts {options.playouts} --moves {options.moves}"
        command += " --cpu-time" if options.cpu_time else ""
        write_record(
            options.record,
            {"command": command, "machine": machine(), "load": round(os.getloadavg()[0], 1), "rows": rows},
        )


if __name__ == "__main__":
    main()
