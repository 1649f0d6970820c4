"""What the games of a match say about one agent: score rate, intervals, Elo difference, pairs and move times.

A game is worth 1 (win), 1/2 (draw) or 0 (loss) to the agent; the mean of these values is the score rate. The true rate is the
expected score rate of further games of the same kind, with openings and moves not seen yet. For this rate, games can depend on
each other in two ways: the two games of a colour-reversed pair share their opening, and a game that repeats another move by
move says nothing new. Clusters are the connected components under both relations. To compute the interval, the variance of the
mean is estimated over clusters and converted into an effective number of games, which replaces the number of games in Wilson's
interval (Wilson 1927). This is usual in survey statistics (Korn and Graubard 1998, with Student's t for few clusters; Kish 1965
for the bound). `effective_games` describes the steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, isfinite, lgamma, log, log1p, log10, sqrt
from typing import Any

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class GameResult:
    """One game from the point of view of one agent.

    Attributes:
        value: 1 for a win, 0.5 for a draw, 0 for a loss.
        pair: a key shared by the two games of a colour-reversed pair (same imposed opening); None without pairs. Games 2k and
            2k + 1 of a match are a pair. An opening that occurs again may keep its key; all its games are then one cluster.
        identity: a key that is equal for two games if all their answers, including a refused one at the end, and the agent
            that plays black are the same; None if unknown.
    """

    value: float
    pair: Hashable = None
    identity: Hashable = None

    def __post_init__(self) -> None:
        if self.value not in (0, 0.5, 1):
            raise ValueError(f"expected 1 (win), 0.5 (draw) or 0 (loss); got {self.value!r}")


@dataclass(frozen=True)
class EloDifference:
    """How many Elo the agent is above its opponent, with a 95 % interval; a value is infinite at a score rate of 0 or 1."""

    difference: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Half the width of the interval, which chess tools print after a plus-minus sign; infinite if either end is."""
        return (self.high - self.low) / 2

    def to_json(self) -> dict[str, float | None]:
        """Return plain values, with None for infinity: minus infinity in `low`, plus infinity in `high` and `error`."""
        values = {"difference": self.difference, "low": self.low, "high": self.high, "error": self.error}
        return {name: value if isfinite(value) else None for name, value in values.items()}


@dataclass(frozen=True)
class MatchStatistics:
    """A match from the point of view of one agent.

    Attributes:
        score_rate: mean of the games' values in [0, 1]; None if there are no games.
        naive_95: Wilson's interval for the score rate as if all games were independent.
        interval_95: the interval for the score rate that accounts for pairs and repeated games.
        distinct_games: number of different games.
        clusters: number of groups of games that are independent of each other.
        effective_games: number of independent games that would say as much as these games.
        elo: the Elo difference; None if there are no games.
        los: likelihood of superiority; see `likelihood_of_superiority`.
        pairs: number of pairs in which the agent scored 0, 1/2, 1, 3/2 and 2 points; None if there are no pairs.
    """

    games: int
    wins: int
    draws: int
    losses: int
    score_rate: float | None
    naive_95: tuple[float, float]
    interval_95: tuple[float, float]
    distinct_games: int
    clusters: int
    effective_games: float
    elo: EloDifference | None
    los: float
    pairs: tuple[int, int, int, int, int] | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values without infinities."""
        return {
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score_rate": self.score_rate,
            "naive_95": list(self.naive_95),
            "interval_95": list(self.interval_95),
            "distinct_games": self.distinct_games,
            "clusters": self.clusters,
            "effective_games": self.effective_games,
            "elo": None if self.elo is None else self.elo.to_json(),
            "los": self.los,
            "pairs": None if self.pairs is None else list(self.pairs),
        }


def match_statistics(results: Sequence[GameResult]) -> MatchStatistics:
    """Compute the statistics of a match from its games, in the order of their numbers."""
    games, total = len(results), sum(result.value for result in results)
    effective = effective_games(results)
    interval = wilson_95(total / games * effective, effective) if games else (0.0, 1.0)
    return MatchStatistics(
        games=games,
        wins=sum(result.value == 1 for result in results),
        draws=sum(result.value == 0.5 for result in results),
        losses=sum(result.value == 0 for result in results),
        score_rate=total / games if games else None,
        naive_95=wilson_95(total, games),
        interval_95=interval,
        distinct_games=len(_repetitions(results)),
        clusters=len(set(clusters(results))),
        effective_games=effective,
        elo=EloDifference(elo(total / games), elo(interval[0]), elo(interval[1])) if games else None,
        los=likelihood_of_superiority(total / games, effective) if games else 0.5,
        pairs=pair_counts(results),
    )


# ---------------------------------------------------------------------------------------------------- intervals


def wilson_95(successes: float, trials: float) -> tuple[float, float]:
    """Return Wilson's 95 % score interval for a proportion (Wilson 1927); (0, 1) without trials. Counts may be fractional."""
    if trials == 0:
        return 0.0, 1.0
    p, z2 = min(1.0, successes / trials), Z_95 * Z_95
    middle = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z_95 * sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    # If all trials succeeded or all failed, one end is exactly 1 or 0, regardless of rounding errors.
    return 0.0 if p == 0 else max(0.0, middle - half), 1.0 if p == 1 else min(1.0, middle + half)


