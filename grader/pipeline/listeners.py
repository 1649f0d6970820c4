"""Who is told about the progress of a grading, and how that reaches the screen."""

from __future__ import annotations

from collections.abc import Callable

from grader.pipeline.results import COULD_NOT_GRADE, Verdict

Announce = Callable[[str], None]


class Listener:
    """Follows the progress of one submission's grading; this one ignores it all."""

    def say(self, sentence: str) -> None:
        """Receive a sentence about the submission."""

    def decided(self, number: int, total: int, verdict: Verdict) -> None:
        """Receive the verdict of a check, the `number`th of `total`."""

    def progress(self, sentence: str) -> None:
        """Receive the progress of a long check."""


class Progress(Listener):
    """Shows each sentence, and the progress of a long check as a line that the next one replaces."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce

    def say(self, sentence: str) -> None:
        self._announce(sentence)

    def progress(self, sentence: str) -> None:
        self._announce(f"\r{sentence}")


class Lines(Progress):
    """Shows everything: a line for each sentence and each verdict, and the progress of a long check.

    When one reason keeps several checks in a row from being graded, only the first gets a line, and the others are counted.
    """

    def __init__(self, announce: Announce) -> None:
        super().__init__(announce)
        self._reason, self._same = "", 0

    def decided(self, number: int, total: int, verdict: Verdict) -> None:
        reason = verdict.message if verdict.status == COULD_NOT_GRADE else ""
        if reason and reason == self._reason:
            self._same += 1
        else:
            self._count_the_same()
            self._reason = reason
            points = f"{verdict.points:g}/{verdict.max_points:g}"
            self._announce(
                f"[{number:2}/{total}] {verdict.id:28} {verdict.status.replace('_', ' '):15} {points:>7}  {verdict.message}"
            )
        if number == total:
            self._count_the_same()

    def _count_the_same(self) -> None:
        if self._same:
            self._announce(f"The same for {self._same} more check{'' if self._same == 1 else 's'}.")
        self._same = 0
