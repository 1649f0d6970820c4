"""The command line of train.py."""

from __future__ import annotations

import argparse
import random
import secrets
import shlex
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from common.devices import DEVICES, wants_cuda
from common.errors import UsageError
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED, interruptible
from common.student_network import expect_layers
from common.subnormals import flush_subnormals
from common.unwritten import students_faults_as_sentences
from common.weights import read_weights_of_board
from training.loop.following import STATE
from training.loop.state import board_of, read_state, restore, settings_of

BACKENDS = ("auto", "torch", "openvino")
LARGEST_SEED = 2**32 - 1  # that numpy takes


def train_by_command(make_pipeline: Any, presets: Mapping[str, Any], program: str) -> int:
    """Run train.py.

    Args:
        make_pipeline: TrainPipeline.
        presets: the settings by name; the first is the default.
        program: the path of train.py.

    Returns:
        The exit code.
    """

    def run() -> int:
        options = _parse(presets)
        _check_folder(Path.cwd(), Path(program).resolve().parent)
        flush_subnormals()
        with students_faults_as_sentences():
            pipeline = (_resumed if options.resume else _new)(make_pipeline, presets, options)
            expect_layers(pipeline.policy_value_net, pipeline.board_width, pipeline.board_height, pipeline.resnet_block)
            pipeline.best_network.force = options.force
            if options.games is not None:
                pipeline.game_batch_num = options.games
            _check_not_over(pipeline)
            _play_fast(pipeline, options)
            _announce(pipeline)
            _make_folders()
            interruptible()
            pipeline.run()
        return INTERRUPTED if pipeline.about.was_interrupted else 0

    return run_program("train.py", run, starts_slowly=True)


def seed_run(seed: int) -> None:
    """Seed the random generators of Python, numpy and torch."""
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def what_next(pipeline: Any) -> list[str]:
    """Return sentences that say how to go on after a run."""
    best, sentences = pipeline.best_network, []
    resume = "python train.py --resume" + (" --fast" if pipeline.about.computed_by else "")
    if best.saved_in and best.saved_in != str(best.path):
        sentences.append(f"{best.path} {best.reason_to_stay(board_of(pipeline)) or 'is at least as good'} and is kept.")
        sentences.append("To overwrite it, train with --force.")
    if not pipeline.is_over():
        sentences.append(f"To continue from the saved state: {resume}")
    elif not pipeline.verified:
        sentences.append(f"To continue with more games: {resume} --games {2 * pipeline.games_played}")
    if best.saved_in:
        sentences.append(f"To play against the best network: python human_play.py --model {best.saved_in}")
    return sentences


def _parse(presets: Mapping[str, Any]) -> argparse.Namespace:
    """Parse the command line, and refuse options that make no sense, alone or together."""
    parser = Parser(prog="train.py", description="Train tic-tac-toe from scratch until the network loses no line of replies.")
    default = next(iter(presets))
    parser.add_argument("--preset", choices=sorted(presets), help=f"the settings (default: {default})")
    parser.add_argument("--games", type=int, help="number of self-play games (default: as in the preset)")
    parser.add_argument("--seed", type=int, help="random seed, to repeat a training run (default: drawn and printed)")
    parser.add_argument("--init-model", metavar="FILE", help="file of weights to start a new run from")
    parser.add_argument(
        "--resume",
        nargs="?",
        const=STATE,
        metavar="FILE",
        help=f"continue an interrupted run as if nothing had happened (default: that of {STATE})",
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite what earlier runs left: better networks, other boards, unfinished runs"
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="use the self-play in training/ instead of your search, if this tree has training/selfplay/",
    )
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="with --fast: the library that computes the network (default: auto, or as the run began)",
    )
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where the network is computed (default: cpu)")
    options = parser.parse_args()
    if options.games is not None and options.games < 1:
        parser.error(f"expected --games of at least 1; got {options.games}")
    if options.seed is not None and not 0 <= options.seed <= LARGEST_SEED:
        parser.error(f"expected --seed from 0 to {LARGEST_SEED}; got {options.seed}")
    if options.fast and find_spec("training.selfplay") is None:
        parser.error("expected training/selfplay/ for --fast; this tree does not have it: leave --fast out")
    if options.backend is not None and not options.fast:
        parser.error("expected --fast with --backend; without it, your own network plays the games")
    if options.resume is not None:
        for name in ("preset", "seed", "init_model"):
            if getattr(options, name) is not None:
                parser.error(f"expected no --{name.replace('_', '-')} with --resume: a run keeps its initial settings")
    return options


