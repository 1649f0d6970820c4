"""A MuZero run: play a round of games, search old positions again, learn, save.

The folder of a run holds

    config.json      the settings
    checkpoint.pt    model, optimiser and counters after the last round; always replaced as a whole
    games.jsonl      every game
    metrics.csv      a row for each round, with the losing lines wherever they were counted
    latest.model     the weights of the latest model

All random numbers of a round depend only on the seed and on the number of the round or of the training step. A run that was
stopped or killed repeats the round that was in progress, and ends with the same weights as without the interruption, on the
same machine.
"""

from __future__ import annotations

import io
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common.diverging import expect_finite
from common.errors import UsageError
from common.files import write_whole
from training.metrics import add_row, keep_rows
from training.muzero.exact_player import play_all_lines
from training.muzero.latent_model import MuZeroModel
from training.muzero.muzero_settings import MUZERO_DEFAULTS, MuZeroConfig
from training.muzero.reanalysis import positions_to_search, search_again
from training.muzero.unrolled_loss import LossWeights, unrolled_loss
from training.muzero.unrolled_targets import SampledStarts, make_batch, sample_starts
from training.muzero.whole_games import GamesFile, WholeGames, play_whole_games
from training.search.latent import LatentSearchModel

LONGEST_GRADIENT = 5.0
CHECKED_PLAYOUTS = (100, 400)
SELF_PLAY, SAMPLING, REANALYSIS = range(3)  # what random numbers are drawn for


def read_muzero_settings(folder: Path) -> MuZeroConfig:
    """Read the settings of a run.

    Raises:
        UsageError: there is no run of MuZero in this folder, or its settings cannot be used.
    """
    path = folder / "config.json"
    try:
        config = MuZeroConfig(**MUZERO_DEFAULTS | json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"expected the settings of a run of MuZero in {path}; {error}") from None
    config.check()
    return config


def read_muzero_run(folder: Path) -> tuple[MuZeroConfig, MuZeroModel]:
    """Read the settings and the latest model of a run, which may be going on.

    Raises:
        UsageError: there is no run of MuZero in this folder, no round of it has ended yet, or its files are damaged.
    """
    config, path = read_muzero_settings(folder), folder / "latest.model"
    model = MuZeroModel(config.rules(), config.filters, config.blocks)
    try:
        model.load_state_dict(torch.load(path, weights_only=True))
    except Exception as error:  # torch's unpickler has no common class for the errors of a damaged file
        raise UsageError(
            f"expected the weights of this run of MuZero in {path}; the file is missing, damaged or holds other weights"
        ) from error
    return config, model.eval()


