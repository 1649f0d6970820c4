"""The tree that a search built is found, however its class keeps the root and whatever it does to the tree afterwards."""

import types
from functools import cached_property

import pytest
import torch

from grader.confinement.plain import number
from grader.confinement.searched_trees import searched_root, set_root, update_held_back, watch_roots


class Node:
    _Q, _P = 0.0, 1.0

    def __init__(self, visits=0):
        self._children, self._n_visits = {}, visits


class WithAttributes:
    def __init__(self):
        self._root = Node()

    def search(self):
        """Begin a new tree, and drop it afterwards except for one child, which is taken out of it."""
        self._root = Node()
        self._root._n_visits, self._root._children = 10, {move: Node(3) for move in range(3)}
        self.update_with_move(1)

    def update_with_move(self, move):
        self._root = self._root._children.pop(move, None) or Node()


class WithSlots(WithAttributes):
    __slots__ = ("_root",)


class OnlySlots:
    __slots__ = ("_root",)
    __init__, search, update_with_move = WithAttributes.__init__, WithAttributes.search, WithAttributes.update_with_move


class WithProperty(OnlySlots):
    __slots__ = ("tree",)

    @property
    def _root(self):
        return self.tree

    @_root.setter
    def _root(self, node):
        self.tree = node


class WithDefault(WithAttributes):
    _root = None

    def __init__(self):
        """Leave the root as the class has it until the first search."""

    def search(self):
        if self._root is None or self._root._n_visits:
            super().search()


class NotCopied(Node):
    def __copy__(self):
        raise TypeError("this node cannot be copied")


class WithNodesThatAreNotCopied(WithAttributes):
    def __init__(self):
        self._root = NotCopied()

    def search(self):
        self._root = NotCopied()
        self._root._n_visits, self._root._children = 10, {move: NotCopied(3) for move in range(3)}
        self.update_with_move(1)


class EmptiesItsRoot(WithAttributes):
    """A search that has the same root object for all its life."""

    def search(self):
        self._root._n_visits = 10
        self._root._children.update({move: Node(3) for move in range(3)})
        self.update_with_move(-1)

    def update_with_move(self, move):
        self._root._children.clear()
        self._root._n_visits = 0


class DeletesItsRoot(WithAttributes):
    def update_with_move(self, move):
        kept = self._root._children.pop(move, None) or Node()
        del self._root
        assert not hasattr(self, "_root")
        self._root = kept


class DeletesItsSlot(DeletesItsRoot):
    __slots__ = ("_root",)


class MakesItsRootWhenItIsRead(WithAttributes):
    """A search that deletes its root to begin a new tree."""

    def __init__(self):
        """Leave the root to be made at the first search."""

    @cached_property
    def _root(self):
        return Node()

    def search(self):
        self.__dict__.pop("_root", None)
        assert isinstance(self._root, Node)
        self._root._n_visits, self._root._children = 10, {move: Node(3) for move in range(3)}
        self.update_with_move(1)

    def update_with_move(self, move):
        kept = self._root._children.pop(move, None)
        del self._root
        if kept:
            self._root = kept


class DeletesItsRootBetweenGames(WithAttributes):
    def update_with_move(self, move):
        """Leave the search without a root until it begins again."""
        del self._root


class TakesItsTreeApart(WithAttributes):
    """A search that frees every node of the tree that it drops."""

    def search(self):
        self._root = Node()
        self._root._n_visits, self._root._children = 10, {move: Node(3) for move in range(3)}
        for child in self._root._children.values():
            child._children = {7: Node(1), 8: Node(1)}
        self.update_with_move(1)

    def update_with_move(self, move):
        dropped, self._root = self._root, self._root._children.pop(move, None) or Node()
        free(dropped)


class TakesItsOnlyTreeApart(EmptiesItsRoot):
    """The same with one root object for all its life."""

    def search(self):
        self._root._children.update({move: Node(3) for move in range(3)})
        for child in self._root._children.values():
            child._children = {7: Node(1), 8: Node(1)}
        self._root._n_visits = 10
        self.update_with_move(-1)

    def update_with_move(self, move):
        free(self._root)
        self._root._n_visits = 0


def free(node):
    for child in node._children.values():
        free(child)
    node._children.clear()


class PrunesItsTree(WithAttributes):
    """A search that forgets the grandchildren in the tree that it keeps."""

    def search(self):
        self._root = Node()
        self._root._n_visits, self._root._children = 10, {move: Node(3) for move in range(3)}
        self._root._children[1]._children = {7: Node(1)}
        self.update_with_move(1)

    def update_with_move(self, move):
        self._root = self._root._children[move]
        self._root._children.clear()


class HasATreeOfItsOwn(WithAttributes):
    """A search whose root can be read only, since the tree is in an object of its own."""

    def __init__(self):
        self.tree = types.SimpleNamespace(root=Node())

    @property
    def _root(self):
        return self.tree.root

    def search(self):
        self.update_with_move(-1)
        self.tree.root._n_visits, self.tree.root._children = 10, {move: Node(3) for move in range(3)}
        self.update_with_move(1)

    def update_with_move(self, move):
        self.tree.root = self.tree.root._children.pop(move, None) or Node()


class BeginsWithATreeOfItsOwn(HasATreeOfItsOwn):
    """The same with a new tree that nobody is told of."""

    def search(self):
        self.tree = types.SimpleNamespace(root=Node(10))
        self.tree.root._children = {move: Node(3) for move in range(3)}
        self.update_with_move(1)


