"""Whether a search visits the root's children as the reference does, and if not, the slip in the selection that explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any

from grader.checks.trees import board_at, difference
from grader.errors import CouldNotGrade, StudentFault
from grader.trusted_search import Node, Reading, Rule, search

# The largest share of a root's visits that may go elsewhere than in the nearest of the right variants. Searches that follow the
# formula differ from it in the order of equal moves alone.
AGREEMENT_TOLERANCE = 0.03
READINGS = (Reading(), Reading(count_parent_itself=False), Reading(count_parent_itself=False, last_of_equals=True))
# The bonus alone selects: values in [-1, 1] decide where two bonuses differ by less than 1 in 10^4. Of 80 visits two may then
# go elsewhere than in any right search, so that the order of equal moves does not matter.
HUGE_C_PUCT = 1e6
WIDE_BOARDS, WIDE_PLAYOUTS = ((10, 10), (9, 11)), 80


@dataclass(frozen=True)
class Search:
    """A student's search, and what the reference needs to repeat it.

    Attributes:
        seen: visits of the root's children by move.
        evaluate: as of `trusted_search.search`.
    """

    seen: dict[int, float]
    position: dict[str, Any]
    evaluate: Callable[..., Any]
    n_playout: int
    c_puct: float

    def smallest_difference(self) -> float:
        """To the nearest of the right readings."""
        return min(self.difference(reading=reading) for reading in READINGS)

    def difference(self, *, reading: Reading = READINGS[0], rule: Rule | None = None) -> float:
        """To the reference's visits. The root may be expanded before the first playout, which then visits a child."""
        n_playout = self.n_playout + (sum(self.seen.values()) == self.n_playout)
        root = search(
            board_at(self.position),
            self.evaluate,
            n_playout,
            self.c_puct,
            reading=reading,
            rule=rule,
        )
        return difference(self.seen, {move: child.visits for move, child in root.children.items()})


def expect_agreement(
    searches: Sequence[Search], wide: Sequence[Search] = (), chooses_at_random: Callable[[], bool] = lambda: False
) -> float:
    """The largest difference to the nearest of the right readings.

    Args:
        wide: searches on WIDE_BOARDS with HUGE_C_PUCT, which do not depend on values.
        chooses_at_random: asked where `searches` differ and `wide` do not: whether a search begins otherwise each time.

    Raises:
        StudentFault: it is too large; the sentence names the slip that explains all the searches, if there is one.
        CouldNotGrade: the bonus is right, and equal moves are chosen among at random, so that no search can be repeated.
    """
    worst = max(one.smallest_difference() for one in searches)
    worst_wide = max((one.smallest_difference() for one in wide), default=0.0)
    if max(worst, worst_wide) <= AGREEMENT_TOLERANCE:
        return max(worst, worst_wide)
    if wide and worst_wide <= AGREEMENT_TOLERANCE and chooses_at_random():
        raise CouldNotGrade(
            f"{worst:.0%} of the visits went to other moves than in the reference's searches, and the bonus is right: the "
            "solution chooses at random among moves of equal value, which no search can repeat"
        )
    raise _disagreement(searches if worst > AGREEMENT_TOLERANCE else wide)


def _disagreement(searches: Sequence[Search]) -> StudentFault:
    found = [one.smallest_difference() for one in searches]
    worst = max(found)
    one = searches[found.index(worst)]
    position = one.position
    return StudentFault(
        f"After moves {position['moves']} on {position['width']}x{position['height']} ({position['n_in_row']} in a row, "
        f"{one.n_playout} playouts, c_puct {one.c_puct:g}) {worst:.0%} of the visits went to other moves than by "
        f"Q + c_puct * P * sqrt(N_parent) / (1 + n).{_likely_slip(searches)}"
    )


def _likely_slip(searches: Sequence[Search]) -> str:
    """The slips that come nearest to all the searches, as the end of a sentence; empty if none explains them."""
    fits: dict[str, float] = {}
    for number, (sentence, _) in enumerate(_slips(1.0)):
        worst = 0.0
        for one in searches:
            worst = max(worst, one.difference(rule=_slips(one.c_puct)[number][1]))
            if worst > AGREEMENT_TOLERANCE:
                break
        else:
            fits[sentence] = min(worst, fits.get(sentence, worst))
    nearest = [sentence for sentence, worst in fits.items() if worst <= min(fits.values())]
    return f" It looks as if {', or as if '.join(nearest)}." if fits else ""


