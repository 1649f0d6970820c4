"""Compare the root visits of a student's search with those of a correct search; name the slip that explains a difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.board_position import BoardPosition, shares_of
from grader.judge.support.oracle import Answers
from grader.judge.support.ruling import Ruling
from grader.judge.support.trees import visit_difference

# The largest share of a root's visits that may differ from the nearest correct search. Searches that follow the formula differ
# only in how they order equal moves.
AGREEMENT_TOLERANCE = 0.03
# With this c_puct the bonus alone decides: values in [-1, 1] matter only where two bonuses differ by less than 1 in 10^4. Two
# of the 80 visits may then differ from every correct search, so the order of equal moves does not matter.
HUGE_C_PUCT = 1e6
SHOWN_MOVES = 6  # of a search that differs
WIDE_BOARDS, WIDE_PLAYOUTS = ((10, 10), (9, 11)), 80


RIGHT = "right"
"""The answer under this name has the visits [readings, 2, W*H] by move: after the case's playouts, and after one more."""

UNVISITED_FIRST = "unvisited moves are selected first, as if their value were +infinity; by the formula their Q is 0"
LOGARITHM = "the bonus is that of UCB1, with the logarithm of N_parent instead of its square root"
HALVED = "Q is halved in the selection, as if results were between 0 and 1; Q lies in [-1, 1]"
PARENTS_Q = "unvisited moves take their Q from the parent; by the formula their Q is 0"
DEFAULT_C_PUCT = "default c_puct"
SLIPS = {
    "wrong player": "the values are for the wrong player",
    "smallest value": "the child with the smallest value is selected",
    "no value": "Q is missing from the selection",
    "half of the value": HALVED,
    "value from 0 to 1": HALVED,
    "sum of values": "the sum of a move's values is used instead of their mean Q",
    "unvisited first": UNVISITED_FIRST,
    "parent's value, turned": PARENTS_Q,
    "parent's value": PARENTS_Q,
    "unvisited won": "unvisited moves count as wins; by the formula their Q is 0",
    "unvisited lost": "unvisited moves count as losses; by the formula their Q is 0",
    "no bonus": "the exploration bonus is missing from the selection",
    "no c_puct": "c_puct is missing from the bonus",
    DEFAULT_C_PUCT: "c_puct is 5 whatever value the player is given",
    "no prior": "the prior is missing from the bonus",
    "no square root": "the square root is missing from the bonus",
    "root of the quotient": "the bonus has the square root of N_parent / (1 + n), not of N_parent alone",
    "root of own visits": "the bonus has the square root of the child's own visits",
    "not divided": "the bonus is not divided by 1 + n",
    "divided by n": "the bonus is divided by n instead of 1 + n",
    "UCB1": LOGARITHM,
    "UCB1 doubled": LOGARITHM,
    "UCB1 with prior": LOGARITHM,
    "UCB1 doubled with prior": LOGARITHM,
    "logarithm under the root of 1 + n": LOGARITHM,
    "root of the logarithm over 1 + n": LOGARITHM,
    "root of the logarithm": LOGARITHM,
    "logarithm": LOGARITHM,
}
"""Slip in the selection -> the rest of a sentence that begins with "It looks as if"."""


def slip_name(slip: str) -> str:
    """Return the name of the answer with the visits [2, W*H] of a search that has this slip; not every case has this answer."""
    return f"slip: {slip}"


def visits_by_bonus(priors: Mapping[int, float], count: int) -> dict[int, float]:
    """Return how `count` visits are distributed among moves with these priors if only the bonus decides (HUGE_C_PUCT)."""
    visits = dict.fromkeys(priors, 0.0)
    for _ in range(count):
        visits[max(priors, key=lambda move: priors[move] / (1 + visits[move]))] += 1
    return visits


