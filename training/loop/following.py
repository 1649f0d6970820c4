"""Follow a training run: the bar on the screen, the curves, and the state from which `--resume` continues."""

from __future__ import annotations

import secrets
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from common.diverging import expect_finite
from common.errors import UsageError
from common.locks import lock
from training.loop.curves import CurveRow, LearningCurves
from training.loop.earlier import set_aside
from training.loop.estimate import Ends, Span, ends_of, span_in_words
from training.loop.state import State, board_of, can_be_saved_now, state_of, write_state
from training.loop.verifying import Measurement

CURRENT = "tmp/current_policy.model"
STATE = "tmp/training_state.pt"
TABLE = "tmp/training.csv"
PICTURE = "tmp/training.svg"
LOCK = "tmp/training.lock"
SHOW_EVERY_S = 0.2
SAVE_EVERY_S = 1.0
SAVING_SHARE = 0.02  # of the time, at most: the samples of a large board take a while to write
FIRST_GAMES = 3  # left out of the time for a game: torch takes longer the first time
BAR = "{percentage:3.0f}%|{bar:5}| {desc}"


class AboutRun:
    """What a pipeline itself does not know about its run.

    Attributes:
        preset: the name of its settings.
        run: a name that no other run has.
        seed: the seed of its random generators, if it is known.
        rows: the curves of the part of the run before it was interrupted.
        computed_by: how the network is computed in games side by side; empty if the student's search plays.
        resumed_from: the file of the state from which the run continues; None if it begins.
        was_interrupted: whether Ctrl-C ended it.
    """

    def __init__(self, preset: str) -> None:
        self.preset = preset
        self.run = secrets.token_hex(8)
        self.seed: int | None = None
        self.rows: list[CurveRow] = []
        self.computed_by = ""
        self.resumed_from: Path | None = None
        self.was_interrupted = False

    def continue_run(self, about: State, resumed_from: Path) -> None:
        """Take over what the state of an interrupted run says."""
        self.run, self.seed, self.rows = about["run"], about["seed"], [tuple(row) for row in about["rows"]]
        self.computed_by = about.get("computed_by", "")  # the state of an earlier version does not say it
        self.resumed_from = resumed_from


