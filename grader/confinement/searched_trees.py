"""Find the tree of a student's search and read it as plain values, in the process that runs the student's Python."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
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
    visits = np.array([number(node._n_visits) for node in nodes])
    return {
        "parent": np.array(parent),
        "move": np.array(move),
        "visits": visits,
        "value": _read_as_far_as_known(nodes, "_Q", visits > 0),
        "prior": _read_as_far_as_known(nodes, "_P", np.ones(len(nodes), dtype=bool)),
    }


def _read_as_far_as_known(nodes: Sequence[Any], name: str, known: np.ndarray) -> np.ndarray:
    """Return an attribute of each node; NaN where reading it fails and need not work.

    The root may have none, since its parent may keep it; nor has a node that is not `known` yet, such as W / N without visits.
    """
    found = np.full(len(nodes), np.nan)
    for place, node in enumerate(nodes):
        try:
            found[place] = number(getattr(node, name))
        except Exception:
            if place and known[place]:
                raise
    return found


class KeptNode:
    """A node with its children and numbers at one time. If they cannot be read yet, they are those of the node itself."""

    __slots__ = ("_P", "_Q", "_children", "_n_visits", "node")

    def __init__(self, node: Any) -> None:
        self.node = node
        self._children: dict[Any, Any] = {}
        try:
            self._n_visits, self._Q, self._P = number(node._n_visits), number(node._Q), number(node._P)
        except Exception:  # such as a division by no visits
            pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self.node, name)


def as_it_is(root: Any) -> Any:
    """Return a copy of a tree that stays the same whatever becomes of the tree; of a huge one only MAX_TREE_NODES."""
    kept = {id(root): KeptNode(root)}  # a tree that shares nodes is walked once
    waiting = list(kept.values())
    for copied in waiting:
        for move, child in children_of(copied.node).items():
            if id(child) not in kept and len(kept) < MAX_TREE_NODES:
                kept[id(child)] = KeptNode(child)
                waiting.append(kept[id(child)])
            copied._children[move] = kept.get(id(child), child)
    return kept[id(root)]


def children_of(node: Any) -> dict[Any, Any]:
    """Return a copy of a node's children; None has none, and neither has a node without the attribute."""
    return dict(getattr(node, "_children", None) or {})


def watch_roots(mcts: Any) -> list[tuple[Any, float]]:
    """Return a list that records every root of `mcts` with its visits at that time, since get_action may drop its tree.

    A root that is there when update_with_move is called is in the list as it is then, with its whole tree, since that method
    may empty the root, take the tree apart node by node, or clear the arrays of which all nodes are views. `_root` may be a
    property that cannot be set: the roots that update_with_move finds and leaves behind are in the list all the same. If the
    class cannot be watched, the list has only the current root, from which a new player searches.
    """
    student_class = vars(type(mcts)).get("student_class", type(mcts))  # an earlier call may have replaced the class
    first = mcts._root if type(mcts) is student_class else getattr(mcts, "_root", None)  # reset_player may delete it
    roots = [(first, visits_of(first))]
    own = getattr(student_class, "_root", None)
    stored = own if hasattr(type(own), "__set__") else None  # a slot, or a property of the student's own

    def get_root(self: Any) -> Any:
        if stored:
            return stored.__get__(self, student_class)
        if "_root" in self.__dict__:
            return self.__dict__["_root"]
        if own is None or not hasattr(type(own), "__get__"):
            return student_class._root  # a default, or an AttributeError
        made = own.__get__(self, student_class)  # a cached_property makes a root when it is first read
        if made is not roots[-1][0]:
            roots.append((made, visits_of(made)))
        return made

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

    def keep(root: Any) -> None:
        places = [place for place, (each, _) in enumerate(roots) if each is root]
        if not places:  # the tree is in an object of its own, or the last root of the list is another view of this one
            if not look_alike(roots[-1][0], root):
                roots.append((root, 0.0))
            places = [len(roots) - 1]
        before = as_it_is(root)
        for place in places:
            roots[place] = before, roots[place][1]

    def update_with_move(self: Any, *arguments: Any, **named: Any) -> Any:
        root = getattr(self, "_root", None)
        if root is not None:
            keep(root)
        try:
            return student_class.update_with_move(self, *arguments, **named)
        finally:
            now = getattr(self, "_root", None)
            if now is not roots[-1][0]:
                roots.append((now, visits_of(now)))

    watched = {"_root": property(get_root, set_root, delete_root), "update_with_move": update_with_move}
    with contextlib.suppress(TypeError):
        members = {"__slots__": (), "student_class": student_class, **watched}
        # Not by an assignment: the class may refuse attributes that it does not know.
        object.__setattr__(mcts, "__class__", type(student_class.__name__, (student_class,), members))
    return roots


def stop_watching(mcts: Any) -> None:
    """Give `mcts` its own class back after watch_roots, so that nothing keeps the roots that it leaves behind."""
    own = vars(type(mcts)).get("student_class")
    if own is not None:
        object.__setattr__(mcts, "__class__", own)
    gc.collect()  # a class that watched refers to itself, also one of an MCTS that get_action has replaced


