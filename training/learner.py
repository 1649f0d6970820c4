"""A run of self-play as its learner sees it; `run.py` is the command.

The parallel scheme of AlphaGo Zero (Silver et al. 2017, Methods): workers play games of a network against itself, a learner
draws a fixed number of samples for each new position, an evaluator compares the network that learns with the best one.

Two things are what a run has come to. Games are written as they end (`replay.py`); the learner's state is checkpoint.pt, which
is replaced as a whole. The learner's draws follow from the seed and the number of the step alone, and how many steps are due
from the number of positions. So after a kill, the steps since the checkpoint are made again, over the games that are there,
and lost are the games in flight alone. Workers draw from the seed, the number of the start and their own: no start repeats
what one before has played.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np
import torch

from arena.statistics.estimates import Z_95
from common.errors import UsageError
from training.presets import RunConfig
from training.ratings import Pair, ratings
from training.replay import Origin, Replay
from training.report import Report, game_to_sgf, replace_bytes, replace_text
from training.samples import FinishedGame
from training.workers import Crew, Judgement, Played, Score, to_bytes

TIMED_STEPS, TIMED_SAMPLES = 3, 64
PUBLISH_STEPS = 32  # training steps after which workers get a new network, without a gate
SHOW_EVERY_S = 0.5 if sys.stderr.isatty() else 60.0


class Interrupts:
    """Ctrl-C ends what waits, and everything else only once it is done."""

    def __init__(self) -> None:
        self.asked = False
        self._waiting = False

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        """Within, Ctrl-C does as the class says."""
        before = signal.signal(signal.SIGINT, self._take)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Within, Ctrl-C is a KeyboardInterrupt at once; one that came before is one now."""
        self._waiting = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._waiting = False

    def _take(self, *_: Any) -> None:
        self.asked = True
        if self._waiting:
            raise KeyboardInterrupt


def learns_faster_in_bfloat16(net: Any, batch_size: int) -> bool:
    """Whether the network's own train_step is faster where torch computes in bfloat16 what it may, by some steps of a copy.

    The weights stay in float32. A step that wants float32 throughout, as one that makes numpy arrays on its way, is left it.
    """
    net, count = copy.deepcopy(net), min(batch_size, TIMED_SAMPLES)
    points = net.board_width * net.board_height
    states = np.zeros((count, net.planes_num, net.board_height, net.board_width), dtype=np.float32)
    probs, winners = np.full((count, points), 1 / points, dtype=np.float32), np.zeros(count, dtype=np.float32)
    seconds = []
    for in_bfloat16 in (False, True):
        with torch.autocast(net.device.type, torch.bfloat16, enabled=in_bfloat16):
            times = []
            for _ in range(TIMED_STEPS + 1):  # the first one also prepares
                started = time.perf_counter()
                try:
                    net.train_step(states, probs, winners, 0.0)
                except (TypeError, RuntimeError):
                    if in_bfloat16:
                        return False
                    raise
                times.append(time.perf_counter() - started)
        seconds.append(min(times[1:]))
    return seconds[1] < seconds[0]


