"""Does a trained network lose under your own search? `python -m training.losing_lines WEIGHTS` plays every line of replies.

It repeats the check at the end of train.py (handout 5.5) for any 3x3 network: your AlphaZero player plays with weights loaded
from a file, as first and as second player. One number of playouts proves little, since more playouts do not always lose fewer
lines, so several are tried.
Exit codes: 0 no losing line, 1 at least one, 2 the call was wrong.
"""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save
    expect_packages("losing_lines", "numpy", "torch")

import sys
from functools import partial

from common.program_ends import Parser, run_program
from common.student_network import load_network
from common.unwritten import students_faults_as_sentences
from training.exact import play_all_games, remembered, searching_player_agent

PLAYOUTS = (100, 400)
C_PUCT = 5


def main(arguments: list[str] | None = None) -> int:
    """Print the losing lines of a 3x3 network at each number of playouts; return the exit code."""
    return run_program("losing_lines", lambda: _run(arguments), starts_slowly=True)


def _run(arguments: list[str] | None) -> int:
    parser = Parser(prog="python -m training.losing_lines", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("weights", metavar="WEIGHTS", help="a file of weights for 3x3, such as model/best_policy.model")
    parser.add_argument("--playouts", type=int, nargs="+", default=PLAYOUTS)
    options = parser.parse_args(arguments)
    if min(options.playouts) < 2:
        parser.error(f"expected at least 2 playouts; got {min(options.playouts)}")
    with students_faults_as_sentences():
        losing = _print_table(options.weights, options.playouts)
    return 1 if losing else 0


def _print_table(path: str, playouts: list[int]) -> int:
    import torch

    from AlphaZero.mcts_alphaZero import MCTSPlayer
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    torch.set_num_threads(1)  # more threads slow down a small network
    net = load_network(PolicyValueNet, path, 3, 3)
    evaluate = remembered(net.policy_value_fn)
    print("playouts   losing lines   as first   as second")
    losing = 0
    for n_playout in playouts:
        handles = net.action_fc_test, net.evaluation_fc2_test
        new_player = partial(MCTSPlayer, evaluate, *handles, c_puct=C_PUCT, n_playout=n_playout, is_selfplay=0)
        result = play_all_games(searching_player_agent(new_player))
        first, second = result.first, result.second
        losing += result.losing_lines
        print(f"{n_playout:8} {result.losing_lines:14} {first.losses:10} {second.losses:11}", flush=True)
        for line in [*first.losing_lines[:2], *second.losing_lines[:2]]:
            print(f"           for example {line}")
    return losing


if __name__ == "__main__":
    sys.exit(main())
