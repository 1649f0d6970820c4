"""The learner of a self-play run; `long_run.py` is the command.

This is the parallel scheme of AlphaGo Zero (Silver et al. 2017, Methods): workers play games of a network against itself, the
learner draws a fixed number of samples for each new position, and an evaluator compares the latest network with the best one.

The state of a run is kept in two places. Every game is written when it ends (`replay_buffer.py`). The learner's own state is in
checkpoint.pt, which is always replaced as a whole. The random numbers of a training step depend only on the seed and the
number of the step, and the number of steps that are due depends only on the number of positions. So after a kill the steps
since the checkpoint are repeated on the games that were written, and only the games in flight are lost. Workers seed their
random generators with the run's seed, the number of the start and their own number, so that no start repeats the games of an
earlier one.
"""

from __future__ import annotations

import copy
import io
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from arena.statistics.estimates import Z_95
from common.diverging import are_finite, expect_finite
from common.errors import UsageError
from common.files import write_whole
from common.interrupts import Interrupts
from games.protocol import GameRules
from training.inference.networks import TrainableNetwork, trainable_network
from training.inference.timing import computing_clock, shortest_time
from training.old_settings import with_current_names
from training.ratings import RatedPair, elo_ratings
from training.samples import FinishedGame
from training.selfplay.presets import DEFAULTS, RunConfig
from training.selfplay.replay_buffer import Origin, ReplayBuffer
from training.selfplay.run_report import RunReport, SampleGame, sample_to_sgf
from training.selfplay.worker_networks import to_bytes
from training.selfplay.workers import CandidateResult, Crew, InlineCrew, Played, Score

TIMED_SAMPLES = 64
SHOW_EVERY_S = 0.5 if sys.stderr.isatty() else 60.0


def learns_faster_in_bfloat16(net: TrainableNetwork, rules: GameRules, batch_size: int) -> bool:
    """Return whether the network's train_step is faster under torch's autocast to bfloat16, timed on a few steps of a copy.

    The weights stay in float32. If train_step fails under autocast, for example because it converts tensors to numpy arrays,
    the result is False, and training uses float32 throughout.
    """
    net, count = copy.deepcopy(net), min(batch_size, TIMED_SAMPLES)
    states = np.zeros((count, rules.planes, rules.height, rules.width), dtype=np.float32)
    probs, winners = np.full((count, rules.actions), 1 / rules.actions, dtype=np.float32), np.zeros(count, dtype=np.float32)
    clock = computing_clock(net.device)

    def step() -> None:
        net.train_step(states, probs, winners, 0.0)

    in_float32 = shortest_time(step, clock)
    with torch.autocast(net.device.type, torch.bfloat16):
        try:
            return shortest_time(step, clock, in_float32) < in_float32
        except (TypeError, RuntimeError):
            return False


@dataclass(frozen=True)
class Candidate:
    """The network under evaluation, and the numbers of games, training steps, samples and CPU seconds that made it."""

    games: int
    steps: int
    samples: int
    cpu_s: float
    weights: bytes


