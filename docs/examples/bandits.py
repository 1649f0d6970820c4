"""UCB1 and PUCT side by side on the same visits (Auer et al. 2002; Rosin 2011)."""

from __future__ import annotations

from math import log, sqrt

from docs.examples.text import Language, chosen, signed, table

C, C_PUCT = 1.4, 5.0
MOVES = (("a", 0.6, 55, 0.10), ("b", 0.3, 30, 0.25), ("c", 0.07, 12, 0.30), ("d", 0.03, 3, 0.05))
"""Name, prior, visits, Q."""


def ucb1(total: int, visits: int, q: float) -> float:
    """Return the value by which UCB1 chooses."""
    return q + C * sqrt(log(total) / visits)


def puct(total: int, visits: int, q: float, prior: float) -> float:
    """Return the value by which PUCT chooses."""
    return q + C_PUCT * prior * sqrt(total) / (1 + visits)


def comparison(language: Language) -> str:
    """Return the table of both rules; a star marks the move that a rule takes next."""
    total = sum(visits for _, _, visits, _ in MOVES)
    by_ucb1 = [ucb1(total, visits, q) for _, _, visits, q in MOVES]
    by_puct = [puct(total, visits, q, prior) for _, prior, visits, q in MOVES]
    header = [chosen(language, "Move", "着法"), "P", "N", "Q", "UCB1", "PUCT"]
    rows = []
    for (name, prior, visits, q), first, second in zip(MOVES, by_ucb1, by_puct, strict=True):
        stars = (" \\*" if first == max(by_ucb1) else "", " \\*" if second == max(by_puct) else "")
        rows.append((name, prior, visits, signed(q, 2), f"{first:.2f}{stars[0]}", f"{second:.2f}{stars[1]}"))
    return table(header, rows, "lrrrrr")
