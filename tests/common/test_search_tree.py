"""Search trees as plain values: arrays of one element, depth, limits."""

import math
import types

import numpy as np
import pytest

from common.search_tree import kept_roots, most_visited_line, read_tree


def node(visits=0, value=0.0, prior=1.0, children=None):
    return types.SimpleNamespace(_n_visits=visits, _Q=value, _P=prior, _children=children or {})


def test_numbers_of_the_children_follow_the_formula():
    root = node(10, children={4: node(7, np.array([[0.5]]), 0.6), 2: node(2, -0.25, np.float32(0.4))})
    tree = read_tree(types.SimpleNamespace(mcts=types.SimpleNamespace(_root=root, _c_puct=2)))
    best, other = tree.children
    assert (best.move, best.visits, best.mean_value) == (4, 7, 0.5)
    assert best.bonus == pytest.approx(2 * 0.6 * math.sqrt(10) / 8) and best.score == pytest.approx(0.5 + best.bonus)
    assert other.prior == pytest.approx(0.4) and tree.move is None


def test_a_value_that_is_none_before_the_first_visit_counts_as_0():
    (child,) = read_tree(types.SimpleNamespace(_root=node(1, None, children={0: node(0, None, 1.0)}))).children
    assert (child.mean_value, child.score) == (0.0, pytest.approx(5.0))


def test_a_value_that_divides_by_no_visits_counts_as_0():
    class Node(types.SimpleNamespace):
        _Q = property(lambda self: self.total / self._n_visits)

    root = Node(_n_visits=1, total=0.5, _P=1.0, _children={0: Node(_n_visits=0, total=0.0, _P=1.0, _children={})})
    tree = read_tree(types.SimpleNamespace(_root=root))
    assert (tree.mean_value, tree.children[0].mean_value) == (0.5, 0.0)


def test_the_principal_line_follows_the_most_visited_moves():
    root = node(9, children={0: node(2), 1: node(6, children={5: node(4, children={7: node(0)}), 3: node(1)})})
    assert read_tree(types.SimpleNamespace(_root=root), depth=5).principal_line() == [1, 5]


def test_the_most_visited_line_is_the_principal_line_of_the_whole_tree():
    root = node(9, children={0: node(2), 1: node(6, children={5: node(4, children={7: node(0)}), 3: node(np.array([4]))})})
    search = types.SimpleNamespace(_root=root)
    assert most_visited_line(search, 9) == read_tree(search, depth=9).principal_line() == [1, 3]
    assert most_visited_line(search, 1) == [1] and most_visited_line(object(), 9) == []


def test_depth_and_number_of_nodes_are_limited():
    root = node(3, children={move: node(1, children={9: node(1)}) for move in range(8)})
    search = types.SimpleNamespace(_root=root)
    assert all(not child.children for child in read_tree(search, depth=1).children)
    assert len(read_tree(search, depth=1, max_nodes=3).children) == 3
    assert read_tree(search, depth=2).children[0].children[0].move == 9


@pytest.mark.parametrize("player", [object(), types.SimpleNamespace(mcts=None), types.SimpleNamespace(_root=None)])
def test_a_player_without_a_tree_has_none(player):
    assert read_tree(player) is None


class Forgetful:
    """A search whose update_with_move has a further parameter and a result."""

    def __init__(self):
        self._root = "first"

    def update_with_move(self, last_move, into="second"):
        self._root = into
        return last_move


class Slotted:
    __slots__ = ("_root", "calls")

    def update_with_move(self, last_move):
        self.calls = last_move


def test_roots_are_kept_whatever_else_update_with_move_takes_and_returns():
    search = Forgetful()
    with kept_roots(search) as roots:
        assert [search.update_with_move(last_move=3), search.update_with_move(-1, into="third")] == [3, -1]
    assert roots == ["first", "second"] and search._root == "third" and "update_with_move" not in vars(search)


class Emptying:
    """A search that has the same root object for all its life."""

    def __init__(self):
        self._root = types.SimpleNamespace(_children={3: "child"}, _n_visits=7)

    def update_with_move(self, last_move):
        self._root._children.clear()
        self._root._n_visits = 0


def test_a_root_that_is_emptied_is_kept_as_it_was():
    search = Emptying()
    with kept_roots(search) as roots:
        search.update_with_move(-1)
    assert [(root._children, root._n_visits) for root in roots] == [({3: "child"}, 7)]
    assert (search._root._children, search._root._n_visits) == ({}, 0)


def test_a_method_of_the_object_itself_is_put_back():
    search = types.SimpleNamespace(_root=1, update_with_move=(own := lambda last_move: None))
    with pytest.raises(KeyError), kept_roots(search):
        raise KeyError
    assert search.update_with_move is own


@pytest.mark.parametrize("search", [None, object(), Slotted(), types.SimpleNamespace(update_with_move=None)])
def test_a_search_that_cannot_be_watched_is_left_alone(search):
    with kept_roots(search) as roots:
        if isinstance(search, Slotted):
            search.update_with_move(-1)
    assert roots == []
