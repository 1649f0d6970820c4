"""What must hold in any correct search tree, whatever the methods that built it are called (Silver et al. 2017, Methods).

Views: a node's Q is the mean of its evaluations, for the player who moved INTO the node. `W = N * Q` is their sum. The
visit that expands a node evaluates it; every later visit goes on to a child. A gain for one player is a loss for the other, so

    N(node) = k + sum of N(child)                W(node) = -k * v(node) - sum of W(child)

with k = 1 evaluation of the node itself, worth v to the side to move there. In a solution that stores Q for the player to
move, all W are negated and satisfy the second equation with -v in place of v; both are accepted. The root may count one visit
more or less, and nothing reads its Q, so the second equation need not hold at the root.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from Board.game_board import Board
from grader.confinement.searched_trees import MAX_TREE_NODES
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.board_position import BoardPosition, Start, board_at

ALWAYS_THE_SAME = "the same player's point of view, whoever is to move."
WRONG_RESULT = "The result of a finished game enters the tree from the wrong player's point of view."
OPPOSITE_VIEWS = "Finished games and other positions enter the tree from opposite points of view; the sign of one is wrong."
VALUE_TOLERANCE = 1e-3
LONGEST_PATH = 400
TEMPERATURE = 1e-3  # with which a player should nearly always play the most visited move
# The least chance of an accepted move, relative to the best move; of a run's hundred or so draws, few are so close to a tie.
LEAST_CHANCE = 1e-9
View = tuple[int, int]
"""Whose view Q has, where player 1 is to move and where player 2 is: 1, the player who moved into the node; -1, the other."""
VIEWS: tuple[View, ...] = ((1, 1), (-1, -1))  # accepted: the player who moved into each node, and the player to move there
ONE_PLAYERS: tuple[View, ...] = ((1, -1), (-1, 1))  # player 2 or player 1 everywhere


@dataclass(frozen=True)
class Tree:
    """A student's tree as plain arrays in breadth-first order; index 0 is the root."""

    parent: np.ndarray
    move: np.ndarray
    visits: np.ndarray
    value: np.ndarray
    prior: np.ndarray

    @classmethod
    def from_reply(cls, reply: Any) -> Tree:
        """Read a worker's reply.

        Raises:
            StudentFault: the reply is not a tree, or is larger than any search of the checks could make it.
        """
        try:
            kinds = {"parent": "i", "move": "i", "visits": "iuf", "value": "iuf", "prior": "iuf"}
            parts = {name: np.asarray(reply[name]) for name in kinds}
            size = len(parts["parent"])
            if size > MAX_TREE_NODES:
                raise StudentFault(f"The tree has {size} nodes; no search of the checks makes more than {MAX_TREE_NODES}.")
            ok = all(part.shape == (size,) and part.dtype.kind in kinds[name] for name, part in parts.items())
            tree = cls(**{name: part.astype(np.int64 if kinds[name] == "i" else np.float64) for name, part in parts.items()})
            ok = ok and size > 0 and bool(np.all(tree.parent[1:] < np.arange(1, size)) and np.all(tree.parent[1:] >= 0))
            ok = ok and bool(np.all(np.isfinite(tree.visits)) and np.all(np.isfinite(tree.prior[1:])))
        except (KeyError, TypeError, ValueError) as error:
            raise StudentFault("The tree could not be read from _root, _children, _n_visits, _Q and _P.") from error
        if not ok:
            raise StudentFault("In the tree, _n_visits and _P must be finite numbers.")
        return tree

    def children(self, node: int) -> np.ndarray:
        """Return the indices of the children, in order."""
        order, parents = self._by_parent
        first, last = np.searchsorted(parents, (node, node + 1))
        return order[first:last]

    @cached_property
    def _by_parent(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes sorted by parent, and their parents; cached because all children of large trees are looked up."""
        order = np.argsort(self.parent, kind="stable")
        return order, self.parent[order]

    @cached_property
    def total_values(self) -> np.ndarray:
        """W = N * Q of each node [N]; 0 for a node without visits."""
        return np.where(self.visits > 0, self.visits * np.nan_to_num(self.value), 0.0)

    def sums_over_children(self, values: np.ndarray) -> np.ndarray:
        """Return, for each node [N], the sum of `values` [N] over its children."""
        return np.bincount(self.parent[1:], weights=values[1:], minlength=len(self.parent))

    @property
    def child_visits(self) -> dict[int, float]:
        """Move -> visits of the root's children."""
        return {int(self.move[i]): float(self.visits[i]) for i in self.children(0)}

    @property
    def root_visits(self) -> dict[int, float]:
        """The same as `child_visits`; raises StudentFault if the root has no children."""
        if len(self.parent) < 2:
            raise StudentFault("The root has no children: the tree was not expanded.")
        return self.child_visits

    @property
    def root_priors(self) -> dict[int, float]:
        """Move -> prior of the root's children."""
        return {int(self.move[i]): float(self.prior[i]) for i in self.children(0)}

    def below(self, node: int) -> Tree:
        """Return the subtree with this node as its root."""
        parents, inside = self.parent.tolist(), {node}
        inside.update(i for i in range(node + 1, len(parents)) if parents[i] in inside)
        kept = sorted(inside)
        place = {old: new for new, old in enumerate(kept)}
        parent = np.array([-1, *(place[int(self.parent[old])] for old in kept[1:])])
        return Tree(parent, self.move[kept], self.visits[kept], self.value[kept], self.prior[kept])

    def path(self, node: int) -> list[int]:
        """Return the moves from the root to the node; of a path longer than any game, only the last LONGEST_PATH moves."""
        moves: list[int] = []
        while node > 0 and len(moves) < LONGEST_PATH:
            moves.append(int(self.move[node]))
            node = int(self.parent[node])
        return moves[::-1]


def expect_playouts(tree: Tree, n_playout: int) -> None:
    """Raise StudentFault unless all playouts went through the root's children, and their visits on to the leaves.

    Two visits may end at a node, as where the second one expands it; `expect_visits_add_up` is exact.
    """
    sums = tree.sums_over_children(tree.visits)
    if not tree.children(0).size:
        raise StudentFault(f"After {n_playout} playouts the root has no children: the tree was not expanded.")
    if sums[0] not in (n_playout - 1, n_playout):
        raise StudentFault(
            f"After {n_playout} playouts the root's children have {sums[0]:g} visits in total; expected {n_playout - 1} "
            f"(the first playout expands the root) or {n_playout}. Each playout counts as one visit on its whole path."
        )
    for node in inner_nodes(tree):
        own = tree.visits[node] - sums[node]
        if own not in (0, 1, 2):
            raise StudentFault(
                f"The node after moves {tree.path(node)} has _n_visits {tree.visits[node]:g} and its children have "
                f"{sums[node]:g} in total; expected one less (the visit that expanded the node). Visits are not counted "
                "along the whole path."
            )


def inner_nodes(tree: Tree) -> list[int]:
    """Return the nodes below the root that have children."""
    return [node for node in np.unique(tree.parent[1:]).tolist() if node > 0]


def expect_visits_add_up(tree: Tree, n_playout: int) -> None:
    """Raise StudentFault unless every visit is accounted for."""
    expect_playouts(tree, n_playout)
    if abs(tree.visits[0] - n_playout) > 1:
        raise StudentFault(
            f"After {n_playout} playouts the root's _n_visits is {tree.visits[0]:g}; each playout also visits the root."
        )
    sums = tree.sums_over_children(tree.visits)
    for node in inner_nodes(tree):
        if tree.visits[node] - sums[node] == 2:
            raise StudentFault(
                f"The node after moves {tree.path(node)} has _n_visits {tree.visits[node]:g} and its children have "
                f"{sums[node]:g} in total; expected one less. Two visits ended at this node, but the first visit of a leaf "
                "should expand it, so that the second goes on to a child."
            )


def boards_of(tree: Tree, position: Start) -> dict[int, Board]:
    """Return node -> board for all nodes except those below a finished game; raise StudentFault for an illegal move."""
    boards = {0: position.board()}
    for node in range(1, len(tree.parent)):
        parent = boards.get(int(tree.parent[node]))
        if parent is None or parent.game_end()[0]:
            continue
        if tree.move[node] not in parent.availables:
            raise StudentFault(
                f"The node after moves {tree.path(node)} is reached by an illegal move.",
                _pictured(
                    tree, int(tree.parent[node]), position, "Seen: a child at the crossed point", played=[int(tree.move[node])]
                ),
            )
        boards[node] = parent.copy()
        boards[node].do_move(int(tree.move[node]))
    return boards


def expect_legal_children(tree: Tree, position: Start) -> None:
    """Raise StudentFault unless the children of every node are the legal moves; another check covers finished games."""
    children: dict[int, set[int]] = {}
    for parent, move in zip(tree.parent[1:].tolist(), tree.move[1:].tolist(), strict=True):
        children.setdefault(parent, set()).add(move)
    boards = boards_of(tree, position)
    for node, board in boards.items():
        moves = children.get(node, set())
        if moves and (lacking := set(board.availables) - moves) and not board.game_end()[0]:
            raise StudentFault(
                f"{_named(tree, node)} {without_children_for(lacking)}",
                _pictured(tree, node, position, "Expected: a child also at each ringed point", expected=lacking),
            )
    inner = set(tree.parent[1:].tolist())
    for node in np.flatnonzero(tree.visits > 1).tolist():
        if node not in inner and node in boards and not boards[node].game_end()[0]:
            raise StudentFault(
                f"{_named(tree, node)} has {tree.visits[node]:g} visits and no children; the first visit should expand it.",
                _pictured(tree, node, position, "Expected: a child at each empty point. Seen: none", expected=board.availables),
            )


def without_children_for(moves: Collection[int]) -> str:
    """Return the rest of a sentence about a node that lacks children."""
    return f"has no child for the legal moves {sorted(moves)}. A node that is expanded gets a child for each legal move."


def _named(tree: Tree, node: int) -> str:
    return f"The node after moves {tree.path(node)}" if node else "The root"


def expect_finished_games_to_end(tree: Tree, position: Start) -> None:
    """Raise StudentFault if a finished game has children."""
    expanded = set(tree.parent[1:].tolist())
    for node, board in boards_of(tree, position).items():
        if node in expanded and board.game_end()[0]:
            moves = tree.move[tree.children(node)].tolist()
            raise StudentFault(
                f"The node after moves {tree.path(node)} was expanded, although the game is over there.",
                _pictured(tree, node, position, "Expected: no children. Seen: the crossed ones", played=moves),
            )


def _pictured(
    tree: Tree, node: int, position: Start, caption: str, expected: Collection[int] = (), played: Collection[int] = ()
) -> list[dict[str, Any]]:
    """Return the position of a node as `BoardPosition.pictured` does; nothing for another game than Gomoku."""
    if not isinstance(position, BoardPosition):
        return []
    return [position.after(tree.path(node)).pictured(caption, expected, played)]


@dataclass
class _Largest:
    """The largest of some errors, in units of the tolerance (errors up to 1 are accepted), and the node where it occurs."""

    error: float = 0.0
    node: int = 0

    def add(self, error: float, node: int) -> None:
        if error > self.error:
            self.error, self.node = error, node


def _by_view() -> dict[View, _Largest]:
    return {view: _Largest() for view in (*VIEWS, *ONE_PLAYERS)}


@dataclass
class _ValueErrors:
    """The largest errors in a tree's values.

    Attributes:
        inside: view -> the error in the equation for W at nodes where the game goes on.
        at_ends: view -> the error in W at nodes where the game is over.
        unturned: view -> the error inside if the sum over the children is added instead of subtracted.
        wins: how far the values of finished games with a winner are from the nearer of 1 and -1.
        draws: how far the values of drawn games are from 0.
    """

    inside: dict[View, _Largest] = field(default_factory=_by_view)
    at_ends: dict[View, _Largest] = field(default_factory=_by_view)
    unturned: dict[View, _Largest] = field(default_factory=_by_view)
    wins: _Largest = field(default_factory=_Largest)
    draws: _Largest = field(default_factory=_Largest)

    def add_win(self, node: int, side: int, total: float, visits: float, slack: float) -> None:
        """Add a finished game that the player who moved into the node has won; turn the sign of `total` if that one lost.

        Args:
            side: the player, 1 or 2, to move at the node; so for the other nodes.
        """
        errors = {sign: abs(total - sign * visits) / slack for sign in (1, -1)}
        self.wins.add(min(errors.values()), node)
        for view, largest in self.at_ends.items():
            largest.add(errors[view[side - 1]], node)

    def add_draw(self, node: int, total: float, slack: float) -> None:
        """Add a drawn game."""
        for largest in (self.draws, *self.at_ends.values()):
            largest.add(abs(total) / slack, node)

    def add_evaluated(self, node: int, side: int, total: float, below: float, expected: float, slack: float) -> None:
        """Add a node whose own evaluations are known to sum to `expected` for the player who moved into it."""
        for view, largest in self.inside.items():
            largest.add(abs(total + below - view[side - 1] * expected) / slack, node)
            self.unturned[view].add(abs(total - below - view[side - 1] * expected) / slack, node)

    def add_rolled_out(self, node: int, total: float, below: float, rollouts: float, slack: float) -> None:
        """Add a node with this many rollouts of its own, each -1, 0 or 1; in any view their sum must be an integer."""
        for view, largest in self.inside.items():
            largest.add(_off_integer(total + below, rollouts) / slack, node)
            self.unturned[view].add(_off_integer(total - below, rollouts) / slack, node)

    def worst(self, view: View) -> _Largest:
        """Return the largest error if all values are taken in this view."""
        return max(self.inside[view], self.at_ends[view], key=lambda largest: largest.error)

    @property
    def view(self) -> View:
        """The accepted view that explains the values best."""
        return min(VIEWS, key=lambda view: self.worst(view).error)

    def is_turned_for_one_player(self) -> bool:
        """Return whether the signs change from level to level, but each evaluation enters in one player's view."""
        return any(self.inside[view].error <= 1 and self.at_ends[view].error <= 1 for view in ONE_PLAYERS)

    def is_kept_for_one_player(self) -> bool:
        """Return whether all of the tree has one player's view, so that no sign changes."""
        return any(self.unturned[view].error <= 1 and self.at_ends[view].error <= 1 for view in ONE_PLAYERS)


OTHER_UNITS: dict[str, Callable[[Tree], np.ndarray]] = {
    "Q holds the sum of a node's values; expected their mean, the sum divided by the node's visits.": (
        lambda tree: tree.value / np.maximum(tree.visits, 1)
    ),
    "Q is the sum of a node's values divided by one more than its visits; expected the sum divided by the visits.": (
        lambda tree: tree.value * (tree.visits + 1) / np.maximum(tree.visits, 1)
    ),
    "Q lies between 0 and 1, with 0 for a loss and 1/2 for a draw; expected -1 for a loss and 0 for a draw.": (
        lambda tree: 2 * tree.value - 1
    ),
}
"""What Q holds in place of the mean value -> the mean values, computed from it."""


def expect_values_add_up(
    tree: Tree,
    position: Start,
    own_value: Callable[[Board], float | None],
    *,
    hint: str = "",
    any_unit: bool = False,
) -> str:
    """Raise StudentFault unless the values were backed up with the sign turned at every level.

    Args:
        own_value: returns the evaluator's value of a position, for the side to move, or None for a rollout, whose result
            is -1, 0 or 1 but not known.
        hint: a sentence added to the message if the fault in the values is not a recognised one.
        any_unit: accept values that are right but for one of OTHER_UNITS.

    Returns:
        A remark on an accepted deviation, or the empty string.
    """
    errors = _value_errors(tree, position, own_value)
    if errors.worst(errors.view).error <= 1:
        turned = "Q is stored for the player to move, which is accepted if selection flips its sign."
        return "" if errors.view == VIEWS[0] else turned
    if not tree.total_values.any():
        raise StudentFault("Q is 0 in the whole tree: each playout should change the mean value of every node on its path.")
    for sentence, means_of in OTHER_UNITS.items():
        errors_of_means = _value_errors(replace(tree, value=means_of(tree)), position, own_value)
        if errors_of_means.worst(errors_of_means.view).error <= 1:
            if any_unit:
                return ""
            raise StudentFault(sentence)
    sentence, node, view = _fault_in_values(errors, hint)
    raise StudentFault(sentence, _pictured_value(tree, position, own_value, node, view))


def _fault_in_values(errors: _ValueErrors, hint: str) -> tuple[str, int, View]:
    """Return what is wrong with the values in words, a node that shows it, and the view in which it does."""
    hint = f" {hint}" if hint else ""
    view = errors.view
    worst = errors.worst(view)
    if errors.wins.error > 1:
        sentence = "In the tree a finished game with a winner is not worth 1 or -1; only its result should count."
        return sentence, errors.wins.node, view
    if errors.draws.error > 1:
        return "A draw is not worth 0 in the tree.", errors.draws.node, view
    inside = min(VIEWS, key=lambda view: errors.inside[view].error)
    if errors.inside[inside].error <= 1:
        node = errors.at_ends[inside].node
        if min(errors.at_ends[view].error for view in VIEWS) <= 1:
            return f"{WRONG_RESULT if inside == VIEWS[0] else OPPOSITE_VIEWS}{hint}", node, inside
        if min(errors.at_ends[view].error for view in ONE_PLAYERS) <= 1:
            return f"The result of a finished game enters the tree from {ALWAYS_THE_SAME}{hint}", node, inside
    if min(errors.unturned[view].error for view in VIEWS) <= 1:
        sentence = (
            "The values do not change sign from one level of the tree to the next. What is good for one player is bad for "
            "the other, so the sign must change at each level when a result is backed up."
        )
        return sentence, worst.node, view
    if errors.is_kept_for_one_player():
        sentence = "Q has the same player's view in the whole tree; expected the view of the player who moved into each node."
        return sentence, worst.node, view
    if errors.is_turned_for_one_player():
        return f"The value of each position enters the tree from {ALWAYS_THE_SAME}{hint}", worst.node, view
    sentence = (
        "The values in the tree do not add up: a node's visits times its Q should be its own evaluation minus the same sum "
        f"over its children (off by {worst.error * VALUE_TOLERANCE:.2g} per visit at the worst node).{hint}"
    )
    return sentence, worst.node, view


def _pictured_value(
    tree: Tree, position: Start, own_value: Callable[[Board], float | None], node: int, view: View
) -> list[dict[str, Any]]:
    """Return the position of a node with its value and what that should be, for a report; see `_pictured`."""
    if not isinstance(position, BoardPosition):
        return []
    board, visits = board_at(position, tree.path(node)), tree.visits[node]
    ended, winner = board.game_end()
    sign = view[board.get_current_player() - 1]
    expected = "Expected: N times Q, plus the same sum over the children, to be a whole number"
    if ended:
        expected = f"Expected: Q {0 if winner == -1 else sign if winner != board.get_current_player() else -sign:+d}"
    elif (value := own_value(board)) is not None:
        own_visits = visits - tree.sums_over_children(tree.visits)[node]
        total = -sign * value * own_visits - tree.sums_over_children(tree.total_values)[node]
        expected = f"Expected: Q {total / visits:+.3f}"
    caption = f"{expected}. Seen: Q {tree.total_values[node] / visits:+.3f} after {visits:g} visits of this position"
    return _pictured(tree, node, position, caption)


def _value_errors(tree: Tree, position: Start, own_value: Callable[[Board], float | None]) -> _ValueErrors:
    errors, below = _ValueErrors(), tree.sums_over_children(tree.total_values)
    own_visits = tree.visits - tree.sums_over_children(tree.visits)
    for node, board in boards_of(tree, position).items():
        total, visits = tree.total_values[node], tree.visits[node]
        if node == 0 or visits <= 0:
            continue
        slack = VALUE_TOLERANCE * max(1.0, visits)
        side = board.get_current_player()
        ended, winner = board.game_end()
        if ended and winner == -1:
            errors.add_draw(node, total, slack)
        elif ended:  # the last move can also lose, such as a pass in Go
            errors.add_win(node, side, total if winner != side else -total, visits, slack)
        elif (value := own_value(board)) is None:
            errors.add_rolled_out(node, total, below[node], own_visits[node], slack)
        else:
            errors.add_evaluated(node, side, total, below[node], -value * own_visits[node], slack)
    return errors


def expect_no_child_taken_out(seen: Collection[int], legal: Collection[int]) -> None:
    """Raise CouldNotGrade if a single legal move lacks a child, which get_action may have taken out of the tree already.

    A search that never gives this move a child loses points in the check of its tree.
    """
    missing = set(legal) - set(seen)
    if len(missing) == 1 and len(set(seen) | missing) == len(legal) > 1:
        raise CouldNotGrade(
            f"after a search in self-play the root has a child for each legal move but {missing.pop()}; it seems to be taken "
            "out of the tree before get_action returns, so that the search cannot be examined"
        )


def single_evaluations(tree: Tree) -> dict[int, float]:
    """Return node -> the value of its evaluation, in the view of the tree's Q, for nodes below the root with exactly one."""
    own_visits = tree.visits - tree.sums_over_children(tree.visits)
    own_values = tree.total_values + tree.sums_over_children(tree.total_values)
    return {int(node): float(own_values[node]) for node in np.flatnonzero(own_visits == 1) if node > 0}


def _off_integer(value: float, most: float) -> float:
    """Return the distance to the nearest integer in [-most, most]."""
    return abs(value - float(np.clip(np.round(value), -most, most)))


def most_visited(visits: dict[int, float]) -> set[int]:
    """Return the moves that a correct player may play: the most visited, and any that a random draw may give in its place.

    softmax(log(visits) / TEMPERATURE) gives a move with 399 visits a twelfth of the chance of one with 400. A move with less
    than LEAST_CHANCE of the best move's chance is not accepted.

    Args:
        visits: move -> visits of the root's children.
    """
    least = max(visits.values()) * LEAST_CHANCE**TEMPERATURE
    return {move for move, count in visits.items() if count >= least}


def visit_difference(seen: dict[int, float], expected: dict[int, float]) -> float:
    """Return the share of the visits that went elsewhere: 0 for equal distributions, 1 for distributions without overlap.

    Raises:
        StudentFault: nothing was seen.
    """
    if not sum(seen.values()):
        raise StudentFault("After the search the root's children have no visits: each playout counts as one on its whole path.")
    moves = set(seen) | set(expected)
    here, there = sum(seen.values()), sum(expected.values()) or 1.0
    return 0.5 * sum(abs(seen.get(m, 0.0) / here - expected.get(m, 0.0) / there) for m in moves)