class Learner:
    """The learner and the state of its run.

    Args:
        config: the settings of the run.
        folder: the run's folder.
        weights: a state_dict for the network to start from; None for new random weights.

    Attributes:
        net: the network with its optimiser.
        history: the settings at the start, and each later change with the number of games played before it.
        replay: all games.
        steps: the number of training steps so far.
        samples: the number of samples drawn for them.
        evaluations: the result of each evaluation, as plain values; `other` is the index of the network with which the
            evaluated network was compared.
        best: the index in `evaluations` of the network that plays (with a gate) or serves for comparison.
        seconds: the time that the run has taken, over all its starts.
        computed_by: how the workers have computed the network, as rows {"from_games", "start", "by"}; one for each way in
            each start of the run.
    """

    def __init__(self, config: RunConfig, folder: Path, weights: dict[str, torch.Tensor] | None = None) -> None:
        self.config, self.folder = config, folder
        torch.manual_seed(config.seed)
        self.net = trainable_network(config.network, config.rules(), config.blocks, config.filters)
        if weights is not None:
            self.net.model.load_state_dict(weights)
        self._in_bfloat16 = learns_faster_in_bfloat16(self.net, config.rules(), config.batch_size)
        self.history: list[dict[str, Any]] = [{"from_games": 0, **asdict(config)}]
        self.steps = self.samples = 0
        self._learning_cpu_s = 0.0  # and that of the gate's matches
        self._unended_cpu_s: dict[int, float] = {}  # worker -> its CPU time since its latest game ended
        # These settings apply from this number of positions on, at which earlier settings had made this many steps due.
        self._due_from = 0, 0.0
        self.evaluations: list[dict[str, Any]] = []
        self.best: int | None = None
        self.seconds = 0.0
        self.computed_by: list[dict[str, Any]] = []
        self.replay: ReplayBuffer
        self._report: RunReport
        self._start = 0
        self._interrupts = Interrupts()
        self._candidate: Candidate | None = None
        self._best_weights = b""
        self._published, self._published_at = b"", -1
        self._given: dict[int, int] = {}  # worker -> training steps of the network with which it plays
        self._losses: list[tuple[float, float]] = []
        self._busy: set[int] = set()
        self._network_evaluations = self._saved_evaluations = 0  # since the start, and of these, until the last save
        self._latest: FinishedGame | None = None
        self._side_by_side = config.games_at_once
        self._evaluating_s: list[float] = []  # the time of each evaluation for which self-play waited

    # ------------------------------------------------------------------------------------------------ files

    def begin(self) -> None:
        """Write the files of a new run, config.json last."""
        (self.folder / "games.jsonl").unlink(missing_ok=True)  # left by a start that was killed before it wrote config.json
        self._open()
        self._save()
        self.write_config()

    def resume(self) -> None:
        """Continue from the files of the run.

        Raises:
            UsageError: a file is missing, is damaged or belongs to another network.
        """
        path = self.folder / "checkpoint.pt"
        try:
            state = torch.load(path, map_location=self.net.device, weights_only=True)
            self.net.model.load_state_dict(state["model"])
            self.net.optimizer.load_state_dict(state["optimizer"])
            self.steps, self.evaluations, self.best = state["steps"], state["evaluations"], state["best"]
            self.seconds = state["seconds"]
            self.computed_by = state.get("computed_by", [])
            self.history = [with_current_names(settings) for settings in state["history"]]
            before = DEFAULTS | {name: value for settings in self.history for name, value in settings.items()}
            self.samples = state.get("samples", self.steps * before["batch_size"])
            self._learning_cpu_s = state.get("learning_cpu_s", 0.0)
            if self.best is not None:
                self._best_weights = self._snapshot(self.best).read_bytes()
        except Exception as error:  # torch's unpickler has no common class for the errors of a damaged file
            raise UsageError(
                f"expected the run's checkpoint in {path}; it is missing, damaged or belongs to another network"
            ) from error
        if self.best is not None:
            # A kill after best.model was written and before the checkpoint was leaves a network that did not count yet.
            write_whole(self.folder / "best.model", self._best_weights, durable=True)
        self._open(state["games"])
        self._due_from = state.get("due_from", (0, 0.0) if len(self.history) == 1 else (self.replay.positions, self.steps))
        self._change(before)
        if self.evaluations:
            self._report.rate(self.elo())

    def _change(self, before: Mapping[str, Any]) -> None:
        """Note which settings differ from those before, and that they apply from the present games and positions on."""
        config = self.config
        changed = {name: value for name, value in asdict(config).items() if value != before[name]}
        if not changed:
            return
        self.history.append({"from_games": self.replay.games, **changed})
        if changed.keys() & {"batch_size", "reuse", "start_positions"}:
            due = self._steps_due(before["start_positions"], before["reuse"], before["batch_size"])
            # Steps that are due but not made yet, because of a kill or Ctrl-C, draw as many samples as they would have drawn.
            due = self.steps + (due - self.steps) * before["batch_size"] / config.batch_size
            self._due_from = self.replay.positions, due
        if "resign_below" in changed:
            self.replay.would_resign = [0, 0, 0]
        self._save()  # before config.json: a kill in between leaves no settings that apply from nowhere

    def _open(self, games: int = 0) -> None:
        config = self.config
        bound_from = next((settings["from_games"] for settings in reversed(self.history) if "resign_below" in settings), 0)
        self.replay = ReplayBuffer(self.folder, config.rules(), config.buffer_positions, bound_from)
        self._report = RunReport(self.folder, games, self.steps)
        self._start, self._first_game, self._first_share = self.replay.starts, self.replay.games, self._share()
        self._began = self._shown_at = self._saved_at = time.monotonic()
        self._saved_games = self.replay.games

    def write_config(self) -> None:
        """Write the current settings."""
        write_whole(self.folder / "config.json", json.dumps(asdict(self.config), indent=2) + "\n")

    def _snapshot(self, evaluation: int) -> Path:
        return self.folder / "networks" / f"{self.evaluations[evaluation]['games']:07}.model"

    def _save(self) -> None:
        """Write a row of metrics and then the checkpoint: on resuming, rows later than the checkpoint can be removed."""
        self.replay.flush()
        now, games = time.monotonic(), self.replay.games
        passed = now - self._saved_at
        self.seconds += passed
        if self._losses:
            loss, entropy = np.mean(self._losses, axis=0)
            self._report.note(
                {
                    "games": games,
                    "positions": self.replay.positions,
                    "steps": self.steps,
                    "loss": round(float(loss), 4),
                    "entropy": round(float(entropy), 4),
                    "games_per_s": round((games - self._saved_games) / passed, 2),
                    "evaluations_per_s": round((self._network_evaluations - self._saved_evaluations) / passed),
                    "seconds": round(self.seconds, 1),
                }
            )
        self._losses.clear()
        self._saved_at, self._saved_games, self._saved_evaluations = now, games, self._network_evaluations
        state = {
            "model": self.net.model.state_dict(),
            "optimizer": self.net.optimizer.state_dict(),
            "games": games,
            "steps": self.steps,
            "samples": self.samples,
            "learning_cpu_s": self._learning_cpu_s,
            "due_from": self._due_from,
            "evaluations": self.evaluations,
            "best": self.best,
            "seconds": self.seconds,
            "computed_by": self.computed_by,
            "history": self.history,
            "complete": self._ended() and bool(self.evaluations) and self.evaluations[-1]["games"] == games,
        }
        file = io.BytesIO()
        torch.save(state, file)
        write_whole(self.folder / "checkpoint.pt", file.getvalue(), durable=True)

    # ------------------------------------------------------------------------------------------------- the run

    def go(self, crew: Crew) -> None:
        """Play, learn and evaluate until the run ends; on Ctrl-C, save everything and raise KeyboardInterrupt.

        Raises:
            UsageError: a process of the crew has ended, or training has diverged; then the checkpoint stays as it was.
        """
        self._side_by_side = self.config.games_at_once * crew.workers
        with self._interrupts.handled():
            try:
                self._learn()  # repeat the steps that were lost in a kill
                for worker in range(crew.workers):
                    self._start_games(crew, worker)
                while self._start_evaluation(crew) or self._busy:
                    waiting_from = time.monotonic()
                    with self._interrupts.allowed():
                        member, result = crew.next_result()
                    self._busy.discard(member)
                    if member == crew.workers:
                        if isinstance(crew, InlineCrew):
                            self._evaluating_s.append(time.monotonic() - waiting_from)
                        self._take_result(result)
                    else:
                        self._take_games(member, result)
                        self._start_games(crew, member)
                        self._learn()
                    self._show()
            finally:
                crew.close()
                if are_finite(self.net.model.parameters()):
                    self._save()
                self._report.close()

    def _share(self) -> float:
        """Return how much of the run is done, from 0 to 1, by its games or by its CPU time."""
        share, limit_s = self.replay.games / self.config.games, 60 * self.config.cpu_minutes
        return min(1.0, max(share, self._cpu_s() / limit_s) if limit_s else share)

    def done_so_far(self) -> str:
        """Return how much of the run is done, in words."""
        games, minutes = f"{self.replay.games} of {self.config.games} games", self.config.cpu_minutes
        return f"{games}, {self._cpu_s() / 60:.1f} of {minutes:g} CPU minutes" if minutes else games

    def _cpu_s(self) -> float:
        return self.replay.cpu_s + self._learning_cpu_s + sum(self._unended_cpu_s.values())

    def _ended(self) -> bool:
        return self._share() >= 1

    def _start_games(self, crew: Crew, worker: int) -> None:
        if self._ended():
            return
        if self.config.gate and self.best is not None:
            at, weights = self.evaluations[self.best]["steps"], self._best_weights
        else:
            if self._published_at < 0 or self.steps >= self._published_at + self.config.publish_steps:
                self._published, self._published_at = to_bytes(self.net.model), self.steps
            at, weights = self._published_at, self._published
        crew.start(worker, "play", weights if self._given.get(worker) != at else None)
        self._given[worker] = at
        self._busy.add(worker)

    def _note_backend(self, by: str) -> None:
        """Record how a worker computes the network, and say so once; say it if an earlier start had another way."""
        now = {row["by"] for row in self.computed_by if row["start"] == self._start}
        if by in now:
            return
        before = [row["by"] for row in self.computed_by if row["start"] != self._start]
        self.computed_by.append({"from_games": self.replay.games, "start": self._start, "by": by})
        other = f"; until game {self.replay.games} it was {before[-1]}" if before and by != before[-1] else ""
        self._say(f"In self-play, the network is computed by {by}{other}")

    def _take_games(self, member: int, played: Played) -> None:
        self._note_backend(played.computed_by)
        self._network_evaluations += played.evaluations
        self._unended_cpu_s[member] = self._unended_cpu_s.get(member, 0.0) + played.cpu_s
        for number, game in enumerate(played.games, played.first):
            cpu_s = round(self._unended_cpu_s.pop(member, 0.0), 4)
            self.replay.append(game, Origin(self._start, played.worker, number, self._given[member], cpu_s))
            self._latest = game

    def _learn(self) -> None:
        """Make the training steps that are due; stop at Ctrl-C."""
        config = self.config
        due = int(self._steps_due(config.start_positions, config.reuse, config.batch_size))
        rate = config.learning_rate * (1 - 0.9 * self._share())
        while self.steps < due and not self._interrupts.pressed:
            began = time.process_time()
            rng, window = np.random.default_rng([config.seed, self.steps]), config.window(self.replay.positions)
            batch = self.replay.sample(config.batch_size, rng, window, config.root_value_weight)
            with torch.autocast(self.net.device.type, torch.bfloat16, enabled=self._in_bfloat16):
                self._losses.append(self.net.train_step(*batch, rate))
            self.steps += 1
            expect_finite(
                self.net.model.parameters(),
                f"step {self.steps}",
                self.folder / "checkpoint.pt",
                "continue with --resume and a smaller --learning-rate",
            )
            self.samples += config.batch_size
            self._learning_cpu_s += time.process_time() - began
            if time.monotonic() - self._saved_at > config.save_every_s:
                self._save()

    def _steps_due(self, start_positions: int, reuse: float, batch_size: int) -> float:
        """Return the number of training steps that are due by these settings for the positions so far."""
        since, steps = self._due_from
        return steps + max(0, self.replay.positions - max(since, start_positions)) * reuse / batch_size

    def _start_evaluation(self, crew: Crew) -> bool:
        """Start the next evaluation if one is due, and return whether one is running."""
        if self._candidate is None:
            games, every = self.replay.games, self.config.check_every
            latest = self.evaluations[-1]["games"] if self.evaluations else None
            last = self._ended() and not self._busy and latest != games
            if last:
                minutes = f", about {self._evaluating_s[-1] / 60:.0f} min" if self._evaluating_s else ""
                self._say(f"Self-play has ended; the last network plays its matches{minutes}")
            if latest is None or games // every > latest // every or last:
                self._candidate = Candidate(games, self.steps, self.samples, self._cpu_s(), to_bytes(self.net.model))
                crew.start(crew.workers, "evaluate", self._candidate.weights, self._best_weights or None)
                self._busy.add(crew.workers)
        return self._candidate is not None

    def _take_result(self, result: CandidateResult) -> None:
        assert self._candidate is not None
        candidate, self._candidate = self._candidate, None
        games, weights = candidate.games, candidate.weights
        scores = {"gate": result.gate, "against_other": result.against_other, "against_mcts": result.against_mcts}
        self._learning_cpu_s += result.gate_cpu_s
        evaluation: dict[str, Any] = {"games": games, "steps": candidate.steps, "samples": candidate.samples}
        evaluation["cpu_s"] = round(candidate.cpu_s, 2)
        evaluation |= {"accepted": result.accepted, "other": self.best, "would_resign": list(self.replay.would_resign)}
        self.evaluations.append(evaluation | {name: None if s is None else list(astuple(s)) for name, s in scores.items()})
        path = self._snapshot(-1)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, weights, durable=True)
        if result.accepted:
            self.best, self._best_weights = len(self.evaluations) - 1, weights
            write_whole(self.folder / "best.model", weights, durable=True)
        self._save()
        table = self.elo()
        self._report.rate(table)
        self._write_samples(result, games)
        self._say(self._describe(table[-1], result))

    def elo(self) -> list[dict[str, Any]]:
        """Return a row for each evaluation, with the Elo above pure MCTS, computed from all matches of a fixed length.

        Gate matches do not count: a match that ends as soon as it is decided has on average a more extreme score than its
        players are worth. Runs from before there were separate matches for the rating have only those.
        """
        pairs = []
        for place, evaluation in enumerate(self.evaluations, 1):
            for name, opponent in (("against_mcts", 0), ("against_other", (evaluation["other"] or 0) + 1)):
                if evaluation[name] is not None:
                    score = Score(*evaluation[name])
                    pairs.append(RatedPair(opponent, place, score.rate * score.effective_games, score.effective_games))
        count = len(self.evaluations) + 1
        elo, covariance = elo_ratings(count, pairs)
        rows = []
        for place, evaluation in enumerate(self.evaluations, 1):
            row = {name: int(evaluation[name]) for name in ("games", "steps", "accepted")}
            for name in ("gate", "against_other", "against_mcts", "would_resign"):
                counts = evaluation.get(name) or ["", "", ""]
                row |= {f"{name}_{part}": counts[at] for at, part in enumerate(("won", "drawn", "lost"))}
            rows.append(row | {"elo": round(elo[place]), "error_95": round(Z_95 * covariance[place, place] ** 0.5)})
        return rows

    # --------------------------------------------------------------------------------------------- output

    def _write_samples(self, result: CandidateResult, games: int) -> None:
        """Write the latest game of self-play and the first game of this evaluation against pure MCTS."""
        rules = self.config.rules()
        if self._latest is not None:
            names = (f"self-play, {games} games", "the same")
            comment = "resigned" if self._latest.resigned else ""
            latest = SampleGame(self.replay.games - 1, self._latest.moves.tolist(), self._latest.winner, names, comment)
            self._report.sgf(f"{games:07}_selfplay", sample_to_sgf(latest, rules))
        mcts = f"pure MCTS, {self.config.mcts_playouts} playouts"
        names = (f"network after {games} games", mcts)
        sample = SampleGame(result.sample.number, result.sample.moves, result.sample.winner, names)
        self._report.sgf(f"{games:07}_mcts", sample_to_sgf(sample, rules))

    def _describe(self, row: dict[str, Any], result: CandidateResult) -> str:
        """Describe an evaluation in one line."""
        parts = [f"against pure MCTS {_counts(result.against_mcts)}"]
        if result.against_other is not None:
            other = "the best" if self.config.gate else "the one before"
            parts.append(f"against {other} {_counts(result.against_other)}")
        if result.gate is not None:
            parts.append(f"gate {_counts(result.gate)}, {'accepted' if result.accepted else 'refused'}")
        if any(self.replay.would_resign):
            won, drawn, lost = self.replay.would_resign
            count = won + drawn + lost
            parts.append(f"of {count} games that a side would have resigned, it won {won} ({won / count:.1%}) and drew {drawn}")
        return f"{row['games']} games: {'; '.join(parts)}; Elo {row['elo']:+} +- {row['error_95']} against pure MCTS"

    def _show(self) -> None:
        """Print a line of progress from time to time.

        It names the time left once as many games have ended as are played side by side: the first ones to end are short. An
        evaluation for which self-play waits counts in proportion to the games, since the first one comes before all games.
        """
        now = time.monotonic()
        if now - self._shown_at < SHOW_EVERY_S:
            return
        self._shown_at = now
        games, passed, share = self.replay.games, now - self._began, self._share()
        ended = games - self._first_game
        loss = f", loss {np.mean([loss for loss, _ in self._losses]):.3f}" if self._losses else ""
        done = share - self._first_share
        left = ""
        if done and ended >= self._side_by_side:
            evaluating_s = sum(self._evaluating_s)
            one_evaluation_s = evaluating_s / max(1, len(self._evaluating_s))
            steady_s = passed - evaluating_s + one_evaluation_s * ended / self.config.check_every
            left = f", {(1 - share) / done * steady_s / 60:.0f} min left"
        rates = f"{ended / passed:.1f} games/s, {self._network_evaluations / passed:.0f} evaluations/s"
        self._say(f"{self.done_so_far()}, {rates}{loss}{left}", passing=True)

    @staticmethod
    def _say(line: str, passing: bool = False) -> None:
        """Print a line on stderr; on a terminal, a passing line is overwritten by the next one."""
        terminal = sys.stderr.isatty()
        start, end = ("\r\x1b[K", "" if passing else "\n") if terminal else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)


def _counts(score: Score) -> str:
    return f"{score.wins} won, {score.draws} drawn, {score.losses} lost"
