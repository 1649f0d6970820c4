"""Long self-play runs: python -m training.selfplay PRESET --run FOLDER, then --run FOLDER --resume (docs/training.md).

The command writes to FOLDER:

    config.json                 the settings
    checkpoint.pt               network, optimiser, counters, evaluations; always replaced as a whole
    games.jsonl, positions.bin  every game, and the latest positions to learn from
    networks/, best.model       the evaluated networks, and the best of them (without a gate, the latest)
    metrics.csv, elo.csv, sgf/  training progress, Elo of the networks above pure MCTS, sample games
    curves.png, tensorboard/    written only if matplotlib and tensorboardX are installed (requirements-runs.txt)

After Ctrl-C or a kill, --resume continues the run; only games in flight are lost. Settings may be changed on resuming, except
for those on which the files depend.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from arena.engine.cores import available_cores
from common.errors import UsageError
from common.locks import held_folder
from common.program_ends import Parser
from common.program_starts import INTERRUPTED
from common.subnormals import flush_subnormals
from common.weights import WeightsError, read_sizes, read_weights, without_idle_blocks
from training.freed_memory import keep_freed_memory
from training.inference.networks import read_game_model, structured_model
from training.inference.other_board import on_other_board
from training.old_settings import with_current_names
from training.selfplay.learner import Learner
from training.selfplay.presets import DEFAULTS, LASTING, RUN_PRESETS, RunConfig, add_options, changed, option
from training.selfplay.run_report import missing_packages
from training.selfplay.workers import Crew, InlineCrew, ProcessCrew

SEED_LIMIT = 2**31


def settings(options: argparse.Namespace) -> RunConfig:
    """Return the settings of the run, from the command line and either a preset or config.json.

    Raises:
        UsageError: the settings contradict each other or cannot be read, or --resume does not match the folder.
    """
    path = options.run / "config.json"
    if not options.resume:
        if _holds_a_run(options.run):
            raise UsageError(f"expected a new folder without --resume; {options.run} already holds a run")
        if options.preset is None:
            raise UsageError(f"expected one of {', '.join(RUN_PRESETS)} for a new run; got no preset")
        return changed(replace(RUN_PRESETS[options.preset], seed=secrets.randbelow(SEED_LIMIT)), options)
    try:
        recorded = with_current_names(json.loads(path.read_text(encoding="utf-8")))
        before = RunConfig(**DEFAULTS | recorded)
    except FileNotFoundError:
        raise UsageError(f"expected a run to continue in {options.run}; there is none") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"expected the settings of a run in {path}; {error}") from None
    config = changed(before, options)
    say_defaults(config, recorded)
    for name in LASTING:
        if (now := getattr(config, name)) != (was := getattr(before, name)):
            raise UsageError(f"expected {option(name)} {was}, as when {options.run} was started; got {now}")
    return config


def _holds_a_run(folder: Path) -> bool:
    """Return whether a new run would write over files of another one, perhaps of another program.

    A start of this program that was killed before it wrote config.json leaves positions.bin beside its other files.
    """
    begun = ("config.json", "metrics.csv")
    of_others = () if (folder / "positions.bin").exists() else ("checkpoint.pt", "games.jsonl")
    return any((folder / name).exists() for name in (*begun, *of_others))


def say_defaults(config: RunConfig, recorded: Mapping[str, Any]) -> None:
    """Say which settings a run does not record because it was begun before they existed, and what they are now."""
    values = [f"{option(name)} {value}" for name, value in asdict(config).items() if name not in recorded]
    if values:
        print(
            f"The run was begun before these settings existed, and goes on with {', '.join(values)}.",
            file=sys.stderr,
        )


def first_weights(config: RunConfig) -> dict[str, Any] | None:
    """Return the weights to start from, from a file or made by structure; None for ordinary random weights.

    Raises:
        UsageError, WeightsError: the file holds no weights, or weights for another depth or, of a network whose heads belong
            to a board and that is not the course's, for another board.
    """
    if config.init_model and config.network != "course":
        return read_game_model(config.init_model, config.rules()).state_dict()
    if not config.init_model:
        if not config.structured_start:
            return None
        torch.manual_seed(config.seed)
        return structured_model(config.network, config.rules(), config.blocks, config.filters).state_dict()
    weights = read_weights(config.init_model)
    width, height, blocks = read_sizes(weights)
    if blocks > config.blocks:
        weights = without_idle_blocks(weights)
        blocks = read_sizes(weights)[2]
    if blocks != config.blocks:
        raise UsageError(f"expected weights of {config.blocks} blocks in {config.init_model}; they have {blocks}")
    if width * height == config.board_width * config.board_height:
        return weights
    print(
        f"The weights in {config.init_model} are for a board of {width} x {height} points; the run begins with their "
        "convolutions, and with dense layers that treat each point like one as far from the edges.",
        file=sys.stderr,
    )
    return on_other_board(weights, (width, height), (config.board_width, config.board_height))


def make_run(config: RunConfig, options: argparse.Namespace, weights: dict[str, Any] | None) -> Learner:
    """Start a run (from weights or from scratch), or continue one.

    Raises:
        UsageError: the weights to start from do not fit, or the files of the run are damaged.
    """
    try:
        run = Learner(config, options.run, weights)
    except NotImplementedError:
        raise  # caught here because it is a subclass of RuntimeError
    except RuntimeError as error:
        if weights is None:
            raise
        reason = str(error).splitlines()[-1].strip()
        raise UsageError(f"expected weights of this network in {config.init_model}; {reason}") from error
    if options.resume:
        run.resume()
        run.write_config()
    else:
        run.begin()
    return run


def make_crew(run: Learner, options: argparse.Namespace) -> Crew:
    """Make the members that play, as the command line specifies."""
    seeds = (run.config.seed, run.replay.starts)
    if options.ray_address:
        from training.selfplay.ray_workers import RayCrew

        return RayCrew(run.config, seeds, options.workers, options.ray_address)
    if options.workers == 0:
        return InlineCrew(run.config, seeds)
    return ProcessCrew(run.config, seeds, options.workers, served=served(options, run.config))


def served(options: argparse.Namespace, config: RunConfig) -> bool:
    """Return whether one process computes the network for all workers: as asked, or where several would share a GPU.

    Raises:
        UsageError: it was asked for with the backend int8, which needs the leaves of a worker's own searches.
    """
    if options.inference_server == "on" and config.backend == "int8":
        raise UsageError("expected --backend auto, torch or openvino with --inference-server on; got int8")
    if options.inference_server != "auto":
        return bool(options.inference_server == "on")
    return options.workers > 1 and torch.cuda.is_available() and config.backend in ("auto", "torch")


def main(arguments: list[str] | None = None, advice: str = "continue with --resume") -> int:
    """Parse the command line and run; `advice` is what an interrupted run tells its user."""
    parser = Parser(prog="training.selfplay", description="Self-play runs (docs/training.md).")
    parser.add_argument("preset", nargs="?", choices=RUN_PRESETS, help="settings of a new run")
    parser.add_argument(
        "--run", type=Path, required=True, metavar="FOLDER", help="folder for the run's files, such as runs/NAME"
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in FOLDER")
    parser.add_argument(
        "--workers",
        type=int,
        default=available_cores() - 1,
        metavar="N",
        help="number of self-play processes, in addition to one for evaluation and this one for learning; 0 does everything in "
        "this process (default: the number of cores minus one)",
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="play on a Ray cluster: HOST:PORT, or auto for a cluster started on this machine",
    )
    parser.add_argument(
        "--inference-server",
        choices=("auto", "on", "off"),
        default="auto",
        help="whether one more process computes the network for all workers on this machine; auto (the default): where several "
        "workers share a GPU",
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    keep_freed_memory()
    flush_subnormals()
    try:
        if options.workers < 0:
            raise UsageError(f"expected --workers of at least 0; got {options.workers}")
        if options.ray_address and options.workers == 0:
            raise UsageError("expected --workers of at least 1 with --ray-address; got 0")
        if options.inference_server == "on" and (options.ray_address or options.workers == 0):
            raise UsageError("expected --workers of at least 1 and no --ray-address with --inference-server on")
        if options.resume and options.preset:
            raise UsageError("expected no preset with --resume, which reads the settings from the folder")
        config = settings(options)
        weights = None if options.resume else first_weights(config)
        with held_folder(options.run, by="training"):
            return go(config, options, weights, advice)
    except (UsageError, WeightsError, NotImplementedError) as error:
        print(f"training.selfplay: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"training.selfplay: {error.filename or options.run} cannot be used: {error.strerror}", file=sys.stderr)
        return 2


def go(config: RunConfig, options: argparse.Namespace, weights: dict[str, Any] | None, advice: str) -> int:
    """Run until the end or until Ctrl-C."""
    run = make_run(config, options, weights)
    if missing := missing_packages():
        print(
            f"Not installed: {' and '.join(missing)} (for curves and TensorBoard events). Install with: "
            f"{sys.executable} -m pip install -r requirements-runs.txt",
            file=sys.stderr,
        )
    crew = make_crew(run, options)
    print(f"{options.run}: seed {config.seed}, {run.done_so_far()}, workers: {options.workers}", flush=True)
    try:
        run.go(crew)
    except KeyboardInterrupt:
        print(f"Interrupted after {run.replay.games} games and {run.steps} steps; {advice}.", file=sys.stderr)
        return INTERRUPTED
    print(f"{run.replay.games} games, {run.steps} steps; the best network is {options.run / 'best.model'}")
    return 0
