"""The example of handout section 5.4: four playouts under an evaluator with fixed answers, on an empty 3x3 board.

The points are only names: a is the centre, c a corner, b a second corner. The evaluator names two moves in each position.
"""

from __future__ import annotations

from dataclasses import replace

from common.search_tree import SeenNode
from training.look.recorded_search import EMPTY, Playout, nodes_on

C_PUCT = 5.0
LABELS = {4: "a", 0: "c", 8: "b", 2: "d"}
ANSWERS: dict[tuple[int, ...], tuple[dict[int, float], float]] = {
    (): ({4: 0.6, 0: 0.4}, 0.0),
    (4,): ({8: 0.7, 2: 0.3}, -0.4),
    (0,): ({8: 0.7, 2: 0.3}, 0.3),
    (4, 8): ({0: 0.5, 2: 0.5}, 0.6),
}
"""Moves so far -> (move -> prior, value for the side to move)."""
PATHS = ((), (4,), (0,), (4, 8))


def example_playouts() -> list[Playout]:
    """Return the four playouts that the handout describes."""
    found, before = [], EMPTY
    for number, path in enumerate(PATHS, 1):
        priors, value = ANSWERS[path]
        after = _with_bonus(_added(before, path, -value if len(path) % 2 == 0 else value, priors))
        found.append(Playout(number, path, before, after))
        before = after
    return found


def _added(root: SeenNode, path: tuple[int, ...], share: float, priors: dict[int, float]) -> SeenNode:
    """Return the tree with one visit more along a path; `share` is the value that enters the mean of this node."""
    visits = root.visits + 1
    mean = (root.mean_value * root.visits + share) / visits
    children = root.children
    if path:
        grown = _added(nodes_on(root, path[:1])[-1], path[1:], -share, priors)
        children = tuple(grown if child.move == path[0] else child for child in children)
    elif not children:
        children = tuple(SeenNode(move, 0, 0.0, prior, 0.0, ()) for move, prior in priors.items())
    return replace(root, visits=visits, mean_value=mean, children=children)


def _with_bonus(node: SeenNode) -> SeenNode:
    children = []
    for child in node.children:
        bonus = C_PUCT * child.prior * node.visits**0.5 / (1 + child.visits)
        children.append(_with_bonus(replace(child, bonus=bonus)))
    return replace(node, children=tuple(sorted(children, key=lambda child: (-child.visits, -child.prior))))