@dataclass(frozen=True)
class SearchComparison:
    """A student's search, to be compared with correct and faulty searches of the same case.

    Attributes:
        seen: the visits of the root's children in the student's search, by move.
        expected: the visits in the other searches; see `RIGHT` and `slip_name`.
    """

    seen: dict[int, float]
    position: BoardPosition
    n_playout: int
    c_puct: float
    expected: Answers

    def smallest_difference(self) -> float:
        """Return the difference from the nearest correct reading of the formula."""
        return min(self._difference(visits) for visits in self.expected[RIGHT])

    def explained(self, slip: str) -> bool:
        """Return whether a search with this slip visits the same moves."""
        return self.difference_to(slip) <= AGREEMENT_TOLERANCE

    def difference_to(self, slip: str) -> float:
        """Return the difference from a search with this slip."""
        return self._difference(self.expected[slip_name(slip)])

    def nearest_right(self) -> dict[int, float]:
        """Return the visits by move in the nearest correct search."""
        return self._visits(min(self.expected[RIGHT], key=self._difference))

    def _difference(self, visits: np.ndarray) -> float:
        """Return the difference from visits [2, W*H]."""
        return visit_difference(self.seen, self._visits(visits))

    def _visits(self, visits: np.ndarray) -> dict[int, float]:
        """Return those visits [2, W*H] that can be compared, by move.

        Row 1 is for searches that expand the root before the first playout, so that this playout already visits a child.
        """
        row = visits[int(sum(self.seen.values()) == self.n_playout)]
        return {int(move): float(row[move]) for move in np.flatnonzero(row)}


def expect_agreement(
    searches: Sequence[SearchComparison],
    wide: Sequence[SearchComparison] = (),
    chooses_at_random: Callable[[], bool] = lambda: False,
    ruling: Ruling | None = None,
) -> float:
    """Return the largest difference from the nearest correct reading of the formula.

    Args:
        wide: searches on WIDE_BOARDS with HUGE_C_PUCT, which do not depend on values.
        chooses_at_random: returns whether the search differs from run to run; called only if `searches` differ from the
            correct ones and `wide` do not.
        ruling: records the visits in the position that differs most.

    Raises:
        StudentFault: the difference is too large; the message names the slip that explains all searches, if there is one.
        CouldNotGrade: the bonus is correct, but the search chooses at random among equal moves, so it cannot be repeated.
    """
    worst = max(one.smallest_difference() for one in searches)
    worst_wide = max((one.smallest_difference() for one in wide), default=0.0)
    if max(worst, worst_wide) <= AGREEMENT_TOLERANCE:
        return max(worst, worst_wide)
    if wide and worst_wide <= AGREEMENT_TOLERANCE and chooses_at_random():
        raise CouldNotGrade(
            f"{worst:.0%} of the visits went to other moves than in the reference search, although the bonus is correct: the "
            "solution chooses at random among moves of equal value, so its search cannot be repeated"
        )
    raise _disagreement(searches if worst > AGREEMENT_TOLERANCE else wide, ruling)


def _disagreement(searches: Sequence[SearchComparison], ruling: Ruling | None) -> StudentFault:
    differences = [one.smallest_difference() for one in searches]
    worst = max(differences)
    one = searches[differences.index(worst)]
    position, right = one.position, one.nearest_right()
    if ruling is not None:
        ruling.expected = f"In this position, a correct search visits {_in_words(right)}."
        ruling.seen = f"This search visits {_in_words(one.seen)}."
    return StudentFault(
        f"After moves {list(position.moves)} on {position.size} ({position.n_in_row} in a row, "
        f"{one.n_playout} playouts, c_puct {one.c_puct:g}) {worst:.0%} of the visits went to other moves than with "
        f"Q + c_puct * P * sqrt(N_parent) / (1 + n).{_likely_slip(searches)}",
        position.compared("the share of the visits that each move gets", shares_of(right), shares_of(one.seen)),
    )


def _in_words(visits: Mapping[int, float]) -> str:
    """Return the most visited moves, such as `move 4 120 times`, in as many words as a report has room for."""
    order = sorted(visits, key=lambda move: (-visits[move], move))
    words = ", ".join(f"{move} {visits[move]:.0f} times" for move in order[:SHOWN_MOVES])
    others = sum(visits[move] for move in order[SHOWN_MOVES:])
    return f"move {words}" + (f" and the others {others:.0f} times" if order[SHOWN_MOVES:] else "") if order else "no move"


def _likely_slip(searches: Sequence[SearchComparison]) -> str:
    """Return a sentence that names the slips nearest to all the searches, or "" if no slip explains them."""
    fits: dict[str, float] = {}
    for slip, sentence in SLIPS.items():
        known = [one for one in searches if slip_name(slip) in one.expected]
        if known and all(one.explained(slip) for one in known):
            worst = max(one.difference_to(slip) for one in known)
            fits[sentence] = min(worst, fits.get(sentence, worst))
    nearest = [sentence for sentence, worst in fits.items() if worst <= min(fits.values())]
    return f" It looks as if {', or as if '.join(nearest)}." if fits else ""
