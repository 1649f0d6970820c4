"""Measure how soon and how reliably train.py gives a perfect tic-tac-toe agent: `python bench/train_3x3.py --seeds 1 2 3`.

For each seed this repeats the training of `python train.py --seed SEED` exactly, with the reference or a submission. It prints
the CPU seconds of this process for training and for the exact search that tests the network. `--set` and `--without` change
one thing to measure its effect. `--go-on` continues after the first verified network to see whether later networks lose again.
`--judge` tests each best network with searches that were not used in training: the grader's own, and the player's with newly
drawn random symmetries. `--weights` keeps the networks. `--record` writes the results to bench/records/train_3x3.json, from
which bench/tables.py makes the tables of docs/training.md; a row replaces that of the same submission, setting and seed.
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
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from network_tables import setting_of
from recording import Record, add_record_option, earlier_record, merged, write_record

from arena.match.records import machine
from common.errors import UsageError
from common.program_ends import Parser
from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.judge.trusted.agents import searching_agent
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace
from training.exact import play_all_games, play_all_replies, remembered, searching_player_agent

REFERENCE = ROOT / "instructor" / "reference"
COMMAND = "python bench/train_3x3.py --seeds SEED, with --set, --without, --games or --submission as in the row"


class Look(NamedTuple):
    """What an exact test saw: the games so far, the losing lines in the last count, the CPU seconds so far."""

    games: int
    losing_lines: int
    training_cpu_s: float
    exact_cpu_s: float


def row_of(options: argparse.Namespace, seed: int, looks: Sequence[Look]) -> Record:
    """Return the row of the record for one training; `games` is null if no network was verified.

    Args:
        options: the command line.
        seed: the seed of the training.
        looks: all exact tests of the training, at least one.
    """
    row: Record = {"submission": options.submission.resolve().name}
    if options.set:
        row["set"] = {name: list(value) if isinstance(value, tuple) else value for name, value in options.set}
    if options.without:
        row["without"] = sorted(options.without)
    last = looks[-1]
    row |= {"seed": seed, "games": last.games if last.losing_lines == 0 else None}
    if row["games"] is None:
        counts = [look.losing_lines for look in looks]
        row |= {"limit": options.games, "fewest_losing_lines": min(counts)}
        row["last_five_looks"] = {"fewest": min(counts[-5:]), "most": max(counts[-5:])}
    return row | {"training_cpu_s": round(last.training_cpu_s, 3), "exact_cpu_s": round(last.exact_cpu_s, 3)}


def record_training(path: Path, row: Record, torch_version: str) -> None:
    """Write a row to a record, in place of that of the same submission, setting and seed."""
    here = {**machine(), "torch": torch_version, "threads": 1}
    new = {"command": COMMAND, "machine": here, "rows": [row]}
    earlier = earlier_record(path, COMMAND)
    write_record(path, merged(earlier, new, key=lambda row: (row["submission"], setting_of(row), row["seed"])))


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
            look = Look(self.games_played, losing, now - self.started - self.exact_s, self.exact_s)
            self.looks.append(look)
            print(
                f"{self.seed:6} {look.games:6} {look.training_cpu_s:9.1f} {look.exact_cpu_s:9.1f} {losing:7} {n_playout:9}",
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
    pipeline.best_network.force = True  # the network of the seed before is not needed here
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
    shutil.copytree(REFERENCE, both)
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
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--games", type=int, default=800, help="end a training run after this many games (default 800)")
    parser.add_argument("--submission", type=Path, default=REFERENCE, help="a submission to lay over the reference")
    parser.add_argument(
        "--set", type=setting, nargs="+", default=[], metavar="NAME=VALUE", help="set attributes of the pipeline"
    )
    parser.add_argument("--without", nargs="+", default=[], choices=["augmentation", "symmetry", "noise"])
    parser.add_argument("--go-on", action="store_true", help="continue training after the first verified network")
    parser.add_argument(
        "--judge", type=int, default=0, metavar="N", help="test the verified network with N draws of the symmetries"
    )
    parser.add_argument("--weights", type=Path, metavar="FOLDER", help="keep each best network there, as SEED.model")
    add_record_option(parser, "train_3x3")
    options = parser.parse_args()
    if options.record and options.go_on:
        parser.error("expected --record without --go-on, which trains on after the first verified network")
    try:
        earlier_record(options.record, COMMAND)
    except UsageError as error:
        parser.error(str(error))
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
        from training.loop.command import seed_run

        for seed in options.seeds:
            seed_run(seed)
            started = time.process_time()
            pipeline = measured_pipeline(options)
            pipeline.seed, pipeline.started, pipeline.rows, pipeline.looks = seed, started, sys.stdout, []
            with contextlib.redirect_stdout(sys.stderr):
                pipeline.run()
            ends.append((seed, pipeline.best, pipeline.verified, time.process_time() - started))
            if options.record and (pipeline.verified or pipeline.games_played >= options.games):  # not interrupted by a person
                record_training(options.record, row_of(options, seed, pipeline.looks), torch.__version__)
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
