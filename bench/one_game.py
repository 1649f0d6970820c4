"""Measure how fast a search of one game is: `python bench/one_game.py`, or `--boards 11x11 --playouts 400 --moves 4`.

For each of the handed-out networks, searches choose moves of one game on one core and take turns in it:

  all blocks       the reference's search, with the whole network, as a student's loop evaluates it
  student's loop   the same without the blocks that change nothing, as our programs load a network
  float32          with `training.single_game.FoldedPolicy` in float32
  fastest          the same in the fastest type and library
  leaves           `training.search.puct` with several leaves of the tree in each batch (--leaves)
  gumbel           `training.search.gumbel`, in which a batch has the playouts of a round

The table shows playouts per second, the ratio of `leaves` to the first, and in how many moves a search with FoldedPolicy counts
every move as often as the student's loop. Run this on a machine that does nothing else, or with `--cpu-time`.
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
from common.weights import read_sizes, read_weights
from games.gomoku.batch import GomokuBatch
from grader.assignment import ROOT
from training.inference.evaluators import InferenceNetwork, PositionCache
from training.search.gumbel import GumbelSearch, GumbelSettings
from training.search.puct import PuctSearch, PuctSettings
from training.single_game import FoldedPolicy

BOARDS = {"11x11": 11, "15x15": 15}
ALL, STUDENT, EXACT, FASTEST = "all blocks", "student's loop", "float32", "fastest"
LEAVES, GUMBEL = "leaves", "gumbel"


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


def seconds_in_batches(search: PuctSearch | GumbelSearch, board: Board, clock: Callable[[], float]) -> float:
    """Return the seconds that a search of one game takes which evaluates several leaves of its tree in a batch."""
    boards = GomokuBatch(1, board.width, board.height, board.n_in_row)
    for move in board.states:
        boards.play([move])
    started = clock()
    search.decide(boards, is_selfplay=False)
    return clock() - started


def measure(name: str, playouts: int, moves: int, leaves: int, clock: Callable[[], float]) -> Record:
    """Measure one board; print and return its row."""
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    size = BOARDS[name]
    path = str(ROOT / "model" / f"{size}_{size}_5.pt")
    net = load_network(PolicyValueNet, path, size, size)
    whole = PolicyValueNet(size, size, read_sizes(read_weights(path), size, size)[2], init_model=path)
    board = Board(width=size, height=size, n_in_row=5)
    board.init_board()
    how = ""
    took = dict.fromkeys((ALL, STUDENT, EXACT, FASTEST, LEAVES, GUMBEL), 0.0)
    same = dict.fromkeys((EXACT, FASTEST), 0)
    for _ in range(moves):
        policies: dict[str, Callable[..., Any]] = {
            ALL: whole.policy_value_fn,
            STUDENT: net.policy_value_fn,
            EXACT: FoldedPolicy(net, size, size, exact=True),
        }
        policies[FASTEST] = fastest = FoldedPolicy(net, size, size)
        how, found = fastest.description, {}
        for each, policy in policies.items():
            seconds, found[each] = counts_of(net, policy, board, playouts, clock)
            took[each] += seconds
        network = InferenceNetwork(net.model, size, size, dtype=None, batch_size=leaves)
        points, rng = board.width * board.height, np.random.default_rng(1)
        puct = PuctSearch(1, points, PositionCache(network), PuctSettings(playouts, 5.0, leaves=leaves), rng)
        took[LEAVES] += seconds_in_batches(puct, board, clock)
        gumbel = GumbelSearch(1, points, PositionCache(network), GumbelSettings(playouts), rng)
        took[GUMBEL] += seconds_in_batches(gumbel, board, clock)
        for each in same:
            same[each] += found[each] == found[STUDENT]
        board.do_move(max(found[STUDENT], key=lambda move: found[STUDENT][move]))
    rates = {each: moves * playouts / seconds for each, seconds in took.items()}
    speeds = "".join(f" {rate:{max(9, len(each))}.0f}" for each, rate in rates.items())
    ratio = rates[LEAVES] / rates[ALL]
    print(f"{name:>5}{speeds} {ratio:6.1f} {same[EXACT]:5} of {moves} {same[FASTEST]:5} of {moves}  {how}", flush=True)
    return {
        "board": name,
        "how": how,
        "leaves": leaves,
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
    parser.add_argument("--leaves", type=int, default=8, help="leaves in a batch (default 8)")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure CPU seconds instead of wall-clock time, for a busy machine"
    )
    add_record_option(parser, "one_game")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with reference_package():
        np.random.seed(1)
        print("board all blocks student's loop   float32   fastest    leaves    gumbel  ratio  same in float32, fastest")
        clock = time.process_time if options.cpu_time else time.perf_counter
        rows = [measure(name, options.playouts, options.moves, options.leaves, clock) for name in options.boards]
    if options.record is not None:
        command = f"python bench/one_game.py --boards {' '.join(options.boards)}"
        command += f" --playouts {options.playouts} --moves {options.moves} --leaves {options.leaves}"
        command += " --cpu-time" if options.cpu_time else ""
        write_record(
            options.record,
            {"command": command, "machine": machine(), "load": round(os.getloadavg()[0], 1), "rows": rows},
        )


if __name__ == "__main__":
    main()
