"""Supervised training of the policy-value network: python -m training.supervised CONFIG --games FILE... --run FOLDER [--resume]

With --evaluate WEIGHTS instead of --run, it measures any weights on the games that training would hold back.

The method follows Silver et al. 2016, section "Supervised learning of policy networks", but trains both heads at once. A
step takes random positions, each under a random symmetry, and descends the gradient of

    mean (-log p(engine's move))  +  value_weight * mean (v - value)^2  +  weight_decay / 2 * ||w||^2      w: all but the biases

by SGD with Nesterov momentum, where `value` comes from training.supervised.dataset and is for the side to move. The learning
rate falls along a cosine. A network may start with few residual blocks and be deepened with blocks that change nothing at first
(Net2Net, Chen et al. 2016): the last batch norm of a new block has scale 0, and relu(x + 0) = x if x is the output of a relu.

The command writes checkpoint.pt and metrics.csv to FOLDER. The checkpoint determines the rest of the training, since random
numbers depend only on the seed and the number of the step. Ctrl-C saves and exits after the step or evaluation in progress;
after a kill, the last few minutes of training are repeated. The files of games may grow during training: they are read again
at every evaluation.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from common.diverging import expect_finite
from common.errors import UsageError
from common.files import replacing
from common.interrupts import Interrupts
from common.locks import held_folder
from common.program_ends import Parser
from common.program_starts import INTERRUPTED
from common.subnormals import flush_subnormals
from games.protocol import GameRules
from training.freed_memory import keep_freed_memory
from training.inference.networks import kind_of, read_model, structured_model
from training.inference.timing import computing_clock, shortest_time
from training.metrics import add_row, keep_rows
from training.old_settings import with_current_names
from training.supervised.dataset import GamesError, Positions, load_positions
from training.supervised.settings import DEFAULTS, CallError, SupervisedConfig

SAVE_EVERY_S = 180.0
REPORT_EVERY_S = 60.0
EVALUATED = 2048  # the most held-back positions that an evaluation uses
TOP = 5
MOMENTUM = 0.9
WARM_UP_STEPS = 100  # counted from the start, and again from each deepening


def make_model(rules: GameRules, blocks: int, seed: int, network: str = "course", filters: int = 64) -> nn.Module:
    """Make the initial network (`structured_model`).

    Args:
        rules: the game.
        blocks: the number of residual blocks.
        seed: the seed of the random weights.
        network, filters: see SupervisedConfig.
    """
    torch.manual_seed(seed)
    return structured_model(network, rules, blocks, filters)


def deepened(model: nn.Module, rules: GameRules, blocks: int, seed: int) -> nn.Module:
    """Make a network with more residual blocks and the same outputs."""
    weights = model.state_dict()
    network, _, filters = kind_of(weights)
    deeper = make_model(rules, blocks, seed, network, filters)
    deeper.load_state_dict({**deeper.state_dict(), **weights})
    return deeper


def model_of(weights: dict[str, torch.Tensor], rules: GameRules) -> nn.Module:
    """Make a network with these weights."""
    network, blocks, filters = kind_of(weights)
    model = make_model(rules, blocks, 0, network, filters)
    model.load_state_dict(weights)
    return model


class Training:
    """A supervised training run and its state.

    Args:
        config: the settings of the run.
        games: the files of games.
        run: the folder of the run.
        policy_weight: the weight of the cross entropy in the loss; 0 for a network that only needs to predict values.

    Attributes:
        model, optimizer: the network at its present depth, and its optimiser.
        samples, steps: the numbers of samples and steps trained so far.
        deepened_at: the step at which the depth last changed.
        cpu_s: the processor time so far, in seconds, including the time before each resumption.
        dtype: the type of the convolutions, the one that was faster when the run began.
        latest: the result of the latest evaluation.
        history: the settings that were used, each with the number of samples trained before them.

    Raises:
        GamesError: the games cannot be used.
    """

    def __init__(self, config: SupervisedConfig, games: Sequence[str], run: Path, policy_weight: float = 1.0) -> None:
        self.config, self.games, self.run_folder = config, list(games), run
        self.policy_weight = policy_weight
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.samples = self.steps = self.deepened_at = 0
        self.cpu_s = 0.0
        self.latest: dict[str, float] = {}
        self.history: list[dict[str, Any]] = [{"from_samples": 0, **asdict(config)}]
        self.train: Positions
        self.held_back: Positions
        self.read_games()
        self._use(make_model(config.rules, config.blocks_at(0), config.seed, config.network, config.filters))
        self.dtype = self.faster_dtype()

    def read_games(self) -> None:
        """Read the current contents of the files of games."""
        config = self.config
        self.train, self.held_back = load_positions(self.games, config.rules, config.td_lambda, config.score_scale)
        if not len(self.held_back):
            files = ", ".join(self.games)
            raise GamesError(f"expected a held-back position that the training part lacks in {files}; more games are needed")

    def _use(self, model: nn.Module) -> None:
        self.model = model.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        groups: list[dict[str, Any]] = [
            {"params": [p for name, p in model.named_parameters() if not name.endswith("bias")]},
            {"params": [p for name, p in model.named_parameters() if name.endswith("bias")], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.SGD(
            groups,
            lr=self.config.learning_rate,
            momentum=MOMENTUM,
            nesterov=True,
            weight_decay=self.config.weight_decay,
        )

    # --------------------------------------------------------------------------------------------- learning

    def faster_dtype(self) -> torch.dtype:
        """Return bfloat16 if it makes steps faster than float32, timed on a few steps of each, and otherwise float32."""
        rng = np.random.default_rng(0)
        states, moves, values = self._tensors(self.train, rng.integers(len(self.train), size=self.config.batch_size), rng)
        model = copy.deepcopy(self.model)

        def step(dtype: torch.dtype) -> None:
            policy_loss, value_loss = self._losses(model, dtype, states, moves, values)
            (policy_loss + value_loss).backward()
            if self.device.type == "cuda":
                torch.cuda.synchronize()

        clock = computing_clock(self.device)
        in_float32 = shortest_time(lambda: step(torch.float32), clock)
        in_bfloat16 = shortest_time(lambda: step(torch.bfloat16), clock, in_float32)
        return torch.bfloat16 if in_bfloat16 < in_float32 else torch.float32

    def _tensors(self, part: Positions, indices: np.ndarray, rng: np.random.Generator | None) -> list[torch.Tensor]:
        """Return states, moves and values of positions, under random symmetries or, without `rng`, unchanged."""
        count = part.rules.symmetries.count
        symmetries = np.zeros(len(indices), dtype=int) if rng is None else rng.integers(count, size=len(indices))
        states, moves, values = (torch.from_numpy(array).to(self.device) for array in part.batch(indices, symmetries))
        return [states.contiguous(memory_format=torch.channels_last), moves, values]

    def _losses(
        self, model: nn.Module, dtype: torch.dtype, states: torch.Tensor, moves: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the cross entropy of the moves and the mean squared error of the values."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=dtype is torch.bfloat16):
            log_probs, predicted = model(states)
        return functional.nll_loss(log_probs.float(), moves), functional.mse_loss(predicted.float().reshape(-1), values)

    def learning_rate(self) -> float:
        """Return the learning rate of the next step."""
        done = min(1.0, self.samples / self.config.samples)
        warm = min(1.0, (self.steps - self.deepened_at + 1) / WARM_UP_STEPS)
        return self.config.learning_rate * warm * (1 + math.cos(math.pi * done)) / 2

    def step(self) -> tuple[float, float]:
        """Take one step on a random batch, and return the cross entropy and the mean squared error."""
        config = self.config
        blocks = config.blocks_at(self.samples)
        if blocks != len(self.model.get_submodule("resnet")):
            self._use(deepened(self.model, config.rules, blocks, config.seed))
            self.deepened_at = self.steps
        rng = np.random.default_rng([config.seed, self.steps])
        tensors = self._tensors(self.train, rng.integers(len(self.train), size=config.batch_size), rng)
        optimizer = self.optimizer
        for group in optimizer.param_groups:
            group["lr"] = self.learning_rate()
        self.model.train()
        policy_loss, value_loss = self._losses(self.model, self.dtype, *tensors)
        optimizer.zero_grad()
        (self.policy_weight * policy_loss + config.value_weight * value_loss).backward()
        optimizer.step()
        self.samples += config.batch_size
        self.steps += 1
        remedy = "go on with a smaller learning_rate in the settings"
        expect_finite(self.model.parameters(), f"{self.samples} samples", self.checkpoint, remedy)
        return policy_loss.item(), value_loss.item()

    def evaluate(self) -> dict[str, float]:
        """Measure the network on the first held-back positions, without symmetries."""
        self.model.eval()
        count = min(EVALUATED, len(self.held_back))
        sums = np.zeros(4)
        with torch.inference_mode():
            for indices in np.array_split(np.arange(count), math.ceil(count / 64)):
                states, moves, values = self._tensors(self.held_back, indices, None)
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype is torch.bfloat16):
                    log_probs, predicted = self.model(states)
                log_probs = log_probs.float()
                hits = log_probs.topk(TOP).indices == moves[:, None]
                loss = functional.nll_loss(log_probs, moves, reduction="sum")
                error = (predicted.float().reshape(-1) - values).square().sum()
                sums += [loss.item(), hits[:, 0].sum().item(), hits.sum().item(), error.item()]
        names = ("policy_loss", "top_1", "top_5", "value_mse")
        return {"positions": count, **dict(zip(names, (sums / count).tolist(), strict=True))}

    # ---------------------------------------------------------------------------------------------- keeping

    @property
    def checkpoint(self) -> Path:
        """The file from which a run continues."""
        return self.run_folder / "checkpoint.pt"

    def save(self) -> None:
        """Write the checkpoint."""
        state = {
            "history": self.history,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "samples": self.samples,
            "steps": self.steps,
            "deepened_at": self.deepened_at,
            "cpu_s": self.cpu_s,
            "dtype": str(self.dtype).removeprefix("torch."),
            "positions": len(self.train),
            "held_back": self.latest,
        }
        save_checkpoint(self.checkpoint, state)

    def restore(self) -> None:
        """Continue from the checkpoint, and remove the later rows of metrics.csv.

        Raises:
            CallError: there is no checkpoint of this training, or it belongs to another board or has more blocks.
        """
        state = load_training(self.checkpoint)
        self.history = [DEFAULTS | with_current_names(settings) for settings in state["history"]]
        for name in ("game", "network", "filters"):
            if self.history[-1][name] != getattr(self.config, name):
                raise CallError(f"expected a training run with {name} = {getattr(self.config, name)} in {self.checkpoint}")
        if self.history[-1]["size"] != self.config.size:
            raise CallError(f"expected a training run on {self.config.size}x{self.config.size} in {self.checkpoint}")
        blocks, wanted = kind_of(state["model"])[1], self.config.blocks_at(state["samples"])
        if wanted < blocks:
            raise CallError(
                f"expected depths of at least the {blocks} blocks of the network in {self.checkpoint}; got {wanted}"
            )
        self._use(model_of(state["model"], self.config.rules))
        self.optimizer.load_state_dict(state["optimizer"])
        self.optimizer.param_groups[0]["weight_decay"] = self.config.weight_decay  # the checkpoint has the earlier one
        for name in ("samples", "steps", "deepened_at", "cpu_s"):
            setattr(self, name, state[name])
        self.latest = state["held_back"]
        if "dtype" in state:  # the checkpoint of an earlier version lacks it
            self.dtype = getattr(torch, state["dtype"])
        latest = {name: setting for name, setting in self.history[-1].items() if name != "from_samples"}
        if latest != asdict(self.config):
            self.history.append({"from_samples": self.samples, **asdict(self.config)})
        keep_rows(self.run_folder / "metrics.csv", samples=self.samples)

    def note(self, row: dict[str, Any]) -> None:
        """Add a row to metrics.csv."""
        add_row(self.run_folder / "metrics.csv", row)

    def run(self) -> None:
        """Train to the end, with evaluations, checkpoints and an occasional line of progress.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; the step in progress, and the evaluation after it, have been made.
        """
        interrupts = Interrupts()
        with interrupts.handled():
            self._run(interrupts)

    def _run(self, interrupts: Interrupts) -> None:
        config = self.config
        losses: list[tuple[float, float]] = []
        start, first = time.monotonic(), self.samples
        saved = reported = start
        cpu = time.process_time()
        while self.samples < config.samples:
            checks = self.samples // config.check_every
            losses.append(self.step())
            now, spent = time.monotonic(), time.process_time()
            self.cpu_s += spent - cpu
            cpu = spent
            ended = self.samples >= config.samples
            if self.samples // config.check_every > checks or ended:
                self.read_games()
                self.latest = self.evaluate()
                policy_loss, value_loss = np.mean(losses, axis=0).round(4)
                measured = {name: round(number, 4) for name, number in self.latest.items() if name != "positions"}
                of_training = {"train_policy_loss": policy_loss, "train_value_loss": value_loss, "cpu_s": round(self.cpu_s)}
                depth = {"blocks": config.blocks_at(self.samples - 1), "positions": len(self.train)}
                self.note({"samples": self.samples, **depth, **of_training, **measured})
                print(f"{self.samples} samples: held back {measured}", flush=True)
                losses.clear()
                saved = 0.0
            if now - saved > SAVE_EVERY_S or ended:
                self.save()
                saved = now
            if now - reported > REPORT_EVERY_S and losses:
                reported = now
                rate = (self.samples - first) / (now - start)
                policy_loss, value_loss = np.mean(losses, axis=0)
                left = (config.samples - self.samples) / rate / 60
                print(
                    f"{self.samples} of {config.samples} samples, {rate:.0f} a second, "
                    f"losses {policy_loss:.3f} and {value_loss:.3f}, {left:.0f} min left",
                    flush=True,
                )
            if interrupts.pressed:
                raise KeyboardInterrupt


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint completely or not at all."""
    with replacing(path, durable=True) as unfinished:
        torch.save(state, unfinished)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read what `save_checkpoint` wrote.

    Raises:
        CallError: the file does not exist, or is damaged.
    """
    if not path.is_file():
        raise CallError(f"expected a checkpoint at {path}; nothing is there")
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch's unpickler has no common class for the errors of a damaged file
        raise CallError(f"expected a checkpoint at {path}; the file is damaged or holds other data") from error
    return state


def load_training(path: Path) -> dict[str, Any]:
    """Read the checkpoint of a training.

    Raises:
        CallError: the file does not exist, is damaged, or was written by another program.
    """
    state = load_checkpoint(path)
    if "deepened_at" not in state:
        raise CallError(f"expected a checkpoint of training.supervised in {path}; it is of another program")
    return state


def evaluated(config: SupervisedConfig, games: Sequence[str], path: str) -> dict[str, float]:
    """Measure any weights on the held-back games.

    Raises:
        UsageError: the file does not hold weights for this game and board.
        GamesError: the games cannot be used.
    """
    model = read_model(path, config.rules)
    training = Training(config, games, Path())
    training.model = model.to(training.device)
    return {name: round(number, 4) for name, number in training.evaluate().items()}


def train_in_folder(config: SupervisedConfig, games: Sequence[str], run: Path, resume: bool, how_to_go_on: str) -> bool:
    """Train in a folder that no other process uses; Ctrl-C saves.

    Args:
        config, games, run: see Training.
        resume: whether to continue from the checkpoint.
        how_to_go_on: the end of the sentence after Ctrl-C.

    Returns:
        Whether the training ended; False after Ctrl-C.

    Raises:
        CallError, GamesError, UsageError: the folder, its checkpoint or the games cannot be used, or another process trains.
    """
    with held_folder(run, by="training"):
        if not resume and (run / "checkpoint.pt").exists():
            raise CallError(f"expected no checkpoint in {run} without --resume; there is one")
        training = Training(config, games, run)
        if resume:
            training.restore()
        print(
            f"{len(training.train)} positions to learn from, {len(training.held_back)} held back, {training.samples} samples "
            f"done; {training.device.type}, {training.dtype}",
            flush=True,
        )
        try:
            training.run()
        except KeyboardInterrupt:
            training.save()
            print(f"Interrupted after {training.samples} samples; {how_to_go_on}.", file=sys.stderr)
            return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and train."""
    parser = Parser(prog="training.supervised", description="Supervised training (docs/training.md).")
    parser.add_argument("config", help="file of settings, such as training/configs/sl_15.toml")
    parser.add_argument("--games", nargs="+", required=True, metavar="FILE", help="the teacher's games")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--run", type=Path, metavar="FOLDER", help="train, and write checkpoint.pt and metrics.csv to FOLDER")
    what.add_argument("--evaluate", metavar="WEIGHTS", help="do not train, but measure these weights on the held-back games")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    parser.add_argument("--seed", type=int, metavar="N", help="instead of the seed in the settings")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    flush_subnormals()
    try:
        config = SupervisedConfig.read(options.config)
        if options.seed is not None:
            config = config.seeded(options.seed)
        if options.evaluate:
            print(evaluated(config, options.games, options.evaluate))
            return 0
        if not train_in_folder(config, options.games, options.run, options.resume, "continue with --resume"):
            return INTERRUPTED
    except (CallError, GamesError, UsageError, NotImplementedError) as error:
        print(f"training.supervised: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"training.supervised: {error.filename or options.run} cannot be used: {error.strerror}", file=sys.stderr)
        return 2
    return 0