def _check_folder(here: Path, home: Path) -> None:
    """Refuse to train in a folder above or below that of train.py, where nobody would look for the networks."""
    if here != home and (here.is_relative_to(home) or home.is_relative_to(here)):
        raise UsageError(
            f"expected to be started in {home}, because tmp/ and model/ are made in the current folder; got {here}: "
            f"first run cd {shlex.quote(str(home))}"
        )


def _make_folders() -> None:
    """Make the folders that the run writes to, or refuse."""
    for folder in (Path("tmp"), Path("model")):
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise UsageError(
                f"expected a folder {folder.resolve()} that can be written; {error.strerror}: make room or change its rights"
            ) from error


def _new(make_pipeline: Any, presets: Mapping[str, Any], options: argparse.Namespace) -> Any:
    """Return the pipeline of a new run."""
    preset = options.preset or next(iter(presets))
    cuda = wants_cuda(options.device)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    seed_run(seed)
    if options.init_model:
        read_weights_of_board(options.init_model, presets[preset].board_width, presets[preset].board_height)
    try:
        pipeline = make_pipeline(init_model=options.init_model, preset=preset, cuda=cuda)
    except RuntimeError as error:
        if options.init_model is None or isinstance(error, NotImplementedError):
            raise
        reason = str(error).splitlines()[-1].strip()
        raise UsageError(f"expected weights of this network in {options.init_model}: {reason}") from error
    pipeline.about.seed = seed
    return pipeline


def _resumed(make_pipeline: Any, presets: Mapping[str, Any], options: argparse.Namespace) -> Any:
    """Return the pipeline of an interrupted run, and say what is not as it was."""
    path = Path(options.resume)
    state = read_state(path)
    about = state["about_run"]
    if about["preset"] not in presets:
        raise UsageError(f"expected a run of {' or '.join(sorted(presets))} in {path}; it is a run of {about['preset']}")
    pipeline = make_pipeline(preset=about["preset"], cuda=wants_cuda(options.device))
    of_now = settings_of(pipeline)
    for sentence in restore(pipeline, state):
        print(f"Not restored: {sentence}")
    pipeline.about.continue_run(about, path)
    pipeline.best_network.continue_run(about["run"], about["saved_in"])
    for name, value in state["settings"].items():
        if name != "game_batch_num" and of_now[name] != value:
            print(f"The run continues with {name} = {value}, as it began; train.py now has {of_now[name]}.")
    if options.fast:
        print("Not restored: with --fast, the games that were in progress begin again.")
    return pipeline


def _play_fast(pipeline: Any, options: argparse.Namespace) -> None:
    """Switch to games side by side if the call asks for them, and say how the network is computed if that changes."""
    about = pipeline.about
    before = about.computed_by
    if not options.fast:
        about.computed_by = ""
        if before:
            print("The run was begun with --fast; from now on your own search plays, and the games differ.")
        return
    library = before.partition(",")[0]  # the other one would play other games
    try:
        about.computed_by = pipeline.play_fast(options.backend or library or "auto")
    except ValueError as error:
        raise UsageError(f"--fast: {error}") from error
    if before and before != about.computed_by:
        print(f"The network was computed by {before}; from now on the games differ from those of an uninterrupted run.")


def _check_not_over(pipeline: Any) -> None:
    """Refuse to resume a run that has come to its end."""
    if pipeline.is_over():
        played, planned = pipeline.games_played, pipeline.game_batch_num
        if pipeline.verified:
            raise UsageError(
                f"expected an interrupted run; this one ended after {played} games with a verified network: start a new one"
            )
        raise UsageError(
            f"expected an interrupted run; this one has played {played} games, and {planned} are planned: give a larger number "
            "of --games"
        )


def _announce(pipeline: Any) -> None:
    """Print what is about to be trained, and which network of an earlier run stays."""
    about, best = pipeline.about, pipeline.best_network
    since = f", continued after {pipeline.games_played} games" if pipeline.games_played else ""
    seed = "No seed" if about.seed is None else f"Seed {about.seed}"
    print(f"{seed}, {pipeline.game_batch_num} games of {about.preset}{since}")
    if about.computed_by:
        print(f"In self-play, the network is computed by {about.computed_by}.")
    if reason := best.reason_to_stay(board_of(pipeline)):
        saves = f"this run saves its best network as {best.aside()}"
        print(f"{best.path} {reason} and is kept; {saves} (--force overwrites the old one).")
