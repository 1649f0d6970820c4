"""Record a search, playout by playout, through the attributes that every solution has.

Nobody knows the methods of a student's search, so nothing is called but `get_action`. The same position is searched with 1, 2,
3, ... playouts, each time by a new player and with the same random numbers: what the tree of n playouts has beyond the tree of
n - 1 is playout n.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from Board.game_board import Board, Player
from common.errors import UsageError
from common.search_tree import SeenNode, kept_roots, read_tree

NewPlayer = Callable[[int], Player]
"""Makes a new player that searches with this number of playouts."""
EMPTY = SeenNode(None, 0, 0.0, 1.0, 0.0, ())


@dataclass(frozen=True)
class Playout:
    """One playout.

    Attributes:
        number: counted from 1.
        path: the moves from the root to the leaf.
        before, after: the tree without and with this playout.
        ended: whether the game is over at the leaf.
    """

    number: int
    path: tuple[int, ...]
    before: SeenNode
    after: SeenNode
    ended: bool = False

    def turned(self) -> Playout:
        """Return the playout with all values for the other player."""
        return replace(self, before=turned(self.before), after=turned(self.after))

    @property
    def leaf_value(self) -> float:
        """The value that the leaf was given, for the side to move there; Q must be for the player who moved to a node."""
        before, after = nodes_on(self.before, self.path)[-1], nodes_on(self.after, self.path)[-1]
        backed_up = after.mean_value * after.visits - before.mean_value * before.visits
        return -backed_up


def nodes_on(root: SeenNode, path: tuple[int, ...]) -> list[SeenNode]:
    """Return the nodes along a path, the root first; a node that is not in the tree yet has no visits."""
    nodes = [root]
    for move in path:
        nodes.append(next((child for child in nodes[-1].children if child.move == move), replace(EMPTY, move=move)))
    return nodes


def searched_tree(player: Any, board: Board, depth: int, seed: int) -> SeenNode:
    """Search a position and return the tree down to `depth`.

    A player may throw its tree away, or move its root, after the search: the root is kept before each such change.

    Raises:
        UsageError: the player keeps no tree in `mcts._root`.
    """
    random.seed(seed)
    np.random.seed(seed)
    search = player.mcts
    with kept_roots(search) as roots:
        player.set_player_ind(board.get_current_player())
        player.get_action(board.copy(), is_selfplay=False, print_probs_value=False)
    legal = set(board.availables)
    searched = [root for root in [*roots, search._root, player.mcts._root] if root._children and set(root._children) <= legal]
    if not searched:
        raise UsageError("expected a search that keeps its tree in mcts._root; after get_action no tree is there (section 5.1)")
    root = max(searched, key=lambda found: sum(int(child._n_visits) for child in found._children.values()))
    tree = read_tree(_Search(root, getattr(search, "_c_puct", 5)), depth)
    assert tree is not None, "a root with children can be read"
    return tree


@dataclass
class _Search:
    """What `read_tree` reads of a search."""

    _root: Any
    _c_puct: float


def first_playouts(new_player: NewPlayer, board: Board, count: int, seed: int) -> list[Playout]:
    """Return the first playouts of a search, with Q as the search keeps it.

    Raises:
        UsageError: see `searched_tree`; or the trees of n - 1 and n playouts differ by more than one playout.
    """
    before, found = EMPTY, []
    for number in range(1, count + 1):
        try:
            after = searched_tree(new_player(number), board, count + 1, seed)
        except (ArithmeticError, ValueError):
            if number > 1:
                raise
            # Nothing promises that a search of one playout works, since no move has a visit then.
            after = _only_expanded(searched_tree(new_player(2), board, count + 1, seed))
        path = _path_between(before, after)
        ended = _is_over(board, path)
        found.append(Playout(number, path, before, after, ended))
        before = after
    return found


def _only_expanded(tree: SeenNode) -> SeenNode:
    """Return the tree as it was when its root had just been expanded."""
    children = (replace(child, visits=0, mean_value=0.0, children=()) for child in tree.children)
    return replace(tree, visits=1, mean_value=0.0, children=tuple(children))


def _path_between(before: SeenNode, after: SeenNode) -> tuple[int, ...]:
    path: list[int] = []
    while True:
        earlier = {child.move: child for child in before.children}
        known = {move: child.visits for move, child in earlier.items()}
        grown = [child for child in after.children if child.visits != known.get(child.move, 0)]
        if not grown:
            return tuple(path)
        if len(grown) > 1:
            raise UsageError(
                "expected one more playout to visit one more leaf; here several moves got visits. The search is not the same "
                "each time, so its playouts cannot be shown one by one: leave them out with --first 0"
            )
        after = grown[0]
        assert after.move is not None, "only a root has no move"
        path.append(after.move)
        before = earlier.get(after.move, EMPTY)


def _is_over(board: Board, path: tuple[int, ...]) -> bool:
    after = board.copy()
    for move in path:
        after.do_move(move)
    return after.game_end()[0]


def is_for_the_player_to_move(tree: SeenNode, board: Board, value_of: Callable[[Board], float] | None = None) -> bool:
    """Return whether a search keeps Q for the player to move at a node and not for the player who moved there.

    Won games and leaves whose value is known show which it is. Where there are neither, moves with more visits do: they have
    the larger values for the player who chooses them.

    Args:
        tree: a searched tree of the position on the board.
        value_of: the network's value of a position for the side to move, if the search has a network.
    """
    votes, waiting = 0.0, [(tree, board)]
    while waiting:
        node, position = waiting.pop()
        for child in node.children:
            if not child.visits or child.move is None:
                continue
            after = position.copy()
            after.do_move(child.move)
            ended, winner = after.game_end()
            if ended:
                votes += child.mean_value * (winner != -1)
            else:
                votes -= child.mean_value * value_of(after) if value_of and child.visits == 1 else 0.0
                waiting.append((child, after))
    if votes == 0 and tree.children:
        usual = sum(child.visits for child in tree.children) / len(tree.children)
        votes = sum((child.visits - usual) * child.mean_value for child in tree.children if child.visits)
    return votes < 0


def turned(node: SeenNode) -> SeenNode:
    """Return a tree whose values are for the other player."""
    return replace(node, mean_value=-node.mean_value, children=tuple(turned(child) for child in node.children))
