"""Selection formulas with a known slip: the rules behind the messages in `grader.judge.support.agreement.SLIPS`.

Students do not get a copy of this module (`grader.judge.support.oracle`).
"""

from __future__ import annotations

from math import inf, log, sqrt

from grader.judge.support.agreement import DEFAULT_C_PUCT
from grader.judge.support.searches import C_PUCT
from grader.judge.trusted.search import Node, SelectionRule


def rules(c: float) -> dict[str, SelectionRule]:
    """Return slip -> the function that gives the selection value of a child n of a parent p with this slip; c is c_puct."""

    def bonus(p: Node, n: Node) -> float:
        return c * n.prior * sqrt(p.visits) / (1 + n.visits)

    def ucb1(weight: float, with_prior: bool) -> SelectionRule:
        return lambda p, n: (
            n.mean_value + (c * n.prior if with_prior else c) * sqrt(weight * log(p.visits) / n.visits) if n.visits else inf
        )

    return {
        "wrong player": lambda p, n: -n.mean_value + bonus(p, n),
        "smallest value": lambda p, n: -n.mean_value - bonus(p, n),
        "no value": bonus,
        "half of the value": lambda p, n: n.mean_value / 2 + bonus(p, n),
        "value from 0 to 1": lambda p, n: (1 + n.mean_value) / 2 * (n.visits > 0) + bonus(p, n),
        "sum of values": lambda p, n: n.mean_value * n.visits + bonus(p, n),
        "unvisited first": lambda p, n: n.mean_value + bonus(p, n) if n.visits else inf,
        "parent's value, turned": lambda p, n: (n.mean_value if n.visits else -p.mean_value) + bonus(p, n),
        "parent's value": lambda p, n: (n.mean_value if n.visits else p.mean_value) + bonus(p, n),
        "unvisited won": lambda p, n: (n.mean_value if n.visits else 1) + bonus(p, n),
        "unvisited lost": lambda p, n: (n.mean_value if n.visits else -1) + bonus(p, n),
        "no bonus": lambda p, n: n.mean_value,
        "no c_puct": lambda p, n: n.mean_value + bonus(p, n) / c,
        DEFAULT_C_PUCT: lambda p, n: n.mean_value + C_PUCT * bonus(p, n) / c,
        "no prior": lambda p, n: n.mean_value + c * sqrt(p.visits) / (1 + n.visits),
        "no square root": lambda p, n: n.mean_value + bonus(p, n) * sqrt(p.visits),
        "root of the quotient": lambda p, n: n.mean_value + bonus(p, n) * sqrt(1 + n.visits),
        "root of own visits": lambda p, n: n.mean_value + c * n.prior * sqrt(n.visits) / (1 + n.visits),
        "not divided": lambda p, n: n.mean_value + bonus(p, n) * (1 + n.visits),
        "divided by n": lambda p, n: n.mean_value + c * n.prior * sqrt(p.visits) / (n.visits or 1),
        "UCB1": ucb1(1, with_prior=False),
        "UCB1 doubled": ucb1(2, with_prior=False),
        "UCB1 with prior": ucb1(1, with_prior=True),
        "UCB1 doubled with prior": ucb1(2, with_prior=True),
        "logarithm under the root of 1 + n": lambda p, n: n.mean_value + c * sqrt(log(p.visits) / (1 + n.visits)),
        "root of the logarithm over 1 + n": lambda p, n: n.mean_value + c * n.prior * sqrt(log(p.visits) / (1 + n.visits)),
        "root of the logarithm": lambda p, n: n.mean_value + c * n.prior * sqrt(log(p.visits)) / (1 + n.visits),
        "logarithm": lambda p, n: n.mean_value + c * n.prior * log(p.visits) / (1 + n.visits),
    }
