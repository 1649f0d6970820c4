"""How surely train.py reaches a tic-tac-toe agent that never loses: `python bench/train_3x3.py --seeds 1 2 3`.

For each seed it is the training of `python train.py --seed SEED` over the reference, to the letter: at every evaluation the
network is put under the grader's search as well, and the lines of replies that it loses are counted (grader/exact.py). Printed
are CPU seconds of the training alone, on one thread. What matters is the first row with no losing line, and whether the rows
after it stay there.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from grader.assignment import ROOT, load_assignment
from grader.exact import play_all_replies, searching_agent
from grader.submission import read_submission
from grader.workspace import build_workspace


def train(seed: int, games: int, playouts: list[int]) -> tuple[int, float] | None:
    """One training in the current folder, a row for each evaluation.

    Returns:
        (games, CPU seconds) at the first network without a losing line at the last of `playouts`, or None.
    """
    import train

    class Measured(train.TrainPipeline):  # type: ignore[misc]
        judging_s = 0.0
        first: tuple[int, float] | None = None

        def check(self) -> float:
            win_ratio = super().check()
            now = time.process_time()
            net = self.policy_value_net

            def policy_value(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                return net.policy_value(states, net.action_fc_test, net.evaluation_fc2_test)  # type: ignore[no-any-return]

            losing = [play_all_replies(searching_agent(policy_value, n)).losing_lines for n in playouts]
            trained_s = now - started - self.judging_s
            self.judging_s += time.process_time() - now
            counts = " ".join(f"{count:12}" for count in losing)
            print(f"{seed:6} {self.games_played:6} {trained_s:8.0f} {counts}", file=rows, flush=True)
            if losing[-1] == 0 and self.first is None:
                self.first = self.games_played, trained_s
            if self.games_played >= games:
                raise KeyboardInterrupt  # what ends a training early and saves
            return float(win_ratio)

    rows = sys.stdout
    train.seed_everything(seed)
    started = time.process_time()
    pipeline = Measured()
    with contextlib.redirect_stdout(sys.stderr):
        pipeline.run()
    return pipeline.first


def main() -> int:
    """Parse the command line, train every seed in a workspace of the reference, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--games", type=int, default=800, help="self-play games of each training (default 800)")
    parser.add_argument("--playouts", type=int, nargs="+", default=[100, 400], help="of the exact search (default 100 400)")
    options = parser.parse_args()
    import torch

    print(f"One thread, torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}")
    print("  seed  games    CPU s " + " ".join(f"lost at {n:4}" for n in options.playouts))
    assignment = load_assignment()
    with tempfile.TemporaryDirectory() as folder:
        workspace = build_workspace(
            assignment, read_submission(ROOT / "instructor" / "reference", assignment), Path(folder) / "workspace"
        )
        os.chdir(workspace)
        sys.path.insert(0, str(workspace))
        firsts = {seed: train(seed, options.games, options.playouts) for seed in options.seeds}
        os.chdir(ROOT)
    for seed, first in firsts.items():
        reached = f"after {first[0]} games, {first[1]:.0f} CPU s" if first else f"not within {options.games} games"
        print(f"seed {seed}: no losing line at {options.playouts[-1]} playouts {reached}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
