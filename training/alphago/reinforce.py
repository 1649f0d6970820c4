"""Stage reinforce: the policy improves by playing earlier versions of itself (Silver et al. 2016, Methods, "Policy network:
reinforcement learning"; REINFORCE, Williams 1992).

A step plays n games between the policy rho and an opponent drawn from a pool of earlier versions, which includes the supervised
policy. Both draw their moves. If z is the result for rho (1, -1 or 0), the step ascends the gradient

    1/n  sum over games and over rho's moves  of  d log p_rho(a | s) / d rho * (z - b(s) - c)

A gradient longer than `max_gradient` is clipped to that length, since nothing else limits the step. The baseline b is 0 or the
output of the supervised network's value head (the paper uses the value network in a second pass over the games). The constant c
is the mean of z - b(s) over the step's positions: b does not know which opponent was drawn, and a constant adds only variance.
The batch norms stay in eval mode and keep the statistics of the supervised training, so that the gradient is that of the policy
that played.

Where both sides draw their moves, it pays at once to draw them less at random, whichever moves are best. A `sharpness` above 1
gives the policy this gain at the start: it and its pool begin with the supervised policy p^sharpness, normalised, which has the
same most probable moves.

All random numbers of a step follow from the seed and the number of the step, so a killed run continues as if it had not been
killed.
"""

from __future__ import annotations

import copy
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from common.diverging import expect_finite
from common.interrupts import Interrupts
from games.protocol import PositionBatch
from training.alphago.config import StagesConfig
from training.alphago.play import SampledPolicy, play_to_end, results_for
from training.alphago.runs import (
    ProgressLine,
    digest_of,
    inference_network,
    load_stage_network,
    match_row,
    samples_of,
    write_metrics,
    write_stage_result,
)
from training.matches import Agent, MatchSettings, PolicyAgent, play_lockstep_match
from training.supervised.learning import SAVE_EVERY_S, load_checkpoint, model_of, save_checkpoint
from training.supervised.settings import CallError

CHUNK = 256  # positions in a batch of the network
OPENING_STONES = 4  # for games in which both play their most probable moves, which would otherwise all be the same


@dataclass(frozen=True)
class Episodes:
    """The learner's moves in the games of a step.

    Attributes:
        states: [N, planes, H, W] float32, the positions before the moves.
        legal: [N, A] bool, the legal moves in these positions.
        moves: [N] int64, the moves.
        results: [N] float32, the result z of each move's game for the learner.
        score: the learner's average score in the games; a draw counts half.
    """

    states: np.ndarray
    legal: np.ndarray
    moves: np.ndarray
    results: np.ndarray
    score: float


def play_episodes(learner: Agent, opponent: Agent, boards: PositionBatch) -> Episodes:
    """Play games side by side from these positions; the learner has the first seat in games with an even number."""
    seat = 1 + np.arange(len(boards)) % 2
    states, legal, chosen, of_game = [], [], [], []

    def choose(live: PositionBatch, games: np.ndarray) -> np.ndarray:
        moves = np.zeros(len(games), dtype=np.int64)
        own = live.side_to_move == seat[games]
        for turn, agent in ((own, learner), (~own, opponent)):
            if turn.any():
                moves[turn] = agent.choose(live.take(turn))
        seen = live.take(own)
        states.append(seen.feature_planes())
        legal.append(seen.legal)
        chosen.append(moves[own])
        of_game.append(games[own])
        return moves

    z = results_for(seat, play_to_end(boards, choose))
    results = z[np.concatenate(of_game)]
    score = float((1 + z.mean()) / 2)
    return Episodes(np.concatenate(states), np.concatenate(legal), np.concatenate(chosen), results, score)


def sharpened(model: nn.Module, power: float) -> nn.Module:
    """Return a copy of a network in eval mode whose policy is p^power, normalised."""
    model = copy.deepcopy(model).eval()
    with torch.no_grad():
        for weights in model.get_submodule("dense_layer_1").parameters():  # the logits are linear in them
            weights.mul_(power)
    return model


