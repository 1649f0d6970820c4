"""Measure training steps: `python bench/training_steps.py`, or `--boards 9x9 --rounds 5`.

Each row is one board, with the course's network of 6 blocks: samples per CPU second of its train_step under autocast to
bfloat16, first as the network comes, then with the layout and the memory of self-play runs (`training.inference.networks`,
`training.freed_memory`), and the ratio. Each measurement has a process of its own, since what the C library does with freed
memory holds for a whole process; the rounds alternate, and the medians count. A processor without bfloat16 takes float32, and
so does any with --float32.

With --faded N, each block has N dead channels whose weights have become subnormal, as after thousands of steps with weight
decay; runs take such numbers as 0 (`common.subnormals`).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common.program_ends import Parser, run_program

BOARDS = {"5x5": (5, 5, 4), "9x9": (9, 9, 5), "11x11": (11, 11, 5), "15x15": (15, 15, 5)}
BLOCKS = 6
WAYS = ("as it comes", "as in runs")


def fade(network: Any, channels: int) -> None:
    """Make the first channels of each residual block dead, with subnormal weights that stay as they are in training."""
    import torch

    with torch.no_grad():
        for block in network.model.resnet:
            block[0].weight[:channels] = 1e-39
            block[1].bias[:channels] = -10.0  # so the channel is 0 after the relu, and gets no gradient


def measure(options: argparse.Namespace) -> float:
    """Return the samples per CPU second of training steps in this process."""
    import numpy as np
    import torch
    from reference_package import reference_package

    from common.subnormals import flush_subnormals
    from games.gomoku.rules import GomokuRules
    from training.freed_memory import keep_freed_memory
    from training.inference.networks import TrainableNetwork, trainable_network
    from training.selfplay.learner import learns_faster_in_bfloat16

    torch.set_num_threads(1)
    batch, steps = options.batch, options.steps
    rules, rng = GomokuRules(*BOARDS[options.boards[0]]), np.random.default_rng(1)
    with reference_package():
        if options.one == WAYS[0]:
            from AlphaZero.policy_value_net_torch import PolicyValueNet

            network: TrainableNetwork = PolicyValueNet(rules.width, rules.height, BLOCKS)
        else:
            keep_freed_memory()
            flush_subnormals()
            network = trainable_network("course", rules, BLOCKS, 64)
        fade(network, options.faded)
        states = rng.integers(0, 2, (batch, rules.planes, rules.height, rules.width)).astype(np.float32)
        probs = rng.dirichlet(np.ones(rules.actions), batch).astype(np.float32)
        winners = rng.choice([-1.0, 1.0], batch).astype(np.float32)
        in_bfloat16 = not options.float32 and learns_faster_in_bfloat16(network, rules, batch)
        with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16):
            for _ in range(3):
                network.train_step(states, probs, winners, 1e-3)
            began = time.process_time()
            for _ in range(steps):
                network.train_step(states, probs, winners, 1e-3)
    return batch * steps / (time.process_time() - began)


def main() -> int:
    """Measure each board in each way, or print one measurement for another process of this program."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--boards", nargs="+", choices=BOARDS, default=list(BOARDS))
    parser.add_argument("--batch", type=int, default=128, metavar="N", help="samples of a step (default 128)")
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="timed steps of a measurement (default 10)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="measurements of each way (default 3)")
    parser.add_argument("--float32", action="store_true", help="take float32, as a processor without bfloat16 does")
    parser.add_argument("--faded", type=int, default=0, metavar="N", help="dead channels of each block, of 64 (default 0)")
    parser.add_argument("--one", choices=WAYS, help="print one measurement of the first board, in this process")
    options = parser.parse_args()
    if options.one:
        print(measure(options))
        return 0
    print(f"board  {WAYS[0]:>12}  {WAYS[1]:>12}  ratio")
    for board in options.boards:
        command = [sys.executable, __file__, *sys.argv[1:], "--boards", board]
        rates: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way in WAYS:
                run = subprocess.run(
                    [*command, "--one", way],
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                rates[way].append(float(run.stdout))
        before, now = (statistics.median(rates[way]) for way in WAYS)
        print(f"{board:5}  {before:12.0f}  {now:12.0f}  {now / before:5.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_program("training_steps.py", main))
