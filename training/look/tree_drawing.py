"""Where the nodes of a search tree are placed in a picture, and how they are labelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from common.search_tree import SeenNode
from training.look.recorded_search import EMPTY

Label = Callable[[int], str]
"""A move -> how it is named."""
NODE_WIDTH, NODE_HEIGHT, GAP, LEVEL = 92, 54, 12, 86
UNVISITED = 3  # children without a visit are drawn up to this number of children


@dataclass(frozen=True)
class DrawnNode:
    """A node in the picture.

    Attributes:
        x, y: its upper left corner.
        parent: the place of its parent in the list; -1 for the root.
        before, after: two lines of numbers each, without and with the playout that is shown.
        is_new: whether the playout added the node.
        is_on_path: whether the playout went through it.
    """

    x: float
    y: float
    parent: int
    label: str
    before: tuple[str, str]
    after: tuple[str, str]
    is_new: bool
    is_on_path: bool


@dataclass(frozen=True)
class TreeDrawing:
    """A tree as a picture; `label` says in words what it shows."""

    nodes: tuple[DrawnNode, ...]
    width: float
    height: float
    label: str


def numbers_of(node: SeenNode, is_root: bool) -> tuple[str, str]:
    """Return what is written on a node."""
    return f"N {node.visits}   Q {node.mean_value:+.2f}", "" if is_root else f"P {node.prior:.2f}   U {node.bonus:.2f}"


def draw_tree(
    after: SeenNode, name: Label, depth: int, before: SeenNode = EMPTY, path: tuple[int, ...] = (), most: int = 6
) -> TreeDrawing:
    """Lay out a tree down to `depth` moves below its root.

    Args:
        before: the tree without the playout that is shown.
        path: the moves of that playout.
        most: how many children of a node are drawn at most; the most visited ones, and the one on the path.
    """
    layout = _Layout(name, depth, most)
    right = layout.place(before, after, path, 0.0)
    deepest = max(node.y for node in layout.nodes)
    words = f"Search tree: root with {after.visits} visits; " + ", ".join(
        f"{name(child.move)} {child.visits}" for child in after.children[:5] if child.move is not None
    )
    return TreeDrawing(tuple(layout.nodes), right - GAP, deepest + NODE_HEIGHT, words)


class _Layout:
    """Lays out the nodes of a tree: what is below a node takes as much width as it needs, and the node is in its middle.

    Attributes:
        nodes: the nodes laid out so far, parents before their children.
    """

    def __init__(self, name: Label, depth: int, most: int) -> None:
        self.nodes: list[DrawnNode] = []
        self._name, self._depth, self._most = name, depth, most

    def place(self, before: SeenNode, after: SeenNode, rest: tuple[int, ...] | None, left: float, parent: int = -1) -> float:
        """Append a node and what is below it; return where the next node to the right may begin.

        Args:
            rest: the moves of the playout from this node on; None if it did not come here.
            left: the left edge of what is appended.
        """
        path, on_path = rest or (), rest is not None
        at, is_root = len(self.nodes), parent < 0
        y = 0.0 if is_root else self.nodes[parent].y + LEVEL
        label = "root" if after.move is None else self._name(after.move)
        node = DrawnNode(left, y, parent, label, numbers_of(before, is_root), numbers_of(after, is_root), False, is_root)
        self.nodes.append(node)
        earlier = {child.move: child for child in before.children}
        right = left
        for child in shown_children(after, path[:1], self._most, on_path) if y < self._depth * LEVEL else ():
            chosen = path[:1] == (child.move,)
            unvisited = replace(child, visits=0, mean_value=0.0, bonus=0.0, children=())
            place = len(self.nodes)
            right = self.place(earlier.get(child.move, unvisited), child, path[1:] if chosen else None, right, at)
            self.nodes[place] = replace(self.nodes[place], is_new=child.move not in earlier, is_on_path=chosen)
        right = max(right, left + NODE_WIDTH + GAP)
        self.nodes[at] = replace(node, x=(left + right - GAP - NODE_WIDTH) / 2)
        return right


def shown_children(node: SeenNode, chosen: tuple[int, ...], most: int, on_path: bool) -> list[SeenNode]:
    """Return the children to show, in the tree's order: the chosen one, the most visited ones, and on the path of a playout
    a few without a visit.
    """
    visited = [child for child in node.children if child.visits]
    unvisited = [child for child in node.children if not child.visits]
    first = [child for child in node.children if (child.move,) == chosen]
    picked = [*first, *visited[:most], *unvisited[: max(0, UNVISITED - len(visited)) if on_path else 0]]
    return [child for child in node.children if child in picked]
