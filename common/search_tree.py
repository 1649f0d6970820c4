"""A player's search tree as plain values, for overlays, tables and pictures.

The tree is read through the attributes that every solution has (handout sections 5.1 and 5.4): `player.mcts`, `_root`,
`_c_puct`, and of each node `_children`, `_n_visits`, `_Q`, `_P`. A value Q is for the player whose move led to the node.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

MAX_NODES = 20_000


@dataclass(frozen=True)
class SeenNode:
    """A node of a search tree as it was at one moment.

    Attributes:
        move: the move that led here; None at the root.
        visits: the number of playouts through this node.
        mean_value: Q in [-1, 1], for the player whose move led here.
        prior: the probability that the policy gave to the move, in [0, 1].
        bonus: the exploration term U = c_puct * P * sqrt(N of the parent) / (1 + N); 0 at the root.
        children: the moves from here, most visited first; empty below the depth that was asked for.
    """

    move: int | None
    visits: int
    mean_value: float
    prior: float
    bonus: float
    children: tuple[SeenNode, ...]

    @property
    def score(self) -> float:
        """What selection compares: Q + U."""
        return self.mean_value + self.bonus

    def principal_line(self) -> list[int]:
        """Return the most visited moves from here, one after the other, as far as the tree was read."""
        line, node = [], self
        while node.children and node.children[0].visits:
            node = node.children[0]
            line.append(node.move)
        return [move for move in line if move is not None]


def read_tree(player: Any, depth: int = 1, max_nodes: int = MAX_NODES) -> SeenNode | None:
    """Return the tree of a player down to `depth` moves below its root, or None if the player has no tree to read.

    Args:
        player: a player with `.mcts`, or a search with `_root`. It may be searching in another thread: nodes that change while
            they are read are taken as they are.
        max_nodes: once this many nodes were read, deeper ones are left out.
    """
    search = getattr(player, "mcts", player)
    root = getattr(search, "_root", None)
    if root is None or not isinstance(getattr(root, "_children", None), Mapping):
        return None
    left = [max_nodes]
    return _read(root, None, 0.0, _number_of(search, "_c_puct", 5.0), depth, left)


def most_visited_line(player: Any, length: int) -> list[int]:
    """Return up to `length` moves, each the most visited one after those before it; this reads no other nodes.

    Args:
        player: as for `read_tree`; without a tree the line is empty.
    """
    node = getattr(getattr(player, "mcts", player), "_root", None)
    line: list[int] = []
    while len(line) < length and isinstance(children := getattr(node, "_children", None), Mapping) and children:
        move, node = min(list(children.items()), key=_rank)
        if _number_of(node, "_n_visits") <= 0:
            break
        line.append(int(move))
    return line


def _rank(child: tuple[Any, Any]) -> tuple[float, float, int]:
    """Order (move, node) as the children of a SeenNode are ordered."""
    move, node = child
    return -_number_of(node, "_n_visits"), -_number_of(node, "_P"), int(move)


def _read(node: Any, move: int | None, bonus: float, c_puct: float, depth: int, left: list[int]) -> SeenNode:
    visits = int(_number_of(node, "_n_visits"))
    children: list[SeenNode] = []
    # Another thread may add children meanwhile; list() takes all of them in one step.
    for child_move, child in list(getattr(node, "_children", {}).items()) if depth > 0 else ():
        if left[0] <= 0:
            break
        left[0] -= 1
        prior, child_visits = _number_of(child, "_P"), _number_of(child, "_n_visits")
        child_bonus = c_puct * prior * math.sqrt(max(0, visits)) / (1 + max(0.0, child_visits))
        children.append(_read(child, int(child_move), child_bonus, c_puct, depth - 1, left))
    children.sort(key=lambda child: (-child.visits, -child.prior, child.move))
    return SeenNode(move, visits, _number_of(node, "_Q"), _number_of(node, "_P"), bonus, tuple(children))


def _number_of(node: Any, name: str, default: float = 0.0) -> float:
    """Return a number of a node; 0 where there is none yet: None before the first visit, or a division by no visits.

    A solution may keep the number as an array of one element.
    """
    try:
        value = getattr(node, name, default)
    except ArithmeticError:
        return 0.0
    if value is None:
        return 0.0
    return float(value.item()) if hasattr(value, "item") else float(value)


def _with_children_of_its_own(root: Any) -> Any:
    """Return a copy that keeps its children when the root is emptied; the root itself if it cannot be copied."""
    try:
        kept = copy.copy(root)
        kept._children = dict(root._children)
    except (TypeError, AttributeError):
        return root
    return kept


@contextmanager
def kept_roots(search: Any) -> Iterator[list[Any]]:
    """Collect the roots that a search leaves by calling its `update_with_move`, in order.

    A root that the method empties, instead of taking a new one, is in the list as a copy from before. The student's method may
    have further parameters and a result of its own. A search without the method, or with slots, is left alone: it shows only
    the root that it has in the end.
    """
    roots: list[Any] = []
    update_with_move: Any = getattr(search, "update_with_move", None)

    def keep(*arguments: Any, **named: Any) -> Any:
        root = getattr(search, "_root", None)
        before = _with_children_of_its_own(root)
        result = update_with_move(*arguments, **named)
        roots.append(before if getattr(search, "_root", None) is root else root)
        return result

    if not callable(update_with_move) or not hasattr(search, "__dict__"):
        yield roots
        return
    own = vars(search).get("update_with_move")
    search.update_with_move = keep
    try:
        yield roots
    finally:
        if own is None:
            del search.update_with_move
        else:
            search.update_with_move = own
