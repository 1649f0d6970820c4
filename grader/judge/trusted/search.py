"""The grader's own AlphaZero search, against which a student's is held (Silver et al. 2017, Methods, "Select").

Students get no copy of this module (`grader.judge.support.oracle`).

Each playout walks down by the largest `Q + c_puct * P * sqrt(N_parent) / (1 + N)`, evaluates the leaf, expands it, and backs
the value up. Q is the mean value of a node seen by the player who moved into it, so the sign turns once, in `_backup`.
Deterministic: the first of equal children in order of moves is taken, or the last.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from Board.game_board import Board

Evaluation = tuple[Iterable[tuple[int, float]], float]
"""Priors of the legal moves, and the value for the side to move."""
SelectionRule = Callable[["Node", "Node"], float]
"""Selection value of a child (second) of a node (first), where another than the right one is to be tried."""


@dataclass(frozen=True)
class Reading:
    """How a search reads what the formula leaves open; right solutions differ in it.

    Attributes:
        count_parent_itself: whether N_parent is the node's own visits (with the one that expanded it) or the sum of its
            children's. In the latter case a node's first bonuses are all 0.
        last_of_equals: whether the last of equal children is selected, or the first.
    """

    count_parent_itself: bool = True
    last_of_equals: bool = False


class Node:
    """A position reached by a move; `mean_value` is seen by the player who made that move."""

    __slots__ = ("board", "children", "mean_value", "prior", "result", "visits")

    def __init__(self, prior: float) -> None:
        self.prior = prior
        self.visits = 0
        self.mean_value = 0.0
        self.children: dict[int, Node] = {}
        self.board: Board | None = None
        self.result: float | None = None


def playouts(
    board: Board,
    n_playout: int,
    c_puct: float,
    reading: Reading = Reading(),
    rule: SelectionRule | None = None,
    root: Node | None = None,
) -> Generator[Board, Evaluation, Node]:
    """The search as a dialogue: yields each leaf's position, is sent its evaluation, returns the root.

    So that one search can be run alone or many side by side, with their leaves evaluated in one batch.

    Args:
        root: of a search that is to go on, None for a new one.
    """
    if root is None:
        root = Node(1.0)
        root.board = board.copy()
    for _ in range(n_playout):
        node, path = root, [root]
        while node.children:
            parent, (move, node) = node, _select(node, c_puct, reading, rule)
            path.append(node)
        if node.board is None:
            assert parent.board is not None
            node.board = parent.board.copy()
            node.board.do_move(move)
        if node.visits == 0:
            ended, winner = node.board.game_end()
            if ended:
                side = node.board.get_current_player()
                node.result = 0.0 if winner == -1 else (1.0 if winner == side else -1.0)
        if node.result is None:
            priors, value = yield node.board
            node.children = {move: Node(float(prior)) for move, prior in sorted(priors)}
        else:
            value = node.result
        _backup(path, float(value))
    return root


def _select(node: Node, c_puct: float, reading: Reading, rule: SelectionRule | None) -> tuple[int, Node]:
    if rule is not None:
        return max(node.children.items(), key=lambda item: rule(node, item[1]))
    scale = c_puct * sqrt(node.visits if reading.count_parent_itself else node.visits - 1)
    best, best_score = (-1, node), float("-inf")
    for item in node.children.items():
        child = item[1]
        score = child.mean_value + scale * child.prior / (1 + child.visits)
        if score > best_score or (reading.last_of_equals and score == best_score):
            best, best_score = item, score
    return best


def _backup(path: list[Node], value: float) -> None:
    """`value` is the leaf's, for the side to move there; the player who moved into the leaf sees its negative."""
    for node in reversed(path):
        value = -value
        node.visits += 1
        node.mean_value += (value - node.mean_value) / node.visits


def search(
    board: Board,
    evaluate: Callable[[Board], Evaluation],
    n_playout: int,
    c_puct: float,
    *,
    reading: Reading = Reading(),
    rule: SelectionRule | None = None,
) -> Node:
    """The tree after `n_playout` playouts from `board`, which is left as it was.

    Args:
        evaluate: of positions that are not over; a finished game is worth its result.
        reading: of what the formula leaves open.
        rule: by which children are selected in place of the right one, to see what a slip would give.
    """
    return search_many([board], lambda leaves: [evaluate(leaves[0])], n_playout, c_puct, reading, rule)[0]


def search_many(
    boards: Sequence[Board],
    evaluate: Callable[[Sequence[Board]], Sequence[Evaluation]],
    n_playout: int,
    c_puct: float,
    reading: Reading = Reading(),
    rule: SelectionRule | None = None,
) -> list[Node]:
    """Independent searches side by side, their leaves evaluated together; the trees are those of `search`."""
    roots: list[Node | None] = [None] * len(boards)
    waiting: list[tuple[int, Generator[Board, Evaluation, Node], Board]] = []

    def advance(number: int, dialogue: Generator[Board, Evaluation, Node], answer: Evaluation | None) -> None:
        try:
            leaf = next(dialogue) if answer is None else dialogue.send(answer)
            waiting.append((number, dialogue, leaf))
        except StopIteration as stop:
            roots[number] = stop.value

    for number, board in enumerate(boards):
        advance(number, playouts(board, n_playout, c_puct, reading, rule), None)
    while waiting:
        asked, answers = waiting, evaluate([leaf for _, _, leaf in waiting])
        waiting = []
        for (number, dialogue, _), answer in zip(asked, answers, strict=True):
            advance(number, dialogue, answer)
    return [root for root in roots if root is not None]


def best_move(root: Node) -> int:
    """The move to play; the first of equals in order of moves."""
    return max(root.children, key=lambda move: root.children[move].visits)
