"""How far the grading of a class is, and when it will end.

The estimate takes the mean time of the submissions that this command has graded so far. It is honest only about a class whose
submissions take about as long as those, so none is given before the first one has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from grader.pipeline.listeners import Announce, Listener
from grader.pipeline.results import Verdict

SHOWN = 4  # submissions at work that the line names


@dataclass
class _Running:
    began_s: float
    state: str = "starting"


@dataclass
class ClassProgress:
    """The state of a class that is being graded; its methods may be called from several threads.

    Args:
        announce: receives lines for the screen.
        total: number of submissions.
        jobs: number of submissions graded at the same time.
        clock: seconds from any fixed moment.
    """

    announce: Announce
    total: int
    jobs: int
    clock: Callable[[], float] = monotonic
    _done: int = 0
    _took_s: list[float] = field(default_factory=list)
    _running: dict[str, _Running] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def say(self, sentence: str) -> None:
        """Show a sentence."""
        with self._lock:
            self.announce(sentence)
            self._show()

    def begin(self, name: str) -> None:
        """Note that a submission is at work."""
        with self._lock:
            self._running[name] = _Running(self.clock())
            self._show()

    def end(self, name: str, *, graded: bool) -> None:
        """Note that a submission is done; only one that was graded as a whole (`graded`) tells how long others will take."""
        with self._lock:
            running = self._running.pop(name)
            self._done += 1
            if graded:
                self._took_s.append(self.clock() - running.began_s)
            if self._done < self.total:
                self.announce(f"{self._done} of {self.total} submissions done{self._estimate()}.")
            self._show()

    def note(self, name: str, state: str) -> None:
        """Note what a submission at work is doing."""
        with self._lock:
            self._running[name].state = state
            self._show()

    def left_s(self) -> float | None:
        """Return the estimated seconds until the end of the class, or None if it cannot be estimated yet.

        That is so before the first submission is graded, and when all that are left take longer than the mean.
        """
        if not self._took_s:
            return None
        mean_s, now = sum(self._took_s) / len(self._took_s), self.clock()
        begun_s = sum(max(0.0, mean_s - (now - running.began_s)) for running in self._running.values())
        waiting = self.total - self._done - len(self._running)
        return (waiting * mean_s + begun_s) / self.jobs or None

    def _estimate(self) -> str:
        left_s = self.left_s()
        return "" if left_s is None else f", about {in_words(left_s)} left"

    def _show(self) -> None:
        if not self._running or self.total == 1:
            return
        shown = [f"{name}: {running.state}" for name, running in list(self._running.items())[:SHOWN]]
        more = f" and {len(self._running) - SHOWN} more" if len(self._running) > SHOWN else ""
        self.announce(f"\r{self._done} of {self.total} done{self._estimate()} | {'; '.join(shown)}{more}")


class ClassListener(Listener):
    """Hears of one submission of a class: its sentences are shown, its checks only counted."""

    def __init__(self, progress: ClassProgress, name: str) -> None:
        self._progress, self._name, self._checks = progress, name, ""

    def say(self, sentence: str) -> None:
        self._progress.say(sentence)

    def decided(self, number: int, total: int, verdict: Verdict) -> None:
        self._checks = f"{number}/{total} checks"
        self._progress.note(self._name, self._checks)

    def progress(self, sentence: str) -> None:
        self._progress.note(self._name, ", ".join(filter(None, (self._checks, sentence))))


def in_words(seconds: float) -> str:
    """Return a duration in words: `40 s`, `12 min` or `3 h 10 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