UNVISITED_FIRST = "moves without a visit come before all others, as if their value were +infinity; by the formula their Q is 0"
LOGARITHM = "the bonus is that of UCB1, with the logarithm of N_parent in place of its square root"
HALVED = "Q enters the selection halved, as from results between 0 and 1; it lies in [-1, 1]"
PARENTS_Q = "moves without a visit take their Q from the parent; by the formula it is 0"


def _slips(c: float) -> list[tuple[str, Rule]]:
    """Sentences with a selection value that has that slip; p is the parent, n the child."""

    def bonus(p: Node, n: Node) -> float:
        return c * n.prior * sqrt(p.visits) / (1 + n.visits)

    def ucb1(weight: float, with_prior: bool) -> Rule:
        return lambda p, n: (
            n.mean_value + (c * n.prior if with_prior else c) * sqrt(weight * log(p.visits) / n.visits) if n.visits else inf
        )

    return [
        ("the values are seen by the wrong player", lambda p, n: -n.mean_value + bonus(p, n)),
        ("the child with the smallest value is selected", lambda p, n: -n.mean_value - bonus(p, n)),
        ("Q has no part in the selection", bonus),
        (HALVED, lambda p, n: n.mean_value / 2 + bonus(p, n)),
        (HALVED, lambda p, n: (1 + n.mean_value) / 2 * (n.visits > 0) + bonus(p, n)),
        ("the sum of a move's values stands where their mean Q belongs", lambda p, n: n.mean_value * n.visits + bonus(p, n)),
        (UNVISITED_FIRST, lambda p, n: n.mean_value + bonus(p, n) if n.visits else inf),
        (PARENTS_Q, lambda p, n: (n.mean_value if n.visits else -p.mean_value) + bonus(p, n)),
        (PARENTS_Q, lambda p, n: (n.mean_value if n.visits else p.mean_value) + bonus(p, n)),
        (
            "moves without a visit count as lost; by the formula their Q is 0",
            lambda p, n: (n.mean_value if n.visits else -1) + bonus(p, n),
        ),
        ("the exploration bonus has no part in the selection", lambda p, n: n.mean_value),
        ("c_puct has no part in the bonus", lambda p, n: n.mean_value + bonus(p, n) / c),
        ("the prior has no part in the bonus", lambda p, n: n.mean_value + c * sqrt(p.visits) / (1 + n.visits)),
        ("the square root is missing in the bonus", lambda p, n: n.mean_value + bonus(p, n) * sqrt(p.visits)),
        (
            "the square root in the bonus is taken of N_parent / (1 + n), not of N_parent alone",
            lambda p, n: n.mean_value + bonus(p, n) * sqrt(1 + n.visits),
        ),
        (
            "the square root in the bonus is of the child's own visits",
            lambda p, n: n.mean_value + c * n.prior * sqrt(n.visits) / (1 + n.visits),
        ),
        ("the bonus is not divided by 1 + n", lambda p, n: n.mean_value + bonus(p, n) * (1 + n.visits)),
        (
            "the bonus is divided by n in place of 1 + n",
            lambda p, n: n.mean_value + c * n.prior * sqrt(p.visits) / (n.visits or 1),
        ),
        (LOGARITHM, ucb1(1, with_prior=False)),
        (LOGARITHM, ucb1(2, with_prior=False)),
        (LOGARITHM, ucb1(1, with_prior=True)),
        (LOGARITHM, ucb1(2, with_prior=True)),
        (LOGARITHM, lambda p, n: n.mean_value + c * sqrt(log(p.visits) / (1 + n.visits))),
        (LOGARITHM, lambda p, n: n.mean_value + c * n.prior * sqrt(log(p.visits) / (1 + n.visits))),
        (LOGARITHM, lambda p, n: n.mean_value + c * n.prior * sqrt(log(p.visits)) / (1 + n.visits)),
        (LOGARITHM, lambda p, n: n.mean_value + c * n.prior * log(p.visits) / (1 + n.visits)),
    ]