def clusters(results: Sequence[GameResult]) -> list[int]:
    """Return, for each game, the first game of its cluster, which is linked by `pair` or `identity`, directly or in a chain."""
    parent = list(range(len(results)))

    def root(game: int) -> int:
        while parent[game] != game:
            parent[game] = game = parent[parent[game]]
        return game

    first: dict[tuple[str, Hashable], int] = {}
    for game, result in enumerate(results):
        for link in (("pair", result.pair), ("identity", result.identity)):
            if link[1] is not None:
                one, other = root(first.setdefault(link, game)), root(game)
                parent[max(one, other)] = min(one, other)
    return [root(game) for game in range(len(results))]


def effective_games(results: Sequence[GameResult]) -> float:
    """Return how many independent games would give an interval for the score rate as narrow as these games do.

    Consider N games with mean m, in G clusters; cluster g has s_g games, whose residuals (values minus m) sum to r_g.

    1. If all games were won or all were lost, the result is G, since every cluster agreed and nothing more is known.
    2. Estimate the variance of m by leaving out each cluster once (jackknife; CR3 in regressions):
       V = (G - 1) / G * sum (r_g / (N - s_g))^2. Pairs that balance out lower it, repeated games raise it.
    3. If all games of each cluster agreed, the mean would be worth N^2 / sum s_g^2 games (Kish 1965), the least possible
       number. The corresponding variance W is averaged with V. W has the weight of one cluster; V has the weight of the
       2 G min(m, 1 - m) clusters that carry information about a variance. So an estimate from two or three unusual clusters
       has little influence.
    4. The estimate is m (1 - m) / V games, times (z / t)^2, where Student's t has Kish's number minus one degrees of freedom.
    5. The result is at least Kish's number, and at most twice the same number computed from distinct games: pairs are trusted
       to halve the variance but no more.

    This assumes that how often a game repeats does not depend on its result.
    """
    games = len(results)
    if games == 0:
        return 0.0
    mean = sum(result.value for result in results) / games
    sizes: Counter[int] = Counter()
    residuals: defaultdict[int, float] = defaultdict(float)
    for cluster, result in zip(clusters(results), results, strict=True):
        sizes[cluster] += 1
        residuals[cluster] += result.value - mean
    count, spread = len(sizes), mean * (1 - mean)
    if spread == 0 or count == 1:
        return float(count)
    least = games**2 / sum(size**2 for size in sizes.values())
    most = 2 * games**2 / sum(repeats**2 for repeats in _repetitions(results))
    variance = (count - 1) / count * sum((residuals[c] / (games - size)) ** 2 for c, size in sizes.items())
    telling = 2 * count * min(mean, 1 - mean)
    variance = (telling * variance + spread / least) / (telling + 1)
    estimate = spread / variance * (Z_95 / t_quantile_975(round(max(1.0, least - 1), 3))) ** 2
    return max(least, min(estimate, most))


