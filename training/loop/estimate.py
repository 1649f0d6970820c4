"""When a run of train.py will end, estimated from seeds that have ended.

A run ends at the first test that finds no losing line, so nobody knows its end beforehand, and the estimate is a range. Most of
the time goes into two things that vary little between seeds: the games up to the end, and the last test, which plays every line
at every number of playouts. Both are counted in the time of one game of this very run, so that the estimate fits any machine
and any search.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import NamedTuple

# The number of games after which runs of the reference ended: seeds 1 to 8 (bench/records/train_3x3.json), and seeds 1 to 3 on
# another processor, where a seed gives other games.
TICTACTOE_ENDS = (250, 350, 200, 250, 400, 200, 300, 250, 150, 500, 200)


class Span(NamedTuple):
    """A time in some unit: usually at least, expected, usually at most."""

    least: float
    expected: float
    most: float

    def scaled(self, unit: float, done: float = 0.0) -> Span:
        """Return the span in another unit, of which so much has passed since."""
        return Span(*(max(0.0, part * unit - done) for part in self))


# The time of the last look, in the time of a game. It depends on a processor's speed in Python beside its speed in torch: 312
# to 471 in the eight recorded runs, about 250 to 270 on the other processor.
TICTACTOE_LAST_LOOK_GAMES = Span(250.0, 310.0, 400.0)


@dataclass(frozen=True)
class Ends:
    """When a run with these settings usually ends.

    Attributes:
        games: the number of games after which runs ended; empty if only the limit ends them.
        limit: the number of games after which a run ends in any case.
        look_every: a run ends only at a multiple of this number of games.
        last_look_games: the time of the look that finds no losing line, in the time of a game.
    """

    games: tuple[int, ...]
    limit: int
    look_every: int
    last_look_games: Span

    @property
    def in_words(self) -> str:
        """The usual number of games, or what is known instead."""
        usual = sorted(self.games)[1:-1]  # without the shortest and the longest run
        return f"usually {usual[0]} to {usual[-1]}" if usual and usual[-1] <= self.limit else f"at most {self.limit}"

    def remaining_games(self, played: int) -> Span:
        """Return the time to the end, in the time of a game, as it was in the runs that lasted at least as long as this one.

        Args:
            played: the number of games so far; if a look is going on, it may be the last one.
        """
        if not self.games:
            left = max(0.0, float(self.limit - played))
            return Span(left, left, left)
        later = sorted(min(end, self.limit) for end in self.games if end >= played)
        # Nothing is known about a run that lasts longer than all others, so expect it to end at the next look.
        later = later or [min(self.limit, self.look_every * math.ceil(played / self.look_every))]
        usual = later[1:-1] or later  # without the shortest and the longest run
        games = Span(usual[0], statistics.median(later), usual[-1])
        look = self.last_look_games if usual[0] < self.limit or usual[0] in self.games else Span(0.0, 0.0, 0.0)
        return Span(*(end + longer - played for end, longer in zip(games, look, strict=True)))


def ends_of(preset: str, limit: int, look_every: int, *, stops_when_verified: bool) -> Ends:
    """Return when a run of this preset usually ends."""
    if preset == "tictactoe" and stops_when_verified:
        return Ends(TICTACTOE_ENDS, limit, look_every, TICTACTOE_LAST_LOOK_GAMES)
    return Ends((), limit, look_every, Span(0.0, 0.0, 0.0))


def span_in_words(span: Span) -> str:
    """Return a rounded span of seconds, such as `40 s`, `1-2 min` or `5 h`: a reader should not see it tremble."""
    (least, unit), (most, _) = _rounded(span.least, span.most), _rounded(span.most, span.most)
    return f"{most} {unit}" if least == most else f"{least}-{most} {unit}"


def _rounded(seconds: float, largest: float) -> tuple[int, str]:
    """Return a duration in the unit that suits the largest one beside it."""
    if largest < 55:
        return max(1, round(seconds / 10)) * 10, "s"
    if largest < 100 * 60:
        return max(1, round(seconds / 60)), "min"
    if largest < 48 * 3600:
        return max(1, round(seconds / 3600)), "h"
    return max(1, round(seconds / 86400)), "days"
