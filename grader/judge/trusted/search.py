"""The grader's own AlphaZero search, with which students' searches are compared (Silver et al. 2017, Methods, "Select").

Students do not get a copy of this module (`grader.judge.support.oracle`).

Each playout selects the child with the largest `Q + c_puct * P * sqrt(N_parent) / (1 + N)` until it reaches a leaf, evaluates
and expands the leaf, and backs the value up. Q is the mean value of a node for the player who moved into it, so the sign
flips in only one place, `_backup`. The search is deterministic: among equal children it takes the first in order of moves, or
the last.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from Board.game_board import Board

Evaluation = tuple[Iterable[tuple[int, float]], float]
"""Priors of the legal moves, and the value for the side to move."""
SelectionRule = Callable[["Node", "Node"], float]
"""Returns the selection value of a child (second argument) of a node (first); used in place of the correct formula."""


@dataclass(frozen=True)
class Reading:
    """How a search interprets what the formula leaves open; correct solutions differ here.

    Attributes:
        count_parent_itself: N_parent is the node's own visit count, including the visit that expanded it. Otherwise it is the
            sum over the children, and a node's first bonuses are all 0 if `least` is.
        count_this_playout: N_parent also counts the playout in progress, as visits may be counted on the way down.
        last_of_equals: select the last of equal children instead of the first.
        least: N_parent is at least this; above 0, the largest prior decides before a child has been visited.
    """

    count_parent_itself: bool = True
    count_this_playout: bool = False
    last_of_equals: bool = False
    least: float = 0.0


class Node:
    """A position reached by a move; `mean_value` is for the player who made that move."""

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
    until_decided: bool = False,
) -> Generator[Board, Evaluation, Node]:
    """Run the search as a generator that yields each leaf's board, receives its evaluation, and returns the root.

    This lets many searches run side by side, with their leaves evaluated in one batch.

    Args:
        root: the root of a search to continue; None starts a new search.
        until_decided: stop as soon as the playouts that are left can no longer change which move is visited most.
    """
    if root is None:
        root = Node(1.0)
        root.board = board.copy()
    for left in range(n_playout, 0, -1):
        if until_decided and _is_decided(root, left):
            break
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


def _is_decided(root: Node, left: int) -> bool:
    """Return whether the most visited move stays ahead of all others for as many playouts as are left."""
    if len(root.children) == 1:
        return True
    if root.visits <= left:
        return False
    *_, second, most = sorted(child.visits for child in root.children.values())
    return most - second > left


def _select(node: Node, c_puct: float, reading: Reading, rule: SelectionRule | None) -> tuple[int, Node]:
    if rule is not None:
        return max(node.children.items(), key=lambda item: rule(node, item[1]))
    counted = node.visits - (not reading.count_parent_itself) + reading.count_this_playout
    scale = c_puct * sqrt(max(reading.least, counted))
    best, best_score = (-1, node), float("-inf")
    for item in node.children.items():
        child = item[1]
        score = child.mean_value + scale * child.prior / (1 + child.visits)
        if score > best_score or (reading.last_of_equals and score == best_score):
            best, best_score = item, score
    return best


def _backup(path: list[Node], value: float) -> None:
    """Back up the leaf's value, given for the side to move there; the player who moved into the leaf sees its negative."""
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
    """Return the root of the tree after `n_playout` playouts from `board`, which is not changed.

    Args:
        evaluate: evaluates positions of unfinished games; the value of a finished game is its result.
        reading: how to interpret what the formula leaves open.
        rule: replaces the correct selection formula, to show the effect of a slip.
    """
    return search_many([board], lambda leaves: [evaluate(leaves[0])], n_playout, c_puct, reading, rule)[0]


def search_many(
    boards: Sequence[Board],
    evaluate: Callable[[Sequence[Board]], Sequence[Evaluation]],
    n_playout: int,
    c_puct: float,
    reading: Reading = Reading(),
    rule: SelectionRule | None = None,
    *,
    until_decided: bool = False,
) -> list[Node]:
    """Run independent searches side by side and evaluate their leaves in batches; the trees are the same as with `search`.

    Args:
        until_decided: see `playouts`.
    """
    roots: list[Node | None] = [None] * len(boards)
    waiting: list[tuple[int, Generator[Board, Evaluation, Node], Board]] = []

    def advance(number: int, dialogue: Generator[Board, Evaluation, Node], evaluation: Evaluation | None) -> None:
        try:
            leaf = next(dialogue) if evaluation is None else dialogue.send(evaluation)
            waiting.append((number, dialogue, leaf))
        except StopIteration as stop:
            roots[number] = stop.value

    for number, board in enumerate(boards):
        advance(number, playouts(board, n_playout, c_puct, reading, rule, until_decided=until_decided), None)
    while waiting:
        batch, evaluations = waiting, evaluate([leaf for _, _, leaf in waiting])
        waiting = []
        for (number, dialogue, _), evaluation in zip(batch, evaluations, strict=True):
            advance(number, dialogue, evaluation)
    return [root for root in roots if root is not None]


def best_move(root: Node) -> int:
    """Return the most visited move; among equals, the first in order of moves."""
    return max(root.children, key=lambda move: root.children[move].visits)
