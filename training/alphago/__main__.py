"""python -m training.alphago STAGE [--config FILE] [--run FOLDER] ...: the stages of AlphaGo, one after the other."""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save

import argparse
import hashlib
import sys
from pathlib import Path

from common.errors import UsageError
from common.locks import held_folder
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED
from common.subnormals import flush_subnormals
from training.alphago.config import StagesConfig
from training.alphago.mixed import run_search
from training.alphago.patterns import run_rollout
from training.alphago.reinforce import Reinforce
from training.alphago.runs import read_stage_result, samples_of, write_stage_result
from training.alphago.value import run_value
from training.freed_memory import keep_freed_memory
from training.inference.networks import read_model
from training.supervised import learning
from training.supervised.dataset import GamesError
from training.supervised.settings import CallError

STAGES = {
    "supervised": "train the policy on the teacher's games",
    "rollout": "learn the fast policy of rollouts from the teacher's games",
    "reinforce": "improve the policy in games against earlier versions of itself",
    "value": "train the value network on games of the improved policy",
    "search": "compare searches with the value network, with rollouts and with both",
}


def run_supervised(config: StagesConfig, run: Path, games: list[str]) -> int:
    """Run the supervised stage with training.supervised, and return its exit code."""
    folder = run / "supervised"
    if (folder / "checkpoint.pt").exists() and isinstance(samples_of(folder), str):
        raise CallError(f"expected an empty folder {folder} for a policy that learns; it holds one from --policy")
    resume = (folder / "checkpoint.pt").exists()
    if not learning.train_in_folder(config.supervised, games, folder, resume, "the same command continues the stage"):
        return INTERRUPTED
    state = learning.load_checkpoint(folder / "checkpoint.pt")
    held_back = {name: round(value, 4) for name, value in state["held_back"].items()}
    counts = {name: round(state[name]) for name in ("samples", "positions", "cpu_s")}
    write_stage_result(folder, {**counts, "held_back": held_back})
    return 0


def take_policy(config: StagesConfig, run: Path, weights: Path) -> None:
    """Take a saved network, such as the best one of a run of self-play, in place of the supervised policy.

    Raises:
        CallError: the run has another policy already.
        UsageError: the file does not hold weights of a network for this game and board.
    """
    folder = run / "supervised"
    model = read_model(str(weights), config.rules)
    checksum = hashlib.sha256(weights.read_bytes()).hexdigest()
    origin = f"weights with the checksum {checksum}"
    if (folder / "checkpoint.pt").exists() and samples_of(folder) != origin:
        raise CallError(f"expected a run without a policy, or with this one, in {run}; {folder} holds another policy")
    folder.mkdir(parents=True, exist_ok=True)
    learning.save_checkpoint(folder / "checkpoint.pt", {"model": model.state_dict(), "samples": origin})
    write_stage_result(folder, {"policy": str(weights), "sha256": checksum})


def run_reinforce(config: StagesConfig, run: Path) -> None:
    """Run the policy gradient; Ctrl-C saves its state."""
    training = Reinforce(config, run)
    try:
        training.run()
    except KeyboardInterrupt:
        training.save()
        raise


def run_stage(config: StagesConfig, options: argparse.Namespace) -> None:
    """Run a stage other than the training of the supervised policy."""
    if options.stage == "supervised":
        take_policy(config, options.run, options.policy)
    elif options.stage == "rollout":
        run_rollout(config, options.run, options.games)
    elif options.stage == "reinforce":
        run_reinforce(config, options.run)
    elif options.stage == "value":
        run_value(config, options.run, options.compare, options.floor)
    else:
        run_search(config, options.run)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, and run or continue a stage."""
    parser = Parser(prog="training.alphago", description="AlphaGo's stages (docs/training.md).")
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    for name, text in STAGES.items():
        stage = stages.add_parser(name, help=text, description=f"{text}; the same command continues an interrupted stage")
        stage.add_argument("--config", type=Path, default="training/configs/alphago_9.toml", metavar="FILE")
        stage.add_argument("--run", type=Path, default="runs/alphago_9", metavar="FOLDER", help="folder of all stages")
        stage.add_argument("--seed", type=int, metavar="N", help="instead of the seed in the settings; the same for all stages")
        if name == "supervised":
            source = stage.add_mutually_exclusive_group(required=True)
            source.add_argument("--games", nargs="+", metavar="FILE", help="the teacher's games")
            source.add_argument("--policy", type=Path, metavar="FILE", help="weights to take instead of training")
        if name == "rollout":
            stage.add_argument("--games", nargs="+", required=True, metavar="FILE", help="the teacher's games")
        if name == "value":
            stage.add_argument("--compare", action="store_true", help="also train on all positions of the games")
            stage.add_argument("--floor", action="store_true", help="also measure how much of the error is chance")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    flush_subnormals()
    try:
        config = StagesConfig.read(options.config)
        if options.seed is not None:
            config = config.seeded(options.seed)
        if options.stage == "supervised" and options.games:
            if code := run_supervised(config, options.run, options.games):  # locks the folder as training.supervised does
                return code
        else:
            folder = options.run / options.stage
            with held_folder(folder, by="training"):
                run_stage(config, options)
        for name, value in read_stage_result(options.run / options.stage).items():
            print(f"{name}: {value}")
    except (CallError, UsageError, GamesError, NotImplementedError) as error:
        print(f"training.alphago: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"training.alphago: {error.filename or options.run} cannot be used: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted; the same command continues the stage.", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(run_program("training.alphago", main))
