"""Self-play that lasts: python -m training.run PRESET --run FOLDER, then --run FOLDER --resume (docs/training.md).

FOLDER gets

    config.json                 the settings
    checkpoint.pt               network, optimiser, counters, evaluations; replaced as a whole
    games.jsonl, positions.bin  every game, and the latest positions to learn from
    networks/, best.model       the networks that were evaluated, and the best (without a gate the latest) of them
    metrics.csv, elo.csv, sgf/  what happened, Elo of the networks above pure MCTS, sample games
    curves.png, tensorboard/    where matplotlib and tensorboardX are installed (requirements-runs.txt)

After Ctrl-C and after a kill, --resume goes on; lost are the games in flight at most. Settings may change then, but for those
that the files depend on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from arena.engine.cores import available_cores
from common.errors import UsageError
from common.weights import WeightsError, read_sizes, read_weights, without_idle_blocks
from training.learner import Run
from training.presets import LASTING, PRESETS, RunConfig, add_options, changed, option
from training.report import missing_packages
from training.workers import Crew, InlineCrew, ProcessCrew

SEED_LIMIT = 2**31


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder; the lock of a killed process is free.

    Raises:
        UsageError: another process holds it.
    """
    import fcntl  # Linux and macOS

    with open(folder / "lock", "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"expected no other process at work in {folder}; there is one") from None
        yield


def settings(options: argparse.Namespace) -> RunConfig:
    """Of the run, by preset or config.json and the command line.

    Raises:
        UsageError: they do not go together.
    """
    path = options.run / "config.json"
    if not options.resume:
        if path.exists() or (options.run / "metrics.csv").exists():  # the latter of training.supervised, too
            raise UsageError(f"expected a new folder without --resume; there is a run in {options.run}")
        if options.preset is None:
            raise UsageError(f"expected one of {', '.join(PRESETS)} for a new run; got none")
        return changed(replace(PRESETS[options.preset], seed=secrets.randbelow(SEED_LIMIT)), options)
    try:
        before = RunConfig(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UsageError(f"expected a run in {options.run} to go on with; there is none") from None
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"expected the settings of a run in {path}; {error}") from None
    config = changed(before, options)
    for name in LASTING:
        if (now := getattr(config, name)) != (was := getattr(before, name)):
            raise UsageError(f"expected {option(name)} {was}, with which {options.run} was begun; got {now}")
    return config


def first_weights(config: RunConfig) -> dict[str, Any]:
    """The weights to start from.

    Raises:
        UsageError, WeightsError: there are none, or they are of another board or depth.
    """
    weights = read_weights(config.init_model)
    width, height, blocks = read_sizes(weights)
    if blocks > config.blocks:
        weights = without_idle_blocks(weights)
        blocks = read_sizes(weights)[2]
    if (width * height, blocks) != (config.board_width * config.board_height, config.blocks):
        raise UsageError(
            f"expected weights of a {config.board_width}x{config.board_height} board and {config.blocks} blocks in "
            f"{config.init_model}; they are of {width * height} points and {blocks} blocks"
        )
    return weights


def make_run(config: RunConfig, options: argparse.Namespace, weights: dict[str, Any] | None) -> Run:
    """The run, begun (from weights or from nothing) or gone on with.

    Raises:
        UsageError: the weights to start from, or files of the run, are not as they should be.
    """
    try:
        run = Run(config, options.run, weights)
    except NotImplementedError:
        raise  # a RuntimeError, too
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


def make_crew(run: Run, options: argparse.Namespace) -> Crew:
    """Who plays."""
    seeds = (run.config.seed, run.replay.starts)
    if options.ray_address:
        from training.ray_workers import RayCrew

        return RayCrew(run.config, seeds, options.workers, options.ray_address)
    if options.workers == 0:
        return InlineCrew(run.config, seeds)
    return ProcessCrew(run.config, seeds, options.workers)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="training.run", description="Self-play runs (docs/training.md).")
    parser.add_argument("preset", nargs="?", choices=PRESETS, help="of a new run")
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="of all its files, such as runs/NAME")
    parser.add_argument("--resume", action="store_true", help="go on with the run in FOLDER")
    parser.add_argument(
        "--workers",
        type=int,
        default=available_cores() - 1,
        metavar="N",
        help="processes for self-play, beside one for evaluation and this one that learns; 0: all in this one "
        "(default: cores less one)",
    )
    parser.add_argument(
        "--ray-address", metavar="ADDRESS", help="play on a Ray cluster: HOST:PORT, or auto for one started here"
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        if options.workers < 0:
            raise UsageError(f"expected --workers of at least 0; got {options.workers}")
        if options.ray_address and options.workers == 0:
            raise UsageError("expected --workers of at least 1 with --ray-address; got 0")
        if options.resume and options.preset:
            raise UsageError("expected no preset with --resume, which knows it from the folder")
        config = settings(options)
        weights = first_weights(config) if config.init_model and not options.resume else None
        options.run.mkdir(parents=True, exist_ok=True)
        with only_one(options.run):
            return go(config, options, weights)
    except (UsageError, WeightsError, NotImplementedError) as error:
        print(f"training.run: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"training.run: {error.filename or options.run} cannot be used: {error.strerror}", file=sys.stderr)
        return 2


def go(config: RunConfig, options: argparse.Namespace, weights: dict[str, Any] | None) -> int:
    """Run to the end or to Ctrl-C."""
    run = make_run(config, options, weights)
    if missing := missing_packages():
        print(
            f"Without {' and '.join(missing)} there are no curves or no events for TensorBoard: "
            f"{sys.executable} -m pip install -r requirements-runs.txt",
            file=sys.stderr,
        )
    crew = make_crew(run, options)
    done = f"{run.replay.games} of {config.games} games"
    print(f"{options.run}: seed {config.seed}, {done}, workers: {options.workers}", flush=True)
    try:
        run.go(crew)
    except KeyboardInterrupt:
        print(f"Interrupted after {run.replay.games} games and {run.steps} steps; --resume goes on.", file=sys.stderr)
        return 0
    print(f"{run.replay.games} games, {run.steps} steps; the best network is {options.run / 'best.model'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
