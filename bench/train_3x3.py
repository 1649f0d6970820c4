"""Measure how soon and how reliably train.py gives a perfect tic-tac-toe agent: `python bench/train_3x3.py --seeds 1 2 3`.

For each seed this repeats the training of `python train.py --seed SEED` exactly, with the reference or a submission. It prints
the CPU seconds of this process for training and for the exact search that tests the network. `--set` and `--without` change
one thing to measure its effect. `--go-on` continues after the first verified network to see whether later networks lose again.
`--judge` tests each best network with searches that were not used in training: the grader's own, and the player's with newly
drawn random symmetries. `--weights` keeps the networks.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import platform
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.assignment import ROOT, load_assignment
from grader.judge.trusted.agents import searching_agent
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace
from training.exact import play_all_games, play_all_replies, remembered, searching_player_agent


def measured_pipeline(options: argparse.Namespace) -> Any:
    """Return a TrainPipeline of the workspace that prints a row at each exact test, changed as the options say."""
    import train
    from AlphaZero import mcts_alphaZero

    class Measured(train.TrainPipeline):
        exact_s = 0.0

        def get_equi_data(self, play_data: Any) -> Any:
            return list(play_data) if "augmentation" in options.without else super().get_equi_data(play_data)

        def find_losing_lines(self: Any) -> Any:
            started = time.process_time()
            passed, losing, n_playout = super().find_losing_lines()
            now = time.process_time()
            self.exact_s += now - started
            print(
                f"{self.seed:6} {self.games_played:6} {now - self.started - self.exact_s:9.1f} {self.exact_s:9.1f} "
                f"{losing:7} {n_playout:9}",
                file=self.rows,
                flush=True,
            )
            if self.games_played >= options.games:
                raise KeyboardInterrupt  # ends training early and saves; game_batch_num would change the learning rate
            return passed, losing, n_playout

    pipeline: Any = Measured()
    if "symmetry" in options.without:
        pipeline.policy_value_net.policy_value_fn_random = (
            pipeline.policy_value_net.policy_value_fn
        )  # the average network is unchanged
    if "noise" in options.without:
        mcts_alphaZero.DIRICHLET_EPSILON = 0.0
    for name, value in options.set:
        setattr(pipeline, name, value)
    pipeline.data_buffer = type(pipeline.data_buffer)(maxlen=pipeline.buffer_size)
    pipeline.stop_when_verified = not options.go_on
    return pipeline


def judge(pipeline: Any, draws: int) -> None:
    """Print the losing lines of the verified network for each number of playouts.

    The grader's search uses the evaluations of policy_value. The player's search uses those of policy_value_fn_random, and is
    repeated with `draws` different draws of the symmetries.
    """
    net = pipeline.average_net
    net.restore_model("model/best_policy.model")
    for n_playout in (100, 400, 800, 1600):
        agent = searching_agent(lambda states: net.policy_value(states, net.action_fc_test, net.evaluation_fc2_test), n_playout)
        counts = [play_all_replies(agent).losing_lines]
        for _ in range(draws):
            new_player = partial(pipeline.make_player, remembered(net.policy_value_fn_random), 0, n_playout)
            counts.append(play_all_games(searching_player_agent(new_player, alike=True)).losing_lines)
        print(
            f"{pipeline.seed:6} {n_playout:6} playouts: the grader's search {counts[0]}, policy_value_fn_random "
            f"{' '.join(map(str, counts[1:]))}",
            flush=True,
        )


def lay_out(submission: Path, folder: Path) -> Path:
    """Build a workspace from the framework and the reference, with the submission's files laid over it; return its folder."""
    both = folder / "submission"
    shutil.copytree(ROOT / "instructor" / "reference", both)
    shutil.copytree(submission, both, dirs_exist_ok=True)
    assignment = load_assignment()
    return build_workspace(assignment, read_submission(both, assignment), folder / "workspace")


def setting(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE, where the value is a Python literal."""
    name, found, value = text.partition("=")
    try:
        if not found:
            raise ValueError
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError) as error:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE with a number or a tuple; got {text!r}") from error


def main() -> int:
    """Parse the command line, train with every seed in a workspace, and print a summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--games", type=int, default=800, help="end a training run after this many games (default 800)")
    parser.add_argument(
        "--submission", type=Path, default=ROOT / "instructor" / "reference", help="a submission to lay over the reference"
    )
    parser.add_argument(
        "--set", type=setting, nargs="+", default=[], metavar="NAME=VALUE", help="set attributes of the pipeline"
    )
    parser.add_argument("--without", nargs="+", default=[], choices=["augmentation", "symmetry", "noise"])
    parser.add_argument("--go-on", action="store_true", help="continue training after the first verified network")
    parser.add_argument(
        "--judge", type=int, default=0, metavar="N", help="test the verified network with N draws of the symmetries"
    )
    parser.add_argument("--weights", type=Path, metavar="FOLDER", help="keep each best network there, as SEED.model")
    options = parser.parse_args()
    if options.weights:
        options.weights = options.weights.resolve()
        options.weights.mkdir(parents=True, exist_ok=True)
    import torch

    print(f"One thread, torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}")
    print("  seed  games CPU s: training  exact  losing  playouts")
    ends = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = lay_out(options.submission, Path(folder))
        os.chdir(workspace)
        sys.path.insert(0, str(workspace))
        import train

        for seed in options.seeds:
            train.seed_everything(seed)
            started = time.process_time()
            pipeline = measured_pipeline(options)
            pipeline.seed, pipeline.started, pipeline.rows = seed, started, sys.stdout
            with contextlib.redirect_stdout(sys.stderr):
                pipeline.run()
            ends.append((seed, pipeline.best, pipeline.verified, time.process_time() - started))
            if options.weights and pipeline.best:
                shutil.copy("model/best_policy.model", options.weights / f"{seed}.model")
            if options.judge and pipeline.verified:
                judge(pipeline, options.judge)
        os.chdir(ROOT)
    for seed, best, verified, cpu_s in ends:
        print(f"seed {seed}: {cpu_s:.0f} CPU s, {'verified' if verified else 'NOT verified'}, best {best}")
    return 0 if all(verified for _, _, verified, _ in ends) else 1


if __name__ == "__main__":
    sys.exit(main())
