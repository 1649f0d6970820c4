"""Who hears how the grading of a submission goes on, and how that reaches the screen."""

from __future__ import annotations

from collections.abc import Callable

from grader.pipeline.results import Verdict

Announce = Callable[[str], None]


class Listener:
    """Hears how the grading of one submission goes on; this one ignores it all."""

    def say(self, sentence: str) -> None:
        """Hear a sentence about the submission."""

    def decided(self, number: int, total: int, verdict: Verdict) -> None:
        """Hear the verdict of a check, the `number`th of `total`."""

    def progress(self, sentence: str) -> None:
        """Hear how far a long check is."""


class Progress(Listener):
    """Shows only how far a long check is, as a line that the next one replaces."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce

    def progress(self, sentence: str) -> None:
        self._announce(f"\r{sentence}")


class Lines(Progress):
    """Shows everything: a line for each sentence and each verdict, and how far a long check is."""

    def say(self, sentence: str) -> None:
        self._announce(sentence)

    def decided(self, number: int, total: int, verdict: Verdict) -> None:
        points = f"{verdict.points:g}/{verdict.max_points:g}"
        self._announce(f"[{number:2}/{total}] {verdict.id:28} {verdict.status:15} {points:>7}  {verdict.message}")
