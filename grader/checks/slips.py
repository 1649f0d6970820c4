"""The likeliest reason why a search went elsewhere than the reference: what each typical slip in the selection would give."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from grader.checks.trees import board_at, difference
from grader.trusted_search import Node, Rule, search

AGREEMENT_TOLERANCE = 0.03


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


def likely_slip(
    seen: dict[int, float], position: dict[str, Any], evaluate: Callable[..., Any], n_playout: int, c_puct: float
) -> str:
    """A sentence that names the slip whose search visits the root's children as seen, or nothing.

    Args:
        seen: visits of the root's children by move.
        evaluate: as of `trusted_search.search`.
    """
    found = {}
    for slip, rule in _slips(c_puct).items():
        root = search(board_at(position), evaluate, n_playout, c_puct, rule=rule)
        found[slip] = difference(seen, {move: child.visits for move, child in root.children.items()})
    nearest = min(found, key=found.__getitem__)
    return f" It looks as if {nearest}." if found[nearest] <= AGREEMENT_TOLERANCE else ""
