"""The drawn tree of alpha-beta, and how many nodes each step saves on the whole of tic-tac-toe (Knuth and Moore 1975).

Values in the drawn tree are for Black, who is to move at the root. In tic-tac-toe they are for the side to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from docs.examples.text import Language, chosen, fenced, table

TREE = {"a": (5, 4, 8), "b": (3, 9, 7), "c": (6, 2, 1)}
"""Black's moves -> evaluations after White's answers, from left to right."""
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
MASKS = tuple(sum(1 << point for point in line) for line in LINES)
FULL = (1 << 9) - 1

Order = Callable[[int, int], Iterable[int]]
"""Returns all points in the order in which to try them; the arguments are the stones of the side to move and of the other."""


@dataclass(frozen=True)
class Visit:
    """A group of leaves as alpha-beta sees it.

    Attributes:
        alpha: what Black is sure of when the search enters the group; None before the first one.
        seen: the leaves that the search looks at.
        left_out: those that it leaves out.
        value: the bound that it returns.
    """

    move: str
    alpha: int | None
    seen: tuple[int, ...]
    left_out: tuple[int, ...]
    value: int


def visits() -> list[Visit]:
    """Search TREE from left to right and return what happens in each group."""
    alpha: int | None = None
    found = []
    for move, leaves in TREE.items():
        beta, seen = max(leaves), 0
        for leaf in leaves:
            beta, seen = min(beta, leaf), seen + 1
            if alpha is not None and beta <= alpha:
                break
        found.append(Visit(move, alpha, leaves[:seen], leaves[seen:], beta))
        alpha = beta if alpha is None else max(alpha, beta)
    return found


def trace(_: Language) -> str:
    """Return the search of the drawn tree, a line for each move of Black."""
    lines = ["move   alpha   leaves seen   left out   result", "-" * 54]
    for visit in visits():
        alpha = "-" if visit.alpha is None else str(visit.alpha)
        seen, left_out = (" ".join(map(str, leaves)) for leaves in (visit.seen, visit.left_out))
        relation = "at most " if visit.left_out else ""
        lines.append(f"{visit.move:<6} {alpha:<7} {seen:<13} {left_out or '-':<10} {relation}{visit.value}")
    best = max(visits(), key=lambda visit: visit.value)
    leaves = sum(len(visit.seen) for visit in visits())
    lines += ["", f"value {best.value}, by the move {best.move}; {leaves} of {sum(map(len, TREE.values()))} leaves seen"]
    return fenced(lines)


# ------------------------------------------------------------------------------------------- all of tic-tac-toe


def _has_won(stones: int) -> bool:
    return any(stones & mask == mask for mask in MASKS)


def edges_first(_own: int, _other: int) -> Iterable[int]:
    """A bad order: edges, corners, centre."""
    return (1, 3, 5, 7, 0, 2, 6, 8, 4)


def by_number(_own: int, _other: int) -> Iterable[int]:
    """No order: as the points are numbered."""
    return range(9)


def centre_first(_own: int, _other: int) -> Iterable[int]:
    """Centre, corners, edges."""
    return (4, 0, 2, 6, 8, 1, 3, 5, 7)


def threats_first(own: int, other: int) -> Iterable[int]:
    """Points that win, then points that stop a win, then as centre_first."""
    return sorted(centre_first(own, other), key=lambda point: -2 * _has_won(own | 1 << point) - _has_won(other | 1 << point))


@cache
def nodes_of_minimax(own: int = 0, other: int = 0) -> int:
    """Return the number of nodes of the whole tree below a position, with the position itself."""
    if _has_won(other) or own | other == FULL:
        return 1
    return 1 + sum(nodes_of_minimax(other, own | 1 << point) for point in range(9) if not (own | other) >> point & 1)


class Searcher:
    """Negamax with alpha-beta over tic-tac-toe that counts its nodes.

    Args:
        order: the order of moves.
        table: whether a transposition table keeps the bounds of a position: (lower, upper).
        remember: whether the best move of an earlier search of the same position is tried first.
    """

    def __init__(self, order: Order, table: bool = False, remember: bool = False) -> None:
        self.order = order
        self.table: dict[tuple[int, int, int], tuple[int, int]] | None = {} if table else None
        self.best_moves: dict[tuple[int, int], int] | None = {} if remember else None
        self.nodes = 0

    def search(self, own: int = 0, other: int = 0, depth: int = 9, alpha: int = -2, beta: int = 2) -> int:
        """Return the value of a position for the side to move: exact between alpha and beta, otherwise a bound.

        A position at depth 0 whose game is not over counts as a draw.
        """
        self.nodes += 1
        if _has_won(other):
            return -1
        if depth == 0 or own | other == FULL:
            return 0
        low, high = self.table.get((own, other, depth), (-2, 2)) if self.table is not None else (-2, 2)
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
        best, bound = -2, alpha
        for point in self._moves(own, other):
            value = -self.search(other, own | 1 << point, depth - 1, -beta, -bound)
            if value > best and self.best_moves is not None:
                self.best_moves[own, other] = point
            best = max(best, value)
            bound = max(bound, best)
            if bound >= beta:
                break
        if self.table is not None:
            self.table[own, other, depth] = (best if best > alpha else low, best if best < beta else high)
        return best

    def deepen(self) -> list[int]:
        """Search the empty board to depth 1, 2 ... 9 and return the nodes of each depth."""
        counts = []
        for depth in range(1, 10):
            before = self.nodes
            self.search(depth=depth)
            counts.append(self.nodes - before)
        return counts

    def _moves(self, own: int, other: int) -> list[int]:
        moves = [point for point in self.order(own, other) if not (own | other) >> point & 1]
        first = self.best_moves.get((own, other)) if self.best_moves is not None else None
        return moves if first is None else [first, *(move for move in moves if move != first)]


ROWS = (
    ("alpha-beta, edges first", "alpha-beta，先边后角再中心", edges_first, False),
    ("alpha-beta, points as numbered", "alpha-beta，按编号", by_number, False),
    ("alpha-beta, centre first", "alpha-beta，先中心后角再边", centre_first, False),
    ("alpha-beta, wins and blocks first", "alpha-beta，先取胜点和防守点", threats_first, False),
    ("the same, with a transposition table", "同上，加置换表", threats_first, True),
)


def node_counts(language: Language) -> str:
    """Return the table of nodes on the whole of tic-tac-toe."""
    rows: list[tuple[object, object]] = [("minimax", f"{nodes_of_minimax():,}")]
    for english, chinese, order, with_table in ROWS:
        searcher = Searcher(order, with_table)
        if searcher.search() != 0:
            raise AssertionError("tic-tac-toe is a draw")
        rows.append((chosen(language, english, chinese), f"{searcher.nodes:,}"))
    return table((chosen(language, "Search", "搜索"), chosen(language, "Nodes", "节点数")), rows, "lr")


def deepening(language: Language) -> str:
    """Return the table of nodes of each depth of iterative deepening, without and with the best move of earlier depths."""
    header = [chosen(language, "Depth", "深度"), *map(str, range(1, 10)), chosen(language, "total", "合计")]
    rows = []
    for english, chinese, remember in (
        ("centre first", "先中心后角再边", False),
        ("the earlier best move first", "先试上次的最佳着法", True),
    ):
        counts = Searcher(centre_first, remember=remember).deepen()
        rows.append([chosen(language, english, chinese), *(f"{count:,}" for count in [*counts, sum(counts)])])
    return table(header, rows, "l" + 10 * "r")