class Following:
    """Follows a pipeline from the start of `run` to its end; use it as a context manager.

    Args:
        pipeline: the pipeline, whose `show` it sets.
    """

    def __init__(self, pipeline: Any) -> None:
        from tqdm import tqdm

        self._pipeline = pipeline
        self._about: AboutRun = pipeline.about
        self._lock = _locked(Path(LOCK))
        if not pipeline.best_network.force and not self._goes_on_here():
            self._put_earlier_run_aside()
        self._curves = LearningCurves(Path(TABLE), Path(PICTURE), self._about.rows)
        self._ends = ends_of(
            self._about.preset,
            pipeline.game_batch_num,
            2 * pipeline.check_freq,
            stops_when_verified=pipeline.stop_when_verified and bool(pipeline.verify_playouts),
        )
        self._bar = tqdm(total=100, bar_format=BAR, disable=None, dynamic_ncols=True)
        self._clock = RunClock(pipeline.games_played)
        self._losses = ""
        self._shown_at = 0.0
        self._saved_at, self._saving_s = float("-inf"), 0.0
        self._saved_games = 0

    def __enter__(self) -> Following:
        self._pipeline.show = self._show
        self.save()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.close()
        self._curves.draw(self._title())
        self._lock.close()

    def played(self) -> None:
        """Note that the games of a step have been played and learnt from, before the network is measured.

        Raises:
            UsageError: training has diverged.
        """
        games = self._pipeline.games_played
        self._clock.played(games)
        remedy = (
            "look for a logarithm of 0 or a division by 0 in forward and train_step of AlphaZero/policy_value_net_torch.py, or "
            "start a run with a smaller learn_rate in train.py"
        )
        expect_finite(self._pipeline.policy_value_net.model.parameters(), f"{games} games", Path(STATE), remedy)

    def add(self, learnt: tuple[float, float] | None, opponent_playouts: int, measured: Measurement | None) -> None:
        """Add a step to the curves, show it, and save the state if it is time."""
        pipeline = self._pipeline
        if measured is not None:
            self._clock.measured()
            self._bar.write(f"{pipeline.games_played:5} games: {measured}")
        if learnt is not None:
            self._losses = f"loss {learnt[0]:.2f}, entropy {learnt[1]:.2f}"
        self._curves.add(pipeline.games_played, learnt, opponent_playouts, measured)
        if measured is not None:
            self._curves.draw(self._title())
        self._show(self._losses, f"({self._ends.in_words})")
        pause = max(SAVE_EVERY_S, self._saving_s / SAVING_SHARE)
        if pipeline.is_over() or (can_be_saved_now(pipeline) and time.monotonic() - self._saved_at > pause):
            self.save()

    def save(self) -> None:
        """Write the state."""
        started = time.monotonic()
        about: State = {
            "preset": self._about.preset,
            "run": self._about.run,
            "seed": self._about.seed,
            "rows": [list(row) for row in self._curves.rows],
            "computed_by": self._about.computed_by,
            "saved_in": self._pipeline.best_network.saved_in,
            "is_over": self._pipeline.is_over(),
        }
        write_state(Path(STATE), state_of(self._pipeline, about))
        self._saved_games = self._pipeline.games_played
        self._saved_at = time.monotonic()
        self._saving_s = self._saved_at - started

    def interrupted(self) -> None:
        """Say that Ctrl-C ended the run, and after how many games it continues."""
        self._about.was_interrupted = True
        self._bar.close()
        played, saved = self._pipeline.games_played, self._saved_games
        kept = "" if played == saved else f"; the saved state is the one after {saved} games"
        print(f"\nInterrupted after {played} games{kept}.", file=sys.stderr)

    def _show(self, text: str, remark: str = "") -> None:
        """Move the bar, and write beside it the games, this text, the estimate and the remark; a screen has 80 columns."""
        now = time.monotonic()
        if self._bar.disable or now - self._shown_at < SHOW_EVERY_S:
            return
        self._shown_at = now
        parts = [f"{self._pipeline.games_played} games", *([text] if text else [])]
        remaining = self._clock.remaining(self._ends)
        if remaining is not None:
            parts.append(f"{span_in_words(remaining.seconds)} left")
            self._bar.n = max(self._bar.n, min(99, int(100 * remaining.share_done)))
        self._bar.set_description_str(f"{', '.join(parts)} {remark}")

    def _goes_on_here(self) -> bool:
        """Whether the run continues from the state that it will replace."""
        resumed_from = self._about.resumed_from
        return resumed_from is not None and resumed_from.resolve() == Path(STATE).resolve()

    def _put_earlier_run_aside(self) -> None:
        others = [Path(TABLE), Path(PICTURE)]
        if sentence := set_aside(Path(STATE), Path(CURRENT), others, board_of(self._pipeline)):
            print(sentence)

    def _title(self) -> str:
        pipeline = self._pipeline
        seed = "" if self._about.seed is None else f", seed {self._about.seed}"
        return f"{self._about.preset}{seed}: {pipeline.games_played} games"


def _locked(path: Path) -> TextIO:
    """Return an open file that no other run in this folder can open while it stays open.

    Raises:
        UsageError: another run has it open.
    """
    file = open(path, "a", encoding="utf-8")  # noqa: SIM115 - closed at the end of the run
    if not lock(file):
        file.close()
        raise UsageError(f"expected no other training in {path.resolve().parent.parent}; one is running: wait for it or end it")
    return file


class Remaining(NamedTuple):
    """The seconds until the end, and the share of the expected run that is done."""

    seconds: Span
    share_done: float


class RunClock:
    """The time of the games and of the look at the network that is going on.

    Args:
        games: the number of games at the start.
    """

    def __init__(self, games: int) -> None:
        self._games = self._first = games
        self._last = time.monotonic()
        self._timed_s, self._timed_games = 0.0, 0

    def played(self, games: int) -> None:
        """Note the end of a step after this many games."""
        now = time.monotonic()
        if self._games - self._first >= FIRST_GAMES:
            self._timed_s += now - self._last
            self._timed_games += games - self._games
        self._games, self._last = games, now

    def measured(self) -> None:
        """Note the end of a look."""
        self._last = time.monotonic()

    def remaining(self, ends: Ends) -> Remaining | None:
        """Return what remains, or None in the first few games."""
        if not self._timed_games or not self._timed_s:
            return None
        game_s = self._timed_s / self._timed_games
        seconds = ends.remaining_games(self._games).scaled(game_s, time.monotonic() - self._last)
        return Remaining(seconds, self._games / (self._games + seconds.expected / game_s))
