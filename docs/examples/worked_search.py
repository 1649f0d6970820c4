"""The four playouts of handout 5.4, played by the grader's own search with an evaluator that returns the numbers given there.

The values of nodes are for the player who moved into them; those of the evaluator by the side to move.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from Board.game_board import Board
from grader.judge.trusted.search import Evaluation, Node, playouts

C_PUCT = 5.0
NAMES = {0: "a", 1: "c", 2: "b", 3: "d"}
"""Moves on a board of 4x4, large enough for no game to end."""
EVALUATIONS: dict[tuple[int, ...], tuple[dict[int, float], float]] = {
    (): ({0: 0.6, 1: 0.4}, 0.0),
    (0,): ({2: 0.7, 3: 0.3}, -0.4),
    (1,): ({2: 0.5, 3: 0.5}, 0.3),
    (0, 2): ({1: 0.5, 3: 0.5}, 0.6),
}


@dataclass(frozen=True)
class Seen:
    """A node after some playouts, as the handout prints it.

    Attributes:
        name: the letters of the moves that lead to it, "" at the root.
    """

    name: str
    prior: float
    visits: int
    mean_value: float


def _evaluate(board: Board) -> Evaluation:
    priors, value = EVALUATIONS[tuple(board.states)]
    return list(priors.items()), value


def nodes_after(count: int) -> dict[str, Seen]:
    """Return the nodes after this number of playouts, by name, in the order of a walk from the root; at most four playouts."""
    board = Board(width=4, height=4, n_in_row=4)
    board.init_board()
    dialogue = playouts(board, count, C_PUCT)
    try:
        leaf = next(dialogue)
        while True:
            leaf = dialogue.send(_evaluate(leaf))
    except StopIteration as stop:
        root: Node = stop.value
    found: dict[str, Seen] = {}

    def walk(node: Node, name: str) -> None:
        found[name] = Seen(name, node.prior, node.visits, node.mean_value)
        for move, child in node.children.items():
            walk(child, name + NAMES[move])

    walk(root, "")
    return found


def puct(parent: Seen, child: Seen) -> float:
    """Return the value by which the search chooses a child."""
    return child.mean_value + C_PUCT * child.prior * sqrt(parent.visits) / (1 + child.visits)