class MuZeroRun:
    """A run in a folder, new or continued.

    Args:
        config: the settings.
        folder: the run's folder.

    Attributes:
        model: the latest model.
        steps: the number of training steps so far.
        played: the number of games so far.
        cpu_s: the processor time so far, in seconds, without that of counting losing lines (`check_cpu_s`).
        losing_lines: the latest counts, by number of playouts; empty if there are none.

    Raises:
        UsageError: the files of the run are damaged or belong to another run.
    """

    def __init__(self, config: MuZeroConfig, folder: Path) -> None:
        self.config, self.folder, self._rules = config, folder, config.rules()
        torch.manual_seed(config.seed)
        self.model = MuZeroModel(self._rules, config.filters, config.blocks)
        self._optimizer = torch.optim.AdamW(self.model.parameters(), config.learning_rate, weight_decay=config.weight_decay)
        self.steps = 0
        self.cpu_s = self.check_cpu_s = 0.0
        self.losing_lines: dict[int, int] = {}
        games = 0
        if (folder / "checkpoint.pt").exists():
            games = self._read_checkpoint()
        elif (folder / "games.jsonl").exists():
            if (found := (folder / "games.jsonl").read_bytes().count(b"\n")) > config.games_per_round:
                raise UsageError(
                    f"expected the checkpoint of the {found} games of {folder} in {folder / 'checkpoint.pt'}; none is there"
                )
            (folder / "games.jsonl").unlink()  # the first round was killed before its end
        self._file = GamesFile(folder / "games.jsonl", self._rules)
        if games or self._file.games:
            self._file.keep(games)
        keep_rows(folder / "metrics.csv", games=games)

    @property
    def played(self) -> int:
        return len(self._file.games)

    def _read_checkpoint(self) -> int:
        path = self.folder / "checkpoint.pt"
        try:
            state = torch.load(path, weights_only=True)
            self.model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._optimizer.param_groups[0]["weight_decay"] = self.config.weight_decay  # the checkpoint has the earlier one
            self.steps, self.cpu_s, self.check_cpu_s = state["steps"], state["cpu_s"], state["check_cpu_s"]
            return int(state["games"])
        except Exception as error:  # torch's unpickler has no common class for the errors of a damaged file
            raise UsageError(
                f"expected the run's checkpoint in {path}; it is missing, damaged or belongs to another model"
            ) from error

    def go(self) -> None:
        """Play and learn until the run has all its games; Ctrl-C loses the round in progress and nothing else."""
        began, first = time.monotonic(), self.played
        while self.played < self.config.games:
            losses = self._round()
            if self._check_is_due():
                self._count_losing_lines()
            self._save(losses)
            rate = (self.played - first) / (time.monotonic() - began)
            left = (self.config.games - self.played) / rate / 60
            print(
                f"{self.played} of {self.config.games} games, {self.steps} steps{self._in_words(losses)}, "
                f"{rate:.1f} games/s, {max(0, left):.0f} min left",
                file=sys.stderr,
                flush=True,
            )

    def _in_words(self, losses: dict[str, float]) -> str:
        shown = [f"{name.replace('_', ' ')} {value:.3f}" for name, value in losses.items() if value]
        if self._check_is_due():
            shown += [f"losing lines at {playouts} playouts: {lines}" for playouts, lines in self.losing_lines.items()]
        return "".join(f", {text}" for text in shown)

    def _rng(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, purpose, number])

    # ------------------------------------------------------------------------------------------------- a round

    def _round(self) -> dict[str, float]:
        """Play, search again and learn; return the mean losses, empty before the first step."""
        began, config = time.process_time(), self.config
        count = min(config.games_per_round, config.games - self.played)
        settings, model = config.search_settings(config.playouts), LatentSearchModel(self.model)
        self.model.eval()
        rng = self._rng(SELF_PLAY, self.played)
        self._file.append(play_whole_games(self._rules, model, settings, count, rng, config.random_moves))
        losses: list[list[float]] = []
        if self.played >= config.start_games:
            games = WholeGames(self._rules, self._file.games[-config.window(self.played) :])
            samples = [self._sample(games, self.steps + step) for step in range(self._steps_due(count))]
            positions = positions_to_search(games, samples)
            fresh = search_again(games, positions, model, settings, self._rng(REANALYSIS, self.played))
            self.model.train()
            for starts in samples:
                batch = make_batch(games, starts, fresh, config.consistency_weight > 0)
                weights = LossWeights(config.value_weight, config.reward_weight, config.consistency_weight)
                loss = unrolled_loss(self.model, batch, weights)
                self._learn(loss.total)
                losses.append([part.item() for part in (loss.policy, loss.value, loss.reward, loss.consistency)])
        self.cpu_s += time.process_time() - began
        names = ("policy_loss", "value_loss", "reward_loss", "consistency_loss")
        return dict(zip(names, np.mean(losses, axis=0).round(4).tolist(), strict=True)) if losses else {}

    def _sample(self, games: WholeGames, step: int) -> SampledStarts:
        config = self.config
        rng = self._rng(SAMPLING, step)
        return sample_starts(games, config.batch_size, config.unroll_steps, config.reanalysed_share, rng)

    def _steps_due(self, new_games: int) -> int:
        """Return the number of training steps that the games of this round call for."""
        first = 0 if self.steps == 0 else self.played - new_games
        new_positions = sum(len(game.moves) for game in self._file.games[first:])
        return max(1, round(new_positions * self.config.reuse / self.config.batch_size))

    def _learn(self, loss: torch.Tensor) -> None:
        rate = self.config.learning_rate * (1 - 0.9 * min(1.0, self.played / self.config.games))
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), LONGEST_GRADIENT)
        self._optimizer.step()
        self.steps += 1
        remedy = "the same command with a smaller --learning-rate continues the run"
        expect_finite(self.model.parameters(), f"step {self.steps}", self.folder / "checkpoint.pt", remedy)

    # ------------------------------------------------------------------------------------------- after a round

    def _check_is_due(self) -> bool:
        config = self.config
        before = max(0, self.played - config.games_per_round)
        due = self.played // config.check_every > before // config.check_every or self.played >= config.games
        return due and config.is_tictactoe

    def _count_losing_lines(self) -> None:
        began = time.process_time()
        self.model.eval()
        self.losing_lines = {
            playouts: play_all_lines(self.model, self.config, playouts).losing_lines for playouts in CHECKED_PLAYOUTS
        }
        self.check_cpu_s += time.process_time() - began

    def _save(self, losses: dict[str, float]) -> None:
        """Write a row of metrics, the weights, and then the checkpoint, from which a run is continued."""
        row: dict[str, Any] = {"games": self.played, "steps": self.steps}
        row |= {name: losses.get(name, "") for name in ("policy_loss", "value_loss", "reward_loss", "consistency_loss")}
        row |= {"cpu_s": round(self.cpu_s, 1), "check_cpu_s": round(self.check_cpu_s, 1)}
        counts = self.losing_lines if self._check_is_due() else {}
        row |= {f"losing_lines_{playouts}": counts.get(playouts, "") for playouts in CHECKED_PLAYOUTS}
        add_row(self.folder / "metrics.csv", row)
        weights = io.BytesIO()
        torch.save(self.model.state_dict(), weights)
        write_whole(self.folder / "latest.model", weights.getvalue())
        state = {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "games": self.played,
            "steps": self.steps,
            "cpu_s": self.cpu_s,
            "check_cpu_s": self.check_cpu_s,
        }
        file = io.BytesIO()
        torch.save(state, file)
        write_whole(self.folder / "checkpoint.pt", file.getvalue(), durable=True)

    def write_config(self) -> None:
        """Write the settings."""
        write_whole(self.folder / "config.json", json.dumps(asdict(self.config), indent=2) + "\n")