def value_of(game: GameResult, draw: Fraction) -> Fraction:
    """Return the value of a game in a mean in which a draw counts `draw`, a win 1 and a loss 0."""
    return draw if game.value == 0.5 else Fraction(game.value)


def mean_interval_95(results: Sequence[GameResult], draw: Fraction) -> tuple[Fraction, Fraction]:
    """Return the 95 % interval for the mean in which a draw counts `draw`; (0, 1) if there are no games.

    Like `MatchStatistics.interval_95`, it accounts for pairs and repeated games.
    """
    effective = effective_games(results)
    mean = float(sum(value_of(game, draw) for game in results)) / len(results) if results else 0.0
    low, high = wilson_95(mean * effective, effective)
    return Fraction(low), Fraction(high)


def pair_counts(results: Sequence[GameResult]) -> tuple[int, int, int, int, int] | None:
    """Count the pairs that scored 0, 1/2, 1, 3/2 and 2 points (the pentanomial of fastchess); None if there are no pairs.

    Games with the same key are paired in order; a game without a partner is not counted.
    """
    waiting: dict[Hashable, float] = {}
    counts = [0] * 5
    for result in results:
        if result.pair is None:
            continue
        if result.pair in waiting:
            counts[round(2 * (waiting.pop(result.pair) + result.value))] += 1
        else:
            waiting[result.pair] = result.value
    return (counts[0], counts[1], counts[2], counts[3], counts[4]) if any(counts) else None


def _repetitions(results: Sequence[GameResult]) -> list[int]:
    """Return how often each distinct game was played."""
    known = Counter(result.identity for result in results if result.identity is not None)
    return [*known.values(), *(1 for result in results if result.identity is None)]


# ------------------------------------------------------------------------------------------------- Elo and LOS


def elo(score_rate: float) -> float:
    """Return the Elo difference 400 log10(s / (1 - s)) for a score rate s (Elo 1978); -inf at 0 and inf at 1."""
    if not 0 <= score_rate <= 1:
        raise ValueError(f"expected a score rate from 0 to 1; got {score_rate}")
    if score_rate in (0, 1):
        return inf if score_rate else -inf
    return 400 * log10(score_rate / (1 - score_rate))


def expected_score(difference: float) -> float:
    """Return the score rate of an agent that is `difference` Elo above its opponent: the inverse of `elo`."""
    return 1 / (1 + 10 ** (-difference / 400))


def likelihood_of_superiority(score_rate: float, games: float) -> float:
    """Return the probability that the true rate is above 1/2, given n independent games with mean s.

    With a uniform prior for the rate, the posterior is Beta(1 + n s, 1 + n (1 - s)). n may be the effective number of games. If
    n is 0, the result is 1/2.
    """
    return beta_cdf(0.5, 1 + games * (1 - score_rate), 1 + games * score_rate)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun 1964, 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges faster on the other side
        return 1 - beta_cdf(1 - x, b, a)
    factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    tiny = 1e-300
    value, numerator, denominator = 1.0, 1.0, 0.0
    for step in range(10_000):  # Lentz 1976
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        denominator = 1 / (1 + term * denominator or tiny)
        numerator = 1 + term / numerator or tiny
        value *= numerator * denominator
        if step and abs(numerator * denominator - 1) < 1e-14:
            break
    return min(1.0, factor * (value - 1))


@lru_cache(maxsize=4096)
def t_quantile_975(freedom: float) -> float:
    """Return the value that Student's t exceeds with probability 2.5 %. The degrees of freedom need not be an integer."""
    low, high = Z_95, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        if beta_cdf(freedom / (freedom + middle * middle), freedom / 2, 0.5) / 2 > 0.025:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# -------------------------------------------------------------------------------------------------- move times


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least a fraction `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-int(share * 1000) * len(ordered) // 1000))
    return ordered[rank - 1]


def move_times(values: Sequence[float]) -> dict[str, float | None]:
    """Return median, p95 and max in seconds; each is None if there are no moves."""
    if not values:
        return {"median": None, "p95": None, "max": None}
    return {"median": percentile(values, 0.5), "p95": percentile(values, 0.95), "max": max(values)}