class SetsItsRootWhenItIsSearched(WithAttributes):
    """A search that has its root in a local variable until it is finished, and then forgets the tree or moves down in it."""

    def __init__(self, move):
        super().__init__()
        self.move = move

    def search(self):
        root = Node(10)
        root._children = {move: Node(3) for move in range(3)}
        self._root = root
        self.update_with_move(self.move)


def searched_three_times(mcts):
    """Yield the root of each search, which has to be whole although the tree was dropped afterwards."""
    for _ in range(3):
        roots = watch_roots(mcts)
        mcts.search()
        root = searched_root(roots)
        assert root._n_visits == 10 and sorted(root._children) == [0, 1, 2]
        yield root


@pytest.mark.parametrize("kind", [HasATreeOfItsOwn, BeginsWithATreeOfItsOwn])
def test_a_root_that_is_never_assigned_is_found(kind):
    mcts = kind()
    for root in searched_three_times(mcts):
        assert mcts._root is root._children[1].node


@pytest.mark.parametrize("move", [-1, 1])
def test_a_root_that_is_set_when_it_has_been_searched_is_found(move):
    for _ in searched_three_times(SetsItsRootWhenItIsSearched(move)):
        pass


def test_a_root_that_can_only_be_read_is_not_set_in_its_place():
    assert not set_root(HasATreeOfItsOwn(), Node()) and set_root(WithAttributes(), Node())


@pytest.mark.parametrize("kind", [HasATreeOfItsOwn, WithAttributes])
def test_an_update_that_is_held_back_leaves_the_tree_there_and_moves_it_later(kind):
    mcts = kind()
    root = mcts._root
    root._n_visits, root._children = 3, {1: Node(3)}
    with update_held_back(mcts):
        mcts.update_with_move(1)
        assert mcts._root is root
    mcts.update_with_move(1)
    assert mcts._root is not root


def test_an_update_that_is_held_back_begins_a_new_tree_where_there_is_none_and_is_its_own_afterwards():
    mcts, update = HasATreeOfItsOwn(), HasATreeOfItsOwn.update_with_move
    root = mcts._root
    with update_held_back(mcts):
        mcts.update_with_move(-1)
        assert mcts._root is not root
    assert HasATreeOfItsOwn.update_with_move is update
    with update_held_back(WithSlots()):
        assert "update_with_move" in vars(WithSlots)
    assert "update_with_move" not in vars(WithSlots), "it is inherited"


def test_an_update_that_is_an_attribute_of_the_search_is_left_alone():
    mcts = types.SimpleNamespace(_root=Node(3), update_with_move=lambda move: move)
    with update_held_back(mcts):
        assert mcts.update_with_move(1) == 1


def test_a_root_that_is_emptied_shows_the_search_before():
    mcts = EmptiesItsRoot()
    for _ in searched_three_times(mcts):
        assert mcts._root._n_visits == 0 and not mcts._root._children


@pytest.mark.parametrize("kind", [TakesItsTreeApart, TakesItsOnlyTreeApart])
def test_a_tree_that_is_taken_apart_node_by_node_is_whole(kind):
    for root in searched_three_times(kind()):
        assert [sorted(child._children) for child in root._children.values()] == [[7, 8]] * 3


def test_children_that_a_search_takes_out_of_the_tree_that_it_keeps_stay_away():
    mcts = PrunesItsTree()
    for root in searched_three_times(mcts):
        assert mcts._root is root._children[1].node and not mcts._root._children


KINDS = [
    WithAttributes,
    WithSlots,
    OnlySlots,
    WithProperty,
    WithDefault,
    WithNodesThatAreNotCopied,
    DeletesItsRoot,
    DeletesItsSlot,
    MakesItsRootWhenItIsRead,
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_root_of_a_search_keeps_the_child_that_was_taken_out_of_it(kind):
    mcts = kind()
    for root in searched_three_times(mcts):
        assert mcts._root is root._children[1].node and isinstance(mcts, kind)
    assert len(type(mcts).__mro__) == len(kind.__mro__) + 1, "a class that was watched is not watched again"


def test_a_search_may_be_without_a_root_until_it_begins_again():
    mcts = DeletesItsRootBetweenGames()
    assert [root._n_visits for root in searched_three_times(mcts)] == [10] * 3
    assert not hasattr(mcts, "_root")


def test_a_class_that_refuses_attributes_that_it_does_not_know_is_watched():
    class Strict(WithAttributes):
        def __setattr__(self, name, value):
            if name != "_root":
                raise AttributeError(f"there is no attribute {name}")
            super().__setattr__(name, value)

    mcts = Strict()
    for root in searched_three_times(mcts):
        assert mcts._root is root._children[1].node and isinstance(mcts, Strict)


def test_a_class_that_cannot_be_watched_shows_the_root_that_it_begins_with():
    class Final(OnlySlots):
        __slots__ = ()

        def __init_subclass__(cls):
            raise TypeError("this class is final")

    mcts = Final()
    first = mcts._root
    assert searched_root(watch_roots(mcts)) is first and type(mcts) is Final


def test_a_loss_may_be_a_tensor_that_has_a_gradient():
    assert number(torch.tensor(2.5, requires_grad=True) * 2) == 5.0
    assert number(torch.tensor([[1.5]])) == 1.5