def look_alike(node: Any, other: Any) -> bool:
    """Return whether two nodes have as many visits and children for the same moves."""
    return visits_of(node) == visits_of(other) and children_of(node).keys() == children_of(other).keys()


def searched_root(roots: Sequence[tuple[Any, float]]) -> Any:
    """Return the root that gained the most visits, and of several equal ones the latest.

    An old root gains as many if the new one was not cut off from it. The totals do not decide, because a root kept from an
    earlier search may have as many. Only if no root gained any, because the search set its root when it was finished or
    counts no visits, the root with the most visits is returned, and of several equal ones one with children.
    """

    def gain(pair: tuple[Any, float]) -> float:
        return visits_of(pair[0]) - pair[1]

    def size(root: Any) -> tuple[float, int]:
        return visits_of(root), len(children_of(root))

    best = max(reversed(roots), key=gain)
    return best[0] if gain(best) > 0 else max((root for root, _ in reversed(roots)), key=size)


def gained_visits(roots: Sequence[tuple[Any, float]]) -> float:
    """Return how many visits the searched root has gained."""
    return max(visits_of(root) - before for root, before in roots)


def most_visited_move(root: Any) -> Any:
    """Return the move of a searched root's most visited child.

    Raises:
        ValueError: no child has visits.
    """
    children = children_of(root)
    move = max(children, key=lambda move: number(children[move]._n_visits), default=None)
    if move is None or not number(children[move]._n_visits):
        raise ValueError("after a search the root's children have no visits, so none of them can be kept")
    return move


def set_root(mcts: Any, root: Any) -> bool:
    """Set the root of a search; return whether it is the root then, as a property of the student's own may refuse it."""
    with contextlib.suppress(AttributeError):
        mcts._root = root
    return getattr(mcts, "_root", None) is root


def is_tree(node: Any, tree: dict[str, Any]) -> bool:
    """Return whether the tree from a node on is the dumped one; no two views of one node are the same object."""
    try:
        seen = dump_tree(node)
    except AttributeError:  # there is no node
        return False
    return all(np.array_equal(part, tree[name], equal_nan=True) for name, part in seen.items())


@contextlib.contextmanager
def _replaced(student_class: type, method: str, new: Callable[..., Any]) -> Iterator[None]:
    """Replace a method of a class, for all of its objects."""
    own = vars(student_class).get(method)
    # Not by an assignment: the class may refuse it.
    type.__setattr__(student_class, method, new)
    try:
        yield
    finally:
        type.__delattr__(student_class, method)
        if own is not None:
            type.__setattr__(student_class, method, own)


@contextlib.contextmanager
def playouts_on_copies(student_class: type) -> Iterator[None]:
    """Give each call of `_playout`, which is handed out under this name, a copy of the board."""
    playout = getattr(student_class, "_playout", None)
    if playout is None:
        yield
        return

    def on_a_copy(self: Any, *arguments: Any, **named: Any) -> Any:
        arguments = tuple(_copy_of_a_board(value) for value in arguments)
        return playout(self, *arguments, **{name: _copy_of_a_board(value) for name, value in named.items()})

    with _replaced(student_class, "_playout", on_a_copy):
        yield


def _copy_of_a_board(value: Any) -> Any:
    return value.copy() if hasattr(value, "do_move") else value


@contextlib.contextmanager
def others_watched(mcts: Any, roots: list[tuple[Any, float]]) -> Iterator[None]:
    """Add to the roots of `mcts` those that update_with_move finds in other objects of its class, made by get_action."""
    student_class = vars(type(mcts)).get("student_class", type(mcts))
    update = getattr(student_class, "update_with_move", None)
    if update is None:  # an attribute of the object
        yield
        return

    def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        if self is not mcts and (root := getattr(self, "_root", None)) is not None:
            roots.append((as_it_is(root), 0.0))
        return update(self, *arguments, **named)

    with _replaced(student_class, "update_with_move", watched):
        yield


@contextlib.contextmanager
def update_held_back(mcts: Any) -> Iterator[None]:
    """Let update_with_move do nothing to a tree that was searched, so that get_action leaves it behind.

    This holds for any object of the same class, as get_action may begin with a new one.
    """
    student_class = type(mcts)
    update = getattr(student_class, "update_with_move", None)
    if update is None:  # an attribute of the object
        yield
        return

    def held_back(self: Any, *arguments: Any, **named: Any) -> Any:
        return None if visits_of(getattr(self, "_root", None)) else update(self, *arguments, **named)

    with _replaced(student_class, "update_with_move", held_back):
        yield


def visits_of(root: Any) -> float:
    """Return a root's visits, or those of its children if it has fewer; None, as the root before there is a tree, has none."""
    if root is None:
        return 0.0
    return max(number(root._n_visits), sum(number(child._n_visits) for child in children_of(root).values()))
