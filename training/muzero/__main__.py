"""python -m training.muzero PRESET --run FOLDER: train MuZero; the same command continues a run (docs/training.md, MuZero)."""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import expect_packages, leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save
    expect_packages("training.muzero", "numpy", "torch")

import argparse
import secrets
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from common.errors import UsageError
from common.locks import LOCK, held_folder
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED, interruptible
from common.subnormals import flush_subnormals
from training.freed_memory import keep_freed_memory
from training.muzero.exact_player import model_accuracy, play_all_lines, random_games
from training.muzero.muzero_run import CHECKED_PLAYOUTS, MuZeroRun, read_muzero_run, read_muzero_settings
from training.muzero.muzero_settings import LASTING_OF_MUZERO, MUZERO_PRESETS, MuZeroConfig
from training.selfplay.long_run import SEED_LIMIT
from training.selfplay.presets import add_options, changed, option

COMPARED_GAMES = 1000  # games of random moves, on which the model is compared with the rules


def main(arguments: list[str] | None = None) -> int:
    """Train or judge; return the exit code."""
    return run_program("training.muzero", lambda: _run(arguments), starts_slowly=True)


def _run(arguments: list[str] | None) -> int:
    parser = Parser(prog="python -m training.muzero", description="Train MuZero; the same command continues a run.")
    parser.add_argument("preset", nargs="?", choices=sorted(MUZERO_PRESETS), help="settings of a new run")
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="the run's folder, such as runs/NAME")
    parser.add_argument(
        "--judge",
        action="store_true",
        help="do not train: compare the model with the rules and, on tic-tac-toe, count the lines of replies that it loses; "
        "exit with 1 if there are any",
    )
    parser.add_argument(
        "--judged-playouts", type=int, nargs="+", metavar="N", help="numbers of playouts to judge at (default 100 400)"
    )
    add_options(parser, MuZeroConfig)
    options = parser.parse_args(arguments)
    if options.judged_playouts and not options.judge:
        parser.error("expected --judge with --judged-playouts")
    if min(options.judged_playouts or CHECKED_PLAYOUTS) < 2:
        parser.error(f"expected at least 2 playouts; got {min(options.judged_playouts)}")
    torch.set_num_threads(1)  # more threads slow down a small network
    keep_freed_memory()
    flush_subnormals()
    try:
        return _judge(options) if options.judge else _train(options)
    except OSError as error:
        raise UsageError(f"{error.filename or options.run} cannot be used: {error.strerror}") from error


def _settings(options: argparse.Namespace) -> MuZeroConfig:
    """Return the settings of a new run, or those of the run in the folder with the changes on the command line.

    Raises:
        UsageError: there is no preset for a new run, the folder holds something else, or the run cannot be changed like that.
    """
    path = options.run / "config.json"
    if not path.exists():
        if options.run.is_dir() and any(file.name != LOCK for file in options.run.iterdir()):
            raise UsageError(f"expected a new folder, or one with a run of MuZero; {options.run} holds other files")
        if options.preset is None:
            raise UsageError(f"expected one of {', '.join(sorted(MUZERO_PRESETS))} for a new run; got no preset")
        return changed(replace(MUZERO_PRESETS[options.preset], seed=secrets.randbelow(SEED_LIMIT)), options)
    before = read_muzero_settings(options.run)
    if options.preset is not None:
        preset = MUZERO_PRESETS[options.preset]
        if preset.rules().name != before.game or (preset.board_width, preset.board_height, preset.n_in_row) != (
            before.board_width,
            before.board_height,
            before.n_in_row,
        ):
            raise UsageError(f"expected a run of {options.preset} in {options.run}; it plays another game")
    return _changed_within(before, options)


def _changed_within(before: MuZeroConfig, options: argparse.Namespace) -> MuZeroConfig:
    """Return the settings of a run with the changes on the command line; UsageError if the run cannot be changed like that."""
    config = changed(before, options)
    for name in LASTING_OF_MUZERO:
        if (now := getattr(config, name)) != (was := getattr(before, name)):
            raise UsageError(f"expected {option(name)} {was}, as when {options.run} was started; got {now}")
    return config


def _train(options: argparse.Namespace) -> int:
    config = _settings(options)
    with held_folder(options.run, by="training"):
        run = MuZeroRun(config, options.run)
        run.write_config()
        if run.played >= config.games:
            print(f"{options.run} has its {run.played} games; a larger --games N continues it, --judge tests the model.")
            return 0
        since = f", continued after {run.played} games" if run.played else ""
        print(f"{options.run}: seed {config.seed}, {config.games} games{since}", flush=True)
        interruptible()
        try:
            run.go()
        except KeyboardInterrupt:
            print(f"Interrupted; the same command continues after the last saved round, {options.run}.", file=sys.stderr)
            return INTERRUPTED
        print(
            f"{run.played} games, {run.steps} steps, {run.cpu_s:.0f} CPU seconds; the model is {options.run / 'latest.model'}"
        )
    return 0


def _judge(options: argparse.Namespace) -> int:
    before, model = read_muzero_run(options.run)
    config = _changed_within(before, options)
    interruptible()
    losing = 0
    if config.is_tictactoe:
        print("playouts   losing lines   as first   as second")
        for playouts in options.judged_playouts or CHECKED_PLAYOUTS:
            result = play_all_lines(model, config, playouts)
            losing += result.losing_lines
            print(f"{playouts:8} {result.losing_lines:14} {result.first.losses:10} {result.second.losses:11}", flush=True)
            for line in result.examples(2):
                print(f"           for example {line}")
    print(f"\nThe model after k moves of {COMPARED_GAMES} random games:")
    print("k   illegal probability   likeliest legal   reward right   win seen   draw seen")
    for row in model_accuracy(model, random_games(config, COMPARED_GAMES, np.random.default_rng(0))):
        print(
            f"{row.steps}   {row.illegal_mass:19.2%}   {row.likeliest_legal:15.2%}   {row.rewards_right:12.2%}   "
            f"{row.ends_seen:8.2%}   {row.draws_seen:9.2%}"
        )
    return 1 if losing else 0


if __name__ == "__main__":
    sys.exit(main())