class Run:
    """The learner, and what it knows of the run.

    Args:
        config: of the run.
        folder: where its files are.
        weights: a state_dict for the network to start from.

    Attributes:
        net: the student's network, with its optimiser.
        history: its settings, and after how many games which of them were changed.
        replay: all games.
        steps: training steps so far.
        evaluations: what came of each, as plain values; `other` is the place of the network that it was compared with.
        best: the place among them of the network to play with (with a gate) or to compare with.
        seconds: that the run has taken, with those before this start.
    """

    def __init__(self, config: RunConfig, folder: Path, weights: dict[str, torch.Tensor] | None = None) -> None:
        from AlphaZero.policy_value_net_torch import PolicyValueNet

        self.config, self.folder = config, folder
        torch.manual_seed(config.seed)
        self.net: Any = PolicyValueNet(config.board_width, config.board_height, config.blocks, cuda=torch.cuda.is_available())
        if weights is not None:
            self.net.model.load_state_dict(weights)
        self._in_bfloat16 = learns_faster_in_bfloat16(self.net, config.batch_size)
        self.history: list[dict[str, Any]] = [{"from_games": 0, **asdict(config)}]
        self.steps = 0
        self.evaluations: list[dict[str, Any]] = []
        self.best: int | None = None
        self.seconds = 0.0
        self.replay: Replay
        self._report: Report
        self._start = 0
        self._interrupts = Interrupts()
        self._candidate: tuple[int, int, bytes] | None = None  # games, steps and weights of what is being evaluated
        self._best_weights = b""
        self._published, self._published_at = b"", -1
        self._given: dict[int, int] = {}  # worker -> steps of its network
        self._losses: list[tuple[float, float]] = []
        self._busy: set[int] = set()
        self._evaluations_asked = 0
        self._latest: FinishedGame | None = None

    # ------------------------------------------------------------------------------------------------ its files

    def begin(self) -> None:
        """Make the files of a new run; config.json is the last of them."""
        (self.folder / "games.jsonl").unlink(missing_ok=True)  # of one that was killed before that
        self._open()
        self._save()
        self.write_config()

    def resume(self) -> None:
        """Go on from the files.

        Raises:
            UsageError: they are damaged.
        """
        path = self.folder / "checkpoint.pt"
        try:
            state = torch.load(path, map_location=self.net.device, weights_only=True)
            self.net.model.load_state_dict(state["model"])
            self.net.optimizer.load_state_dict(state["optimizer"])
            self.steps, self.evaluations, self.best = state["steps"], state["evaluations"], state["best"]
            self.seconds, self.history = state["seconds"], state["history"]
            if self.best is not None:
                self._best_weights = self._snapshot(self.best).read_bytes()
        except Exception as error:  # what torch's unpickler raises for a file that is none has no common class
            raise UsageError(
                f"expected the run's checkpoint in {path}; it is missing, damaged or of another network"
            ) from error
        before = {name: value for settings in self.history for name, value in settings.items()}
        changed = {name: value for name, value in asdict(self.config).items() if value != before[name]}
        if changed:
            self.history.append({"from_games": state["games"], **changed})
        self._open(state["games"])
        if self.evaluations:
            self._report.rate(self.elo())

    def _open(self, games: int = 0) -> None:
        config = self.config
        self.replay = Replay(self.folder, config.board_width, config.board_height, config.buffer_positions)
        self._report = Report(self.folder, games)
        self._start, self._first_game = self.replay.starts, self.replay.games
        self._began = self._shown_at = self._saved_at = time.monotonic()
        self._saved_games = self.replay.games

    def write_config(self) -> None:
        """The settings as they are now."""
        replace_text(self.folder / "config.json", json.dumps(asdict(self.config), indent=2) + "\n")

    def _snapshot(self, evaluation: int) -> Path:
        return self.folder / "networks" / f"{self.evaluations[evaluation]['games']:07}.model"

    def _save(self) -> None:
        """A row of metrics and then the checkpoint: rows beyond a checkpoint are taken back, none is missing."""
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
                    "evaluations_per_s": round(self._evaluations_asked / passed),
                    "seconds": round(self.seconds, 1),
                }
            )
        self._losses.clear()
        self._saved_at, self._saved_games, self._evaluations_asked = now, games, 0
        state = {
            "model": self.net.model.state_dict(),
            "optimizer": self.net.optimizer.state_dict(),
            "games": games,
            "steps": self.steps,
            "evaluations": self.evaluations,
            "best": self.best,
            "seconds": self.seconds,
            "history": self.history,
        }
        file = io.BytesIO()
        torch.save(state, file)
        replace_bytes(self.folder / "checkpoint.pt", file.getvalue())

    # ------------------------------------------------------------------------------------------------- the run

    def go(self, crew: Crew) -> None:
        """Play, learn and evaluate to the end, or to Ctrl-C, which is a KeyboardInterrupt once everything is saved."""
        with self._interrupts.handled():
            try:
                self._learn()  # what a kill has undone
                for worker in range(crew.workers):
                    self._ask_for_games(crew, worker)
                while self._ask_for_evaluation(crew) or self._busy:
                    with self._interrupts.allowed():
                        member, answer = crew.answer()
                    self._busy.discard(member)
                    if member == crew.workers:
                        self._take_judgement(answer)
                    else:
                        self._take_games(member, answer)
                        self._ask_for_games(crew, member)
                        self._learn()
                    self._show()
            finally:
                crew.close()
                self._save()
                self._report.close()

    def _ended(self) -> bool:
        return self.replay.games >= self.config.games

    def _ask_for_games(self, crew: Crew, worker: int) -> None:
        if self._ended():
            return
        if self.config.gate and self.best is not None:
            at, weights = self.evaluations[self.best]["steps"], self._best_weights
        else:
            if self._published_at < 0 or self.steps >= self._published_at + PUBLISH_STEPS:
                self._published, self._published_at = to_bytes(self.net.model), self.steps
            at, weights = self._published_at, self._published
        crew.ask(worker, "play", weights if self._given.get(worker) != at else None)
        self._given[worker] = at
        self._busy.add(worker)

    def _take_games(self, member: int, played: Played) -> None:
        for number, game in enumerate(played.games, played.first):
            self.replay.append(game, Origin(self._start, played.worker, number, self._given[member]))
        self._latest = played.games[-1]
        self._evaluations_asked += played.evaluations

    def _learn(self) -> None:
        """Make the steps that are due, but for Ctrl-C."""
        config = self.config
        due = int((self.replay.positions - config.start_positions) * config.reuse / config.batch_size)
        rate = config.learn_rate * (1 - 0.9 * min(1.0, self.replay.games / config.games))
        while self.steps < due and not self._interrupts.asked:
            batch = self.replay.sample(config.batch_size, np.random.default_rng([config.seed, self.steps]))
            with torch.autocast(self.net.device.type, torch.bfloat16, enabled=self._in_bfloat16):
                self._losses.append(self.net.train_step(*batch, rate))
            self.steps += 1
            if time.monotonic() - self._saved_at > config.save_every_s:
                self._save()

    def _ask_for_evaluation(self, crew: Crew) -> bool:
        """Whether the evaluator has something to do."""
        if self._candidate is None:
            games, every = self.replay.games, self.config.check_every
            latest = self.evaluations[-1]["games"] if self.evaluations else None
            last = self._ended() and not self._busy and latest != games
            if latest is None or games // every > latest // every or last:
                self._candidate = games, self.steps, to_bytes(self.net.model)
                crew.ask(crew.workers, "judge", self._candidate[2], self._best_weights or None)
                self._busy.add(crew.workers)
        return self._candidate is not None

    def _take_judgement(self, judgement: Judgement) -> None:
        assert self._candidate is not None
        games, steps, weights = self._candidate
        self._candidate = None
        scores = {"against_other": judgement.against_other, "against_mcts": judgement.against_mcts}
        found = {"games": games, "steps": steps, "accepted": judgement.accepted, "other": self.best}
        self.evaluations.append(found | {name: None if s is None else list(astuple(s)) for name, s in scores.items()})
        path = self._snapshot(-1)
        path.parent.mkdir(exist_ok=True)
        replace_bytes(path, weights)
        if judgement.accepted:
            self.best, self._best_weights = len(self.evaluations) - 1, weights
            replace_bytes(self.folder / "best.model", weights)
        self._save()
        table = self.elo()
        self._report.rate(table)
        self._write_samples(judgement, games)
        self._say(self._describe(table[-1], judgement))

    def elo(self) -> list[dict[str, Any]]:
        """A row for each evaluation, with Elo above pure MCTS from the matches of all."""
        pairs = []
        for place, found in enumerate(self.evaluations, 1):
            for name, opponent in (("against_mcts", 0), ("against_other", (found["other"] or 0) + 1)):
                if found[name] is not None:
                    score = Score(*found[name])
                    pairs.append(Pair(opponent, place, score.rate * score.effective_games, score.effective_games))
        count = len(self.evaluations) + 1
        elo, covariance = ratings(count, pairs)
        rows = []
        for place, found in enumerate(self.evaluations, 1):
            row = {"games": found["games"], "steps": found["steps"], "accepted": int(found["accepted"])}
            for name in ("against_other", "against_mcts"):
                row |= {f"{name}_{part}": (found[name] or ["", "", ""])[at] for at, part in enumerate(("won", "drawn", "lost"))}
            rows.append(row | {"elo": round(elo[place]), "error_95": round(Z_95 * covariance[place, place] ** 0.5)})
        return rows

    # --------------------------------------------------------------------------------------------- what it says

    def _write_samples(self, judgement: Judgement, games: int) -> None:
        """The latest game of self-play and the first one against pure MCTS, of this evaluation."""
        width, height = self.config.board_width, self.config.board_height
        if self._latest is not None:
            names = (f"self-play, {games} games", "the same")
            comment = "resigned" if self._latest.resigned else ""
            moves = self._latest.moves.tolist()
            text = game_to_sgf(width, height, self.replay.games - 1, moves, self._latest.winner, names, comment)
            self._report.sgf(f"{games:07}_selfplay", text)
        mcts = f"pure MCTS, {self.config.mcts_playouts} playouts"
        game = judgement.sample
        text = game_to_sgf(width, height, game.number, game.moves, game.winner, (f"network after {games} games", mcts))
        self._report.sgf(f"{games:07}_mcts", text)

    def _describe(self, row: dict[str, Any], judgement: Judgement) -> str:
        """An evaluation as a line."""
        parts = [f"against pure MCTS {_counts(judgement.against_mcts)}"]
        if judgement.against_other is not None:
            other, verdict = "the one before", ""
            if self.config.gate:
                other, verdict = "the best", ", accepted" if judgement.accepted else ", refused"
            parts.append(f"against {other} {_counts(judgement.against_other)}{verdict}")
        return f"{row['games']} games: {'; '.join(parts)}; Elo {row['elo']:+} +- {row['error_95']} against pure MCTS"

    def _show(self) -> None:
        """A line of progress now and then."""
        now = time.monotonic()
        if now - self._shown_at < SHOW_EVERY_S:
            return
        self._shown_at = now
        games, passed = self.replay.games, now - self._began
        rate = (games - self._first_game) / passed
        loss = f", loss {np.mean([loss for loss, _ in self._losses]):.3f}" if self._losses else ""
        left = f", {max(0, self.config.games - games) / rate / 60:.0f} min left" if rate else ""
        asked = self._evaluations_asked / (now - self._saved_at)
        self._say(
            f"{games} of {self.config.games} games, {rate:.1f} games/s, {asked:.0f} evaluations/s{loss}{left}", passing=True
        )

    @staticmethod
    def _say(line: str, passing: bool = False) -> None:
        """A line on stderr; on a terminal a passing one is written over by the next."""
        terminal = sys.stderr.isatty()
        start, end = ("\r\x1b[K", "" if passing else "\n") if terminal else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)


def _counts(score: Score) -> str:
    return f"{score.wins} won, {score.draws} drawn, {score.losses} lost"