class Reinforce:
    """A policy-gradient training run in a folder.

    Args:
        config: the settings of all stages.
        run: the folder of all stages, with the network of the supervised stage.
        dtype: the type of the convolutions; None for the one that was faster when the run started.

    Attributes:
        model: the current policy.
        steps: the number of steps so far.
        scores: the scores of the steps since the latest measurement.
        gradient_norms: the lengths of their gradients before clipping.
        entropies: the mean entropies of the policy over legal moves in their positions, in nats.
        rows: the rows of metrics.csv.

    Raises:
        CallError: there is no supervised network, or the folder holds a run that started from another one, with another
            sharpness, or has another pool.
    """

    def __init__(self, config: StagesConfig, run: Path, dtype: torch.dtype | None = None) -> None:
        self.config, self.settings = config, config.reinforce
        self.folder = run / "reinforce"
        self.steps, self.cpu_s = 0, 0.0
        self.scores: list[float] = []
        self.gradient_norms: list[float] = []
        self.entropies: list[float] = []
        self.rows: list[dict[str, Any]] = []
        self.supervised = load_stage_network(run / "supervised", config)
        self.begun_from = {
            **config.recorded_game,
            "samples": samples_of(run / "supervised"),
            "weights": digest_of(run / "supervised"),
        }
        self._first = sharpened(self.supervised, self.settings.sharpness)
        self.model = copy.deepcopy(self._first)
        earlier = load_checkpoint(self.folder / "checkpoint.pt") if (self.folder / "checkpoint.pt").exists() else None
        if earlier:
            self._restore(earlier)
            dtype = getattr(torch, earlier["dtype"])
        self._baseline = inference_network(self.supervised, config, dtype)
        self.dtype, self.device = self._baseline.dtype, self._baseline.device
        self.model = self.model.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    # --------------------------------------------------------------------------------------------- learning

    def agent(self, model: nn.Module, rng: np.random.Generator) -> SampledPolicy:
        """Make an agent that draws moves from a network's policy."""
        return SampledPolicy(inference_network(model, self.config, self.dtype), rng)

    def _opponent(self, rng: np.random.Generator) -> nn.Module:
        """Draw a network from the pool with equal probabilities."""
        number = int(rng.integers(self.steps // self.settings.pool_every + 1)) * self.settings.pool_every
        if number == 0:
            return self._first
        return model_of(torch.load(self._pool(number), map_location="cpu", weights_only=True), self.config.rules)

    def _pool(self, steps: int) -> Path:
        return self.folder / "pool" / f"{steps:06}.pt"

    def step(self) -> float:
        """Play games against one opponent, take a gradient step, and return the learner's score in the games."""
        rng = np.random.default_rng([self.config.seed, 2, self.steps])
        opponent = self.agent(self._opponent(rng), rng)
        episodes = play_episodes(self.agent(self.model, rng), opponent, self.config.rules.batch(self.settings.games))
        self._ascend(episodes)
        self.steps += 1
        if self.steps % self.settings.pool_every == 0:
            self._pool(self.steps).parent.mkdir(parents=True, exist_ok=True)
            save_checkpoint(self._pool(self.steps), self.model.state_dict())
        return episodes.score

    def _ascend(self, episodes: Episodes) -> None:
        """Take a step of gradient ascent."""
        self.model.zero_grad()
        positions = len(episodes.moves)
        chunks = np.array_split(np.arange(positions), math.ceil(positions / CHUNK))
        advantages = episodes.results
        if self.settings.baseline:
            advantages = advantages - np.concatenate([self._baseline(episodes.states[chunk])[1] for chunk in chunks])
        advantages = advantages - advantages.mean()
        entropy = 0.0
        for chunk in chunks:
            states, legal, moves, gains = (
                torch.from_numpy(array[chunk]).to(self.device)
                for array in (episodes.states, episodes.legal, episodes.moves, advantages)
            )
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype is torch.bfloat16):
                log_probs, _ = self.model(states.contiguous(memory_format=torch.channels_last))
            log_probs = log_probs.float().masked_fill(~legal, -torch.inf).log_softmax(dim=1)
            chosen = log_probs.gather(1, moves[:, None])[:, 0]
            (-(gains * chosen).sum() / self.settings.games).backward()
            seen = log_probs.detach()
            entropy -= float((seen.exp() * seen.masked_fill(~legal, 0.0)).sum())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.max_gradient)
        self.gradient_norms.append(float(norm))
        self.entropies.append(entropy / positions)
        with torch.no_grad():
            for weight in self.model.parameters():
                if weight.grad is not None:  # the value head has no gradient
                    weight.sub_(weight.grad, alpha=self.settings.learning_rate)
        remedy = "go on with a smaller learning_rate in [reinforce] of the settings"
        expect_finite(self.model.parameters(), f"step {self.steps + 1}", self.folder / "checkpoint.pt", remedy)

    # ------------------------------------------------------------------------------------------- measuring

    def measure(self, games: int) -> dict[str, Any]:
        """Play a match of the policy against the supervised one from the empty board; both draw their moves."""
        rng = np.random.default_rng([self.config.seed, 20, self.steps])
        learner, supervised = self.agent(self.model, rng), self.agent(self.supervised, rng)
        return self._match(learner, supervised, games, rng, opening_stones=0)

    def measure_likeliest(self, games: int) -> dict[str, Any]:
        """Play a match with both sides' most probable moves, to see whether the policy is more than just less random."""
        rng = np.random.default_rng([self.config.seed, 21, self.steps])
        learner, supervised = (
            PolicyAgent(inference_network(net, self.config, self.dtype)) for net in (self.model, self.supervised)
        )
        stones = min(OPENING_STONES, (self.config.n_in_row or OPENING_STONES + 1) - 1)  # too few for a row
        return self._match(learner, supervised, games, rng, opening_stones=stones)

    def _match(
        self, learner: Agent, supervised: Agent, games: int, rng: np.random.Generator, opening_stones: int
    ) -> dict[str, Any]:
        settings = MatchSettings(self.config.rules, games, opening_stones, side_by_side=games)
        return match_row(play_lockstep_match((learner, supervised), settings, rng))

    # --------------------------------------------------------------------------------------------- keeping

    def save(self) -> None:
        """Write the checkpoint and the metrics."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.rows:
            write_metrics(self.folder, self.rows)
        state = {
            "begun_from": self.begun_from,
            "settings": asdict(self.settings),
            "dtype": str(self.dtype).removeprefix("torch."),
            "model": self.model.state_dict(),
            "steps": self.steps,
            "cpu_s": self.cpu_s,
            "scores": self.scores,
            "gradient_norms": self.gradient_norms,
            "entropies": self.entropies,
            "rows": self.rows,
        }
        save_checkpoint(self.folder / "checkpoint.pt", state)

    def _restore(self, state: dict[str, Any]) -> None:
        if not state["begun_from"].items() <= self.begun_from.items():  # an earlier version recorded less
            raise CallError(
                f"expected a training run from {self.begun_from} in {self.folder}; it started from {state['begun_from']}"
            )
        for name in ("pool_every", "sharpness"):
            # An earlier version knew neither sharpness nor the lists that have a default below.
            before, now = state["settings"].get(name, 1.0), getattr(self.settings, name)
            if now != before:
                raise CallError(f"expected {name} = {before}, as when the pool in {self.folder} was begun; got {now}")
        self.model.load_state_dict(state["model"])
        for name in ("steps", "cpu_s", "scores", "rows"):
            setattr(self, name, state[name])
        for name in ("gradient_norms", "entropies"):
            setattr(self, name, state.get(name, []))

    def _note(self) -> None:
        """Measure the policy, and add a row to the metrics."""
        games = self.settings.check_games
        measured, likeliest = self.measure(games), self.measure_likeliest(games)
        steps = {
            "score_against_pool": self.scores,
            "gradient_norm": self.gradient_norms,
            "entropy": self.entropies,
        }
        means = {name: round(float(np.mean(values)), 4) if values else "" for name, values in steps.items()}
        self.rows.append({"steps": self.steps, **means, "likeliest_moves_score": likeliest["score"], **measured})
        print(f"{self.steps} steps: against the supervised policy {self.rows[-1]}", flush=True)
        for values in steps.values():
            values.clear()

    def run(self) -> dict[str, Any]:
        """Train to the end, with measurements, checkpoints and lines of progress, and return the result.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; a step in progress, and the measurement after it, have been made.
        """
        settings, interrupts = self.settings, Interrupts()
        progress = ProgressLine("steps", settings.steps, self.steps)
        saved = time.monotonic()
        cpu = time.process_time()
        with interrupts.handled():
            if settings.sharpness != 1 and self.steps == 0 and not self.rows:
                self._note()  # what sharpening alone is worth
            while self.steps < settings.steps:
                self.scores.append(self.step())
                spent = time.process_time()
                self.cpu_s += spent - cpu
                cpu = spent
                if self.steps % settings.check_every == 0:
                    self._note()
                if time.monotonic() - saved > SAVE_EVERY_S or self.steps >= settings.steps:
                    self.save()
                    saved = time.monotonic()
                progress.show(self.steps)
                if interrupts.pressed:
                    raise KeyboardInterrupt
        result = {
            "steps": self.steps,
            "games": self.steps * settings.games,
            "cpu_s": round(self.cpu_s),
            "against_supervised": self.measure(settings.match_games),
            "likeliest_moves_against_supervised": self.measure_likeliest(settings.match_games),
        }
        write_stage_result(self.folder, result)
        return result
