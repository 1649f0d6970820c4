"""Rules that say when a match may end before its last game.

There are two rules:

- `Decided`: the points are the same throughout a confidence interval that may be examined after every game.
- `Sprt`: Wald's sequential probability ratio test between two Elo differences (Wald 1945).

Both rest on one fact. The result of a game is x in [0, 1]: 1, 1/2 or 0. For a mean p and any q, (q/p)^x ((1-q)/(1-p))^(1-x) is
convex in x, so its expectation is at most 1 for every distribution of x on [0, 1] with mean p: a draw is half a win and half a
loss. Its products over games, and mixtures of these over q, are nonnegative supermartingales that start at 1. The probability
that such a process ever reaches 1/alpha is at most alpha (Ville 1939; the method of mixtures: Robbins 1970, Howard et al.
2021). The mixture here is over Beta(a, a), so after n games with sum S it equals B(S + a, n - S + a) / (B(a, a) p^S
(1-p)^(n-S)). In a match of N games with final sum T, the p of the next game is the mean of the remaining games, (T - S) / (N -
n): this is sampling without replacement (Waudby-Smith and Ramdas 2020, 2024).

Assumptions about games:

- Colours alternate from game to game, and one colour may be better than the other. `MatchSequence` keeps the two apart; `Sprt`
  and `Decided` about the rate look only after every second game, when the advantage cancels out.
- The two games of a colour-reversed pair (`GameResult.pair`) may depend on each other, so their mean is one observation.
- Statements about the *rate* concern further games, so a game that repeats an earlier one is not an observation, and neither
  is the game of the other colour beside it. This assumes that games which repeat do not end differently from those that do
  not. Statements about the *match* concern its own games, repeated or not. They only require that the order of the games
  carries no information, as is the case if each game has its own random seed or the openings are shuffled.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import inf, isfinite, lgamma, log
from typing import Literal, Protocol

from arena.statistics.estimates import GameResult, expected_score, value_of
from common.errors import UsageError

# The parameter a of the mixture. Any value is valid; a small value ends a match early if an agent wins or loses nearly every
# game. With 1/10, 29 wins in a row decide full marks in a match of 64 games; with the usual 1/2 it takes 35. At rates near 1/2
# the small value costs about one game.
MIXTURE = 0.1

# -------------------------------------------------------------------------------------------- intervals at any time


def _log_mixture(total: float, count: int) -> float:
    """Return the log of the mean of q^total (1-q)^(count - total) over the mixture."""
    posterior = lgamma(total + MIXTURE) + lgamma(count - total + MIXTURE) - lgamma(count + 2 * MIXTURE)
    return posterior - 2 * lgamma(MIXTURE) + lgamma(2 * MIXTURE)


def _log_power(value: float, base: float) -> float:
    """Return value * log(base), with 0 * log(0) = 0."""
    return 0.0 if value == 0 else -inf if base <= 0 else value * log(base)


class RateSequence:
    """A confidence sequence for the true mean: with probability 1 - alpha all its intervals, after every game, contain it."""

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = _probability(alpha, "alpha", 1)
        self.count, self.total = 0, 0.0

    def add(self, value: float) -> None:
        """Add one independent observation in [0, 1]."""
        self.count += 1
        self.total += value

    def log_evidence(self, mean: float) -> float:
        """Return the log of the supermartingale that tests a mean; above log(1/alpha), the mean is excluded."""
        return _log_mixture(self.total, self.count) - self._log_likelihood(mean)

    def interval(self) -> tuple[float, float]:
        """Return the lowest and the highest mean that are not excluded; (0, 1) before the first observation."""
        if self.count == 0:
            return 0.0, 1.0
        best = self.total / self.count
        least = _log_mixture(self.total, self.count) + log(self.alpha)
        return self._end(0.0, best, least), self._end(1.0, best, least)

    def _log_likelihood(self, mean: float) -> float:
        return _log_power(self.total, mean) + _log_power(self.count - self.total, 1 - mean)

    def _end(self, outside: float, inside: float, least: float) -> float:
        # The likelihood falls on both sides of the observed mean.
        if self._log_likelihood(outside) > least:
            return outside
        for _ in range(50):
            middle = (outside + inside) / 2
            if self._log_likelihood(middle) > least:
                inside = middle
            else:
                outside = middle
        return outside


class MatchSequence:
    """A confidence sequence for the mean that a match of fixed length will have after its last game.

    Its intervals never contain a mean that the remaining games cannot produce, and with probability 1 - alpha all of them
    contain the final mean. Games 0, 2, ... and games 1, 3, ... (the two colours) are two populations, sampled without
    replacement. If games are linked, their pairs are one population.
    """

    def __init__(self, planned: int, *, linked: bool, alpha: float = 0.05) -> None:
        self.planned, self.linked, self.alpha = planned, linked, _probability(alpha, "alpha", 1)
        # Sums are kept in half points: a game has at most 2, a linked pair at most 4.
        self._unit = 4 if linked else 2
        self._sizes = [planned // 2] if linked else [(planned + 1) // 2, planned // 2]
        self._counts, self._sums = [0] * len(self._sizes), [0] * len(self._sizes)
        # Log-likelihood of each final sum of a population. It is concave, since the base of each factor is linear in the sum.
        self._likelihoods = [[0.0] * (self._unit * size + 1) for size in self._sizes]
        self._first: int | None = None  # half points of a linked pair's first game
        self._games = 0

    def add(self, value: Fraction | float) -> None:
        """Add the next game of the match, in order: 0, 1/2 or 1."""
        if self._games >= self.planned:
            raise ValueError(f"expected {self.planned} games; got one more")
        half_points, number = int(2 * value), self._games
        self._games += 1
        if not self.linked:
            self._take(number % 2, half_points)
        elif self._first is None:
            self._first = half_points
        else:
            self._take(0, self._first + half_points)
            self._first = None

    def interval(self) -> tuple[Fraction, Fraction]:
        """Return the lowest and the highest final mean that are not excluded."""
        start, logs = _best_sums(self._likelihoods)
        mixture = _log_mixture(sum(self._sums) / self._unit, sum(self._counts))
        least = min(mixture + log(self.alpha), max(logs))
        kept = [start + i for i, value in enumerate(logs) if value >= least]
        # Nothing is assumed about a last game without a partner; the first game of an incomplete pair limits what is possible.
        loose = 2 if self.linked and self.planned % 2 else 0
        lowest, highest = self.possible()
        low = max(Fraction(kept[0], 2 * self.planned), lowest)
        return low, max(low, min(Fraction(kept[-1] + loose, 2 * self.planned), highest))

    def possible(self) -> tuple[Fraction, Fraction]:
        """Return the lowest and the highest final mean that the remaining games can produce."""
        done = sum(self._sums) + (self._first or 0)
        return Fraction(done, 2 * self.planned), Fraction(done + 2 * (self.planned - self._games), 2 * self.planned)

    def _take(self, population: int, points: int) -> None:
        full = self._unit * (self._sizes[population] - self._counts[population])
        share, so_far = points / self._unit, self._sums[population]
        logs = self._likelihoods[population]
        for final in range(so_far, so_far + full + 1):
            mean = (final - so_far) / full
            logs[final] += _log_power(share, mean) + _log_power(1 - share, 1 - mean)
        # The games so far have made all sums outside this range impossible.
        logs[: so_far + points] = [-inf] * (so_far + points)
        beyond = so_far + points + full - self._unit + 1
        logs[beyond:] = [-inf] * (len(logs) - beyond)
        self._counts[population] += 1
        self._sums[population] += points


def _best_sums(populations: Sequence[Sequence[float]]) -> tuple[int, list[float]]:
    """Return the lowest possible total over all populations, and the greatest log-likelihood of each total from there on.

    The log-likelihoods are concave, so the best way to reach a total is to take the steepest steps of all populations first.
    """
    start, value, steps = 0, 0.0, list[float]()
    for logs in populations:
        possible = [final for final, log_likelihood in enumerate(logs) if log_likelihood > -inf]
        first, last = possible[0], possible[-1]
        start, value = start + first, value + logs[first]
        steps += [logs[final + 1] - logs[final] for final in range(first, last)]
    return start, list(accumulate(sorted(steps, reverse=True), initial=value))


# -------------------------------------------------------------------------------------------------------- rules


class StoppingRule(Protocol):
    """Receives the games of a match in the order of their numbers and says when the match may end."""

    def add(self, game: GameResult) -> str | None:
        """Take the next game.

        Returns:
            None to go on, or a sentence that says why the match may end here. No games are added after that.
        """


class PointsFormula(Protocol):
    """How the mean result of a match becomes points; it is passed in by the code that awards the points."""

    @property
    def draw(self) -> Fraction:
        """The value of a draw in the mean; a win counts 1 and a loss 0."""

    def points_at(self, mean: Fraction, points: float) -> float:
        """Return the points for a mean in [0, 1], at most `points`; they never decrease as the mean increases."""


class InOrder:
    """Passes games to a rule in the order of their numbers, so that its decision does not depend on the order they finish in.

    The rule sees game k only after games 0 ... k - 1. When it ends the match after game k, `counted` is k + 1 and only these
    games count, even if games with higher numbers have finished or begun by then. So a match with a given seed ends after the
    same game however many games run at once.
    """

    def __init__(self, rule: StoppingRule) -> None:
        self.rule, self.counted = rule, 0
        self.reason: str | None = None
        self._waiting: dict[int, GameResult] = {}

    def add(self, index: int, game: GameResult) -> str | None:
        """Take finished game number `index` (from 0) and return the reason to stop, or None to go on."""
        if index < self.counted or index in self._waiting:
            if self.reason is None:
                raise ValueError(f"expected each game once; game {index} came again")
            return self.reason
        self._waiting[index] = game
        while self.reason is None and self.counted in self._waiting:
            self.reason = self.rule.add(self._waiting.pop(self.counted))
            self.counted += 1
        return self.reason


class _Observations:
    """Turns games in order into independent observations, two games at a time so that both colours are included.

    If one of the two repeats an earlier game, both are left out, since the other alone would be about one colour only. The
    games of a linked pair are one observation.
    """

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()
        self._held: list[tuple[GameResult, float]] = []

    def add(self, game: GameResult, value: float) -> list[float]:
        self._held.append((game, value))
        if len(self._held) < 2:
            return []
        (first, _), (second, _) = self._held
        linked = first.pair is not None and first.pair == second.pair
        identities = [held.identity for held, _ in self._held if held.identity is not None]
        repeated = len({*identities} - self._seen) < len(identities)
        self._seen.update(identities)
        values = [] if repeated else [held_value for _, held_value in self._held]
        self._held = []
        return [sum(values) / 2] if linked and values else values


class Decided:
    """Ends a match as soon as its points are known.

    About the match (the default): with probability at most alpha, the points differ from those that all planned games would
    give. They never differ if the remaining games cannot change them. Repeated games count, as they do in the points.
    About the rate: with probability at most alpha, the points differ from those for the agent's true rate. That takes many
    more games, since even all planned games may show a rate other than the true one.

    Args:
        formula: the formula that gives the points.
        points: full points.
        planned: number of games planned.
        alpha: largest probability of an error, in (0, 1).
        about: see above.

    Attributes:
        points: the points for the match once it may end; None before.
    """

    def __init__(
        self,
        formula: PointsFormula,
        points: float,
        planned: int,
        *,
        alpha: float = 0.05,
        about: Literal["match", "rate"] = "match",
    ) -> None:
        if planned < 1:
            raise ValueError(f"expected at least one planned game; got {planned}")
        self.formula, self.full_points, self.planned, self.about = formula, points, planned, about
        self.alpha = _probability(alpha, "alpha", 1)
        self.points: float | None = None
        self._games, self._sum = 0, Fraction(0)
        self._match: MatchSequence | None = None
        self._rate, self._observations = RateSequence(alpha), _Observations()

    def interval(self) -> tuple[Fraction, Fraction]:
        """Return the interval for the mean that the formula uses, after the games so far."""
        if self.about == "rate":
            low, high = self._rate.interval()
            return Fraction(low), Fraction(high)
        return self._match.interval() if self._match is not None else (Fraction(0), Fraction(1))

    def add(self, game: GameResult) -> str | None:
        """Take the next game; see StoppingRule. The result after the last planned game is None: that is not an early end."""
        value = value_of(game, self.formula.draw)
        self._games += 1
        self._sum += value
        if self.about == "rate":
            for observation in self._observations.add(game, float(value)):
                self._rate.add(observation)
        else:
            self._add_to_match(game, value)
        left = self.planned - self._games
        if left <= 0:
            self.points = self._points_over((self._sum / self.planned, self._sum / self.planned))
            return None
        begin = f"Ended after {self._games} of {self.planned} games: "
        if self._match is not None and (points := self._points_over(self._match.possible())) is not None:
            self.points = points
            return f"{begin}the other {left} cannot change the {points:g} of {self.full_points:g} points."
        low, high = self.interval()
        if (points := self._points_over((low, high))) is None:
            return None
        self.points = points
        counted = "score rate" if self.formula.draw else "win rate"
        whose = f"of all {self.planned} games" if self.about == "match" else "in the long run"
        return (
            f"{begin}{points:g} of {self.full_points:g} points, since the {counted} {whose} is from {float(low):.3f} to "
            f"{float(high):.3f} with {100 * (1 - self.alpha):g} % confidence at any time."
        )

    def _add_to_match(self, game: GameResult, value: Fraction) -> None:
        if self._match is None:
            self._match = MatchSequence(self.planned, linked=game.pair is not None, alpha=self.alpha)
        elif self._match.linked != (game.pair is not None):
            raise ValueError("expected either every game of a match in a pair, or none")
        self._match.add(value)

    def _points_over(self, interval: tuple[Fraction, Fraction]) -> float | None:
        low, high = (self.formula.points_at(end, self.full_points) for end in interval)
        return low if low == high else None


class Sprt:
    """Wald's test of H0 (a difference of `elo0`) against H1 (`elo1`) on the score rate, with draws as half wins.

    The bounds of the log-likelihood ratio are log(beta / (1 - alpha)) and log((1 - beta) / alpha). H1 is accepted under H0
    with probability at most alpha / (1 - beta), and H0 under H1 with probability at most beta / (1 - alpha) (Wald 1945, Ville
    1939). In practice both are smaller, since the last game overshoots the bounds. The test has no maximum length: if the match
    ends first, the test stays undecided.

    Args:
        elo0, elo1: -2000 <= elo0 < elo1 <= 2000.
        alpha, beta: in (0, 0.5).

    Attributes:
        llr: the log-likelihood ratio so far; a value above 0 is evidence for H1.
        verdict: which hypothesis was accepted.

    Raises:
        UsageError: a value is out of range.
    """

    def __init__(self, elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05) -> None:
        for name, value in (("ELO0", elo0), ("ELO1", elo1)):
            if not -2000 <= value <= 2000:
                raise UsageError(f"expected {name} from -2000 to 2000; got {value:g}")
        if elo0 >= elo1:
            raise UsageError(f"expected ELO0 below ELO1; got {elo0:g} and {elo1:g}")
        self.elo0, self.elo1 = elo0, elo1
        self.alpha, self.beta = _probability(alpha, "ALPHA", 0.5), _probability(beta, "BETA", 0.5)
        self.lower, self.upper = log(beta / (1 - alpha)), log((1 - beta) / alpha)
        rate0, rate1 = expected_score(elo0), expected_score(elo1)
        self._win, self._loss = log(rate1 / rate0), log((1 - rate1) / (1 - rate0))
        self._games = 0
        self._observations = _Observations()
        self.llr = 0.0
        self.verdict: Literal["accept_h0", "accept_h1", "undecided"] = "undecided"

    @classmethod
    def parse(cls, text: str) -> Sprt:
        """Return the test that a text of the form "ELO0,ELO1,ALPHA,BETA" describes.

        Raises:
            UsageError: the text does not have this form, or a value is out of range.
        """
        try:
            elo0, elo1, alpha, beta = (float(part) for part in text.split(","))
        except ValueError:
            raise UsageError(f"expected four numbers ELO0,ELO1,ALPHA,BETA such as 0,70,0.05,0.05; got {text!r}") from None
        return cls(elo0, elo1, alpha, beta)

    def add(self, game: GameResult) -> str | None:
        """See StoppingRule."""
        self._games += 1
        for value in self._observations.add(game, game.value):
            self.llr += value * self._win + (1 - value) * self._loss
        if self.lower < self.llr < self.upper:
            return None
        self.verdict = "accept_h1" if self.llr > 0 else "accept_h0"
        accepted, other = (self.elo1, self.elo0) if self.llr > 0 else (self.elo0, self.elo1)
        return (
            f"Ended after {self._games} games: the SPRT accepts {'H1' if self.llr > 0 else 'H0'}, a difference of "
            f"{accepted:+g} Elo rather than {other:+g} (LLR {self.llr:.2f}, bounds {self.lower:.2f} and {self.upper:.2f}; "
            f"errors {100 * self.alpha:g} % and {100 * self.beta:g} %)."
        )


def _probability(value: float, name: str, below: float) -> float:
    if not (isfinite(value) and 0 < value < below):
        raise UsageError(f"expected {name} above 0 and below {below:g}; got {value:g}")
    return value
