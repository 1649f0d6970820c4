"""The grader's own AlphaZero search, against which a student's is held (Silver et al. 2017, Methods, "Select").

Each playout walks down by the largest `Q + c_puct * P * sqrt(N_parent) / (1 + N)`, evaluates the leaf, expands it, and backs
the value up. Q is the mean value of a node seen by the player who moved into it, so the sign turns once, in `_backup`.
Deterministic: the first of equal children in order of moves is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt

from Board.game_board import Board

Evaluate = Callable[[Board], tuple[Iterable[tuple[int, float]], float]]
"""Board -> (priors of the legal moves, value for the side to move)."""


class Node:
    """A position reached by a move; `mean_value` is seen by the player who made that move."""

    __slots__ = ("children", "mean_value", "prior", "visits")

    def __init__(self, prior: float) -> None:
        self.prior = prior
        self.visits = 0
        self.mean_value = 0.0
        self.children: dict[int, Node] = {}


def search(
    board: Board, evaluate: Evaluate, n_playout: int, c_puct: float, *, count_parent_itself: bool = True
) -> Node:
    """The tree after `n_playout` playouts from `board`, which is left as it was.

    Args:
        evaluate: of positions that are not over; a finished game is worth its result.
        count_parent_itself: whether N_parent is the node's own visits (with the one that expanded it) or the sum of its
            children's. Right solutions differ in this.
    """
    root = Node(1.0)
    for _ in range(n_playout):
        _playout(root, board.copy(), evaluate, c_puct, count_parent_itself)
    return root


def _playout(root: Node, board: Board, evaluate: Evaluate, c_puct: float, count_parent_itself: bool) -> None:
    node, path = root, [root]
    while node.children:
        scale = c_puct * sqrt(node.visits if count_parent_itself else node.visits - 1)
        best, best_score, best_move = node, float("-inf"), -1
        for move, child in node.children.items():
            score = child.mean_value + scale * child.prior / (1 + child.visits)
            if score > best_score:
                best, best_score, best_move = child, score, move
        node = best
        board.do_move(best_move)
        path.append(node)
    ended, winner = board.game_end()
    if ended:
        value = 0.0 if winner == -1 else (1.0 if winner == board.get_current_player() else -1.0)
    else:
        priors, value = evaluate(board)
        node.children = {move: Node(float(prior)) for move, prior in sorted(priors)}
    _backup(path, float(value))


def _backup(path: list[Node], value: float) -> None:
    """`value` is the leaf's, for the side to move there; the player who moved into the leaf sees its negative."""
    for node in reversed(path):
        value = -value
        node.visits += 1
        node.mean_value += (value - node.mean_value) / node.visits


def most_visited(root: Node) -> int:
    """The move to play; the first of equals in order of moves."""
    return max(root.children, key=lambda move: root.children[move].visits)
