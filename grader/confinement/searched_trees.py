"""Find the tree of a student's search and read it as plain values, in the process that runs the student's Python."""

from __future__ import annotations

import contextlib
import copy
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grader.confinement.plain import number, whole

MAX_TREE_NODES = 200_000


def dump_tree(root: Any) -> dict[str, Any]:
    """Return the tree from `root` on as breadth-first arrays: parent (index), move, visits, value, prior."""
    nodes, parent, move = [root], [-1], [-1]
    i = 0
    while i < len(nodes):
        for child_move, child in (getattr(nodes[i], "_children", None) or {}).items():
            if len(nodes) >= MAX_TREE_NODES:
                raise ValueError(f"expected the tree of this search; got one with more than {MAX_TREE_NODES} nodes")
            nodes.append(child)
            parent.append(i)
            move.append(whole(child_move))
        i += 1
    return {
        "parent": np.array(parent),
        "move": np.array(move),
        "visits": np.array([number(node._n_visits) for node in nodes]),
        "value": np.array([number(node._Q) for node in nodes]),
        "prior": np.array([number(node._P) for node in nodes]),
    }


def watch_roots(mcts: Any) -> list[tuple[Any, float]]:
    """Return a list that records every root of `mcts` with its visits at that time, since get_action may drop its tree.

    The nodes of a tree that update_with_move drops get back the children that were taken out of them, even if it takes the
    tree apart node by node. A root that it empties, to begin a new tree, is in the list as it was before and as it is then.
    `_root` may be a property that cannot be set: the roots that update_with_move leaves behind are in the list all the same. If
    the class cannot be watched, the list has only the current root, from which a new player searches.
    """
    student_class = vars(type(mcts)).get("student_class", type(mcts))  # an earlier call may have replaced the class
    first = mcts._root if type(mcts) is student_class else getattr(mcts, "_root", None)  # reset_player may delete it
    roots = [(first, visits_of(first))]
    own = getattr(student_class, "_root", None)
    stored = own if hasattr(type(own), "__set__") else None  # a slot, or a property of the student's own

    def get_root(self: Any) -> Any:
        if stored:
            return stored.__get__(self, student_class)
        if "_root" not in self.__dict__:
            return student_class._root  # a default, or an AttributeError
        return self.__dict__["_root"]

    def set_root(self: Any, root: Any) -> None:
        if stored:
            stored.__set__(self, root)
        else:
            self.__dict__["_root"] = root
        roots.append((root, visits_of(root)))

    def delete_root(self: Any) -> None:
        if stored:
            stored.__delete__(self)
        else:
            self.__dict__.pop("_root", None)

    def update_with_move(self: Any, *arguments: Any, **named: Any) -> Any:
        root = getattr(self, "_root", None)
        before, nodes = as_it_is(root), nodes_below(root)
        try:
            return student_class.update_with_move(self, *arguments, **named)
        finally:
            now = getattr(self, "_root", None)
            give_back_children(nodes, now)
            if root is not None and now is root and visits_of(root) < visits_of(before):
                roots[:] = [(before if each is root else each, visits) for each, visits in roots]
                roots.append((root, visits_of(root)))
            elif now is not root:  # its assignment is not seen if the tree is in an object of its own
                roots.append((now, visits_of(now)))

    watched = {"_root": property(get_root, set_root, delete_root), "update_with_move": update_with_move}
    with contextlib.suppress(TypeError):
        members = {"__slots__": (), "student_class": student_class, **watched}
        # Not by an assignment: the class may refuse attributes that it does not know.
        object.__setattr__(mcts, "__class__", type(student_class.__name__, (student_class,), members))
    return roots


def children_of(node: Any) -> dict[Any, Any]:
    """Return a copy of a node's children; None has none, and neither has a node without the attribute."""
    return dict(getattr(node, "_children", None) or {})


def nodes_below(root: Any) -> list[tuple[Any, dict[Any, Any]]]:
    """Return each node of a tree with a copy of its children, the root first; of a huge tree only MAX_TREE_NODES."""
    found: dict[int, tuple[Any, dict[Any, Any]]] = {}
    waiting = [root]
    while waiting and len(found) < MAX_TREE_NODES:
        node = waiting.pop()
        if id(node) not in found:  # a tree that shares nodes is walked once
            found[id(node)] = node, children_of(node)
            waiting += found[id(node)][1].values()
    return list(found.values())


def give_back_children(nodes: Sequence[tuple[Any, dict[Any, Any]]], root: Any) -> None:
    """Give nodes that have lost children the earlier ones again, except for those in the tree below the present root."""
    lost = [(node, children) for node, children in nodes if len(children_of(node)) < len(children)]
    kept = {id(node) for node, _ in nodes_below(root)} if lost else set()
    for node, children in lost:
        if id(node) not in kept:
            with contextlib.suppress(AttributeError):
                node._children = children


def as_it_is(root: Any) -> Any:
    """Return a copy of a root that keeps its children and counts when the root itself is emptied; None for None.

    Of a node that cannot be copied, only what every solution has is returned.
    """
    try:
        kept = copy.copy(root)
    except (TypeError, AttributeError):
        kept = types.SimpleNamespace(**{name: getattr(root, name, 0.0) for name in ("_n_visits", "_Q", "_P")})
    if root is not None:
        with contextlib.suppress(AttributeError):
            kept._children = children_of(root)
    return kept


def searched_root(roots: Sequence[tuple[Any, float]]) -> Any:
    """Return the root that gained the most visits, and of several equal ones the latest.

    An old root gains as many if the new one was not cut off from it. The totals do not decide, because a root kept from an
    earlier search may have as many. Only if no root gained any, because the search set its root when it was finished, the
    root with the most visits is returned.
    """

    def gain(pair: tuple[Any, float]) -> float:
        return visits_of(pair[0]) - pair[1]

    best = max(reversed(roots), key=gain)
    return best[0] if gain(best) > 0 else max((root for root, _ in reversed(roots)), key=visits_of)


def set_root(mcts: Any, root: Any) -> bool:
    """Set the root of a search; return whether it is the root then, as a property of the student's own may refuse it."""
    with contextlib.suppress(AttributeError):
        mcts._root = root
    return getattr(mcts, "_root", None) is root


@contextlib.contextmanager
def update_held_back(mcts: Any) -> Iterator[None]:
    """Let update_with_move do nothing in the meantime, so that a new player's search leaves its tree behind.

    A class that refuses attributes that it does not know by its slots is left as it is.
    """
    try:
        object.__setattr__(mcts, "update_with_move", lambda *_, **__: None)
    except AttributeError:
        yield
        return
    try:
        yield
    finally:
        object.__delattr__(mcts, "update_with_move")


def visits_of(root: Any) -> float:
    """Return a root's visits; a search may have None as its root as long as there is no tree."""
    return 0.0 if root is None else number(root._n_visits)
