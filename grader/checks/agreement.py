"""Whether a search visits the root's children as the reference does, and if not, the slip in the selection that explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from grader.checks.trees import board_at, difference
from grader.errors import StudentFault
from grader.trusted_search import Node, Rule, search

AGREEMENT_TOLERANCE = 0.03


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
        """To the nearest of the right variants: N_parent with or without the visit that expanded the node."""
        return min(self.difference(count_parent_itself=counted) for counted in (True, False))

    def difference(self, *, count_parent_itself: bool = True, rule: Rule | None = None) -> float:
        """To the reference's visits. The root may be expanded before the first playout, which then visits a child."""
        n_playout = self.n_playout + (sum(self.seen.values()) == self.n_playout)
        root = search(
            board_at(self.position),
            self.evaluate,
            n_playout,
            self.c_puct,
            count_parent_itself=count_parent_itself,
            rule=rule,
        )
        return difference(self.seen, {move: child.visits for move, child in root.children.items()})


def expect_agreement(searches: Sequence[Search]) -> float:
    """The largest difference to the nearest of the right variants.

    Raises:
        StudentFault: it is too large; the sentence names the slip that explains all the searches, if there is one.
    """
    found = [one.smallest_difference() for one in searches]
    worst = max(found)
    if worst <= AGREEMENT_TOLERANCE:
        return worst
    one = searches[found.index(worst)]
    position = one.position
    raise StudentFault(
        f"After moves {position['moves']} on {position['width']}x{position['height']} ({position['n_in_row']} in a row, "
        f"{one.n_playout} playouts, c_puct {one.c_puct:g}) {worst:.0%} of the visits went to other moves than by "
        f"Q + c_puct * P * sqrt(N_parent) / (1 + n).{_likely_slip(searches)}"
    )


def _likely_slip(searches: Sequence[Search]) -> str:
    fits = {}
    for slip in _slips(1.0):
        worst = 0.0
        for one in searches:
            worst = max(worst, one.difference(rule=_slips(one.c_puct)[slip]))
            if worst > AGREEMENT_TOLERANCE:
                break
        else:
            fits[slip] = worst
    return f" It looks as if {min(fits, key=fits.__getitem__)}." if fits else ""


def _slips(c: float) -> dict[str, Rule]:
    """Sentence -> selection value with that slip; p is the parent, n the child."""

    def bonus(p: Node, n: Node) -> float:
        return c * n.prior * sqrt(p.visits) / (1 + n.visits)

    return {
        "the values are seen by the wrong player": lambda p, n: -n.mean_value + bonus(p, n),
        "the child with the smallest value is selected": lambda p, n: -n.mean_value - bonus(p, n),
        "Q has no part in the selection": bonus,
        "the exploration bonus has no part in the selection": lambda p, n: n.mean_value,
        "c_puct has no part in the bonus": lambda p, n: n.mean_value + bonus(p, n) / c,
        "the prior has no part in the bonus": lambda p, n: n.mean_value + c * sqrt(p.visits) / (1 + n.visits),
        "the square root is missing in the bonus": lambda p, n: n.mean_value + bonus(p, n) * sqrt(p.visits),
        "the square root in the bonus is of the child's own visits": lambda p, n: (
            n.mean_value + c * n.prior * sqrt(n.visits) / (1 + n.visits)
        ),
        "the bonus is not divided by 1 + n": lambda p, n: n.mean_value + bonus(p, n) * (1 + n.visits),
        "the bonus is divided by n in place of 1 + n": lambda p, n: (
            n.mean_value + c * n.prior * sqrt(p.visits) / (n.visits or 1)
        ),
    }
