"""What must hold in any correct search tree, whatever the names of the methods that grew it (Silver et al. 2017, Methods).

Views: a node's Q is the mean of its evaluations seen by the player who moved INTO it. `W = N * Q` is their sum. Every visit
of an inner node but the one that expanded it went on to a child, and what is a gain for one player is a loss for the other:

    N(node) = k + sum of N(child)                W(node) = -k * v(node) - sum of W(child)

with k = 1 evaluation of the node itself, worth v to the side to move there. A solution that stores Q for the player to move
has all W negated, and satisfies the second line with the sign of v turned; both are accepted. The root may be counted once
more or less and its own Q is nobody's input, so the second line is not asked of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from Board.game_board import Board
from grader.confinement.worker import MAX_TREE_NODES
from grader.errors import StudentFault

VALUE_TOLERANCE = 1e-3
LONGEST_PATH = 400
TEMPERATURE = 1e-3  # of the draw that should give the most visited move
LEAST_CHANCE = 1e-9  # of a move, relative to the best; a run has some hundred draws, and few of them so near a tie


@dataclass(frozen=True)
class Tree:
    """A student's tree as plain arrays, breadth first; index 0 is the root."""

    parent: np.ndarray
    move: np.ndarray
    visits: np.ndarray
    value: np.ndarray
    prior: np.ndarray

    @classmethod
    def from_reply(cls, reply: Any) -> Tree:
        """From a worker's reply; StudentFault for what is no tree, or larger than any search of ours asks for."""
        try:
            kinds = {"parent": "i", "move": "i", "visits": "iuf", "value": "iuf", "prior": "iuf"}
            parts = {name: np.asarray(reply[name]) for name in kinds}
            size = len(parts["parent"])
            if size > MAX_TREE_NODES:
                raise StudentFault(f"The tree has {size} nodes; no search that was asked for makes more than {MAX_TREE_NODES}.")
            ok = all(part.shape == (size,) and part.dtype.kind in kinds[name] for name, part in parts.items())
            tree = cls(**{name: part.astype(np.int64 if kinds[name] == "i" else np.float64) for name, part in parts.items()})
            ok = ok and size > 0 and bool(np.all(tree.parent[1:] < np.arange(1, size)) and np.all(tree.parent[1:] >= 0))
            ok = ok and bool(np.all(np.isfinite(tree.visits)) and np.all(np.isfinite(tree.prior[1:])))
        except (KeyError, TypeError, ValueError) as error:
            raise StudentFault("The tree could not be read from _root, _children, _n_visits, _Q and _P.") from error
        if not ok:
            raise StudentFault("The tree holds values that are no finite numbers (_n_visits, _P).")
        return tree

    def children(self, node: int) -> np.ndarray:
        """Indices of the children, in order."""
        order, parents = self._by_parent
        first, last = np.searchsorted(parents, (node, node + 1))
        return order[first:last]

    @cached_property
    def _by_parent(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes in order of their parents, and those parents: found once, since large trees are asked for all children."""
        order = np.argsort(self.parent, kind="stable")
        return order, self.parent[order]

    @property
    def root_visits(self) -> dict[int, float]:
        """Move -> visits of the root's children; StudentFault for a root without children."""
        if len(self.parent) < 2:
            raise StudentFault("The root has no children: the tree was not expanded.")
        return {int(self.move[i]): float(self.visits[i]) for i in self.children(0)}

    @property
    def root_priors(self) -> dict[int, float]:
        """Move -> prior of the root's children."""
        return {int(self.move[i]): float(self.prior[i]) for i in self.children(0)}

    def below(self, node: int) -> Tree:
        """The tree whose root is that node."""
        parents, inside = self.parent.tolist(), {node}
        inside.update(i for i in range(node + 1, len(parents)) if parents[i] in inside)
        kept = sorted(inside)
        place = {old: new for new, old in enumerate(kept)}
        parent = np.array([-1, *(place[int(self.parent[old])] for old in kept[1:])])
        return Tree(parent, self.move[kept], self.visits[kept], self.value[kept], self.prior[kept])

    def path(self, node: int) -> list[int]:
        """Moves from the root to the node; the last ones alone where they are more than any board has points."""
        moves: list[int] = []
        while node > 0 and len(moves) < LONGEST_PATH:
            moves.append(int(self.move[node]))
            node = int(self.parent[node])
        return moves[::-1]


def board_at(position: dict[str, Any], further: list[int] | None = None) -> Board:
    """The framework's Board after the position's moves and some more, which come from a student's tree."""
    board = Board(width=position["width"], height=position["height"], n_in_row=position["n_in_row"])
    board.init_board(0)
    for move in position["moves"]:
        board.do_move(move)
    try:
        for move in further or []:
            board.do_move(move)
    except ValueError as error:
        raise StudentFault(f"The tree holds the moves {further} below the root, which cannot be played.") from error
    return board


def expect_visits_add_up(tree: Tree, n_playout: int) -> None:
    """StudentFault unless every visit below the root is accounted for."""
    sums = np.bincount(tree.parent[1:], weights=tree.visits[1:], minlength=len(tree.parent))
    if not tree.children(0).size:
        raise StudentFault(f"After {n_playout} playouts the root has no children: the tree was not expanded.")
    if sums[0] not in (n_playout - 1, n_playout):
        raise StudentFault(
            f"{n_playout} playouts were asked for; the root's children were visited {sums[0]:g} times together, "
            f"expected {n_playout - 1} (the first playout expands the root) or {n_playout}: each playout counts as a visit "
            "on its whole path."
        )
    if abs(tree.visits[0] - n_playout) > 1:
        raise StudentFault(f"After {n_playout} playouts the root's _n_visits is {tree.visits[0]:g}.")
    inner = np.unique(tree.parent[1:])
    for node in inner[inner > 0]:
        own = tree.visits[node] - sums[node]
        if own not in (0, 1):
            raise StudentFault(
                f"The node after moves {tree.path(node)} has _n_visits {tree.visits[node]:g}, its children have "
                f"{sums[node]:g} together; expected one less (the visit that expanded it), so visits are not counted "
                "along the whole path."
            )


def boards_of(tree: Tree, position: dict[str, Any]) -> dict[int, Board]:
    """Node -> its position, for all nodes but those below a finished game; StudentFault for an illegal move."""
    boards = {0: board_at(position)}
    for node in range(1, len(tree.parent)):
        parent = boards.get(int(tree.parent[node]))
        if parent is None or parent.game_end()[0]:
            continue
        if tree.move[node] not in parent.availables:
            raise StudentFault(f"The node after moves {tree.path(node)} is reached by an illegal move.")
        boards[node] = parent.copy()
        boards[node].do_move(int(tree.move[node]))
    return boards


def expect_legal_children(tree: Tree, position: dict[str, Any]) -> None:
    """StudentFault unless the children of every node are the legal moves; a finished game's are not looked at."""
    children: dict[int, set[int]] = {}
    for parent, move in zip(tree.parent[1:].tolist(), tree.move[1:].tolist(), strict=True):
        children.setdefault(parent, set()).add(move)
    boards = boards_of(tree, position)
    for node, board in boards.items():
        moves = children.get(node, set())
        if moves and moves != set(board.availables) and not board.game_end()[0]:
            wrong = sorted(moves ^ set(board.availables))
            raise StudentFault(
                f"The children after moves {tree.path(node)} should be exactly the legal moves; they differ at {wrong}."
            )
    inner = set(tree.parent[1:].tolist())
    for node in np.flatnonzero(tree.visits > 1).tolist():
        if node not in inner and node in boards and not boards[node].game_end()[0]:
            raise StudentFault(
                f"The node after moves {tree.path(node)} was visited {tree.visits[node]:g} times and has no children; a leaf "
                "is expanded by its first visit."
            )


def expect_finished_games_to_end(tree: Tree, position: dict[str, Any]) -> None:
    """StudentFault for a finished game that has children."""
    expanded = set(tree.parent[1:].tolist())
    for node, board in boards_of(tree, position).items():
        if node in expanded and board.game_end()[0]:
            raise StudentFault(f"The node after moves {tree.path(node)} was expanded, though the game is over there.")


def expect_values_add_up(
    tree: Tree,
    position: dict[str, Any],
    own_value: Callable[[Board], float | None],
    *,
    tolerance: float = VALUE_TOLERANCE,
    hint: str = "",
) -> str:
    """StudentFault unless the values were backed up with the sign turned at every level.

    Args:
        own_value: the evaluator's value of a position, seen by the side to move; None for a rollout whose outcome is
            not known but is -1, 0 or 1.
        hint: a sentence for whom the sums are wrong in no way that is known.

    Returns:
        A remark on an accepted deviation, or the empty string.
    """
    total = np.where(tree.visits > 0, tree.visits * np.nan_to_num(tree.value), 0.0)
    below = np.bincount(tree.parent[1:], weights=total[1:], minlength=len(tree.parent))
    counts = np.bincount(tree.parent[1:], weights=tree.visits[1:], minlength=len(tree.parent))
    errors, errors_over = {+1: 0.0, -1: 0.0}, {+1: 0.0, -1: 0.0}
    unturned, finished, draws = 0.0, 0.0, 0.0
    for node, board in boards_of(tree, position).items():
        if node == 0 or tree.visits[node] <= 0:
            continue
        ended, winner = board.game_end()
        slack = tolerance * max(1.0, tree.visits[node])
        own = tree.visits[node] - counts[node]
        rest = total[node] + below[node]
        if ended:
            # The side to move has not made the last move, so a winner is the other one.
            expected = 0.0 if winner == -1 else float(tree.visits[node])
            rest = total[node]
            miss = min(abs(rest - expected), abs(rest + expected)) / slack
            draws, finished = (max(draws, miss), finished) if winner == -1 else (draws, max(finished, miss))
            errors_over = {sign: max(error, abs(rest - sign * expected) / slack) for sign, error in errors_over.items()}
            continue
        value = own_value(board)
        if value is None:
            nearest = float(np.clip(np.round(rest), -own, own))
            miss = abs(rest - nearest) / slack
            errors = {sign: max(error, miss) for sign, error in errors.items()}
            unturned = max(unturned, _off_integer(total[node] - below[node], own) / slack)
            continue
        expected = -value * own
        unturned = max(unturned, abs(total[node] - below[node] - expected) / slack)
        errors = {sign: max(error, abs(rest - sign * expected) / slack) for sign, error in errors.items()}
    together = {sign: max(errors[sign], errors_over[sign]) for sign in errors}
    sign = min(together, key=together.__getitem__)
    if together[sign] <= 1:
        return "" if sign > 0 else "Q is stored for the player to move, which is accepted."
    if finished > 1:
        raise StudentFault("A finished game that has a winner is not worth 1 or -1 in the tree: its result alone counts there.")
    if draws > 1:
        raise StudentFault("A draw is not worth 0 in the tree.")
    if min(errors.values()) <= 1 and min(errors_over.values()) <= 1:
        raise StudentFault(f"The result of a finished game enters the tree as seen by the wrong player.{hint and ' '}{hint}")
    if unturned <= 1:
        raise StudentFault(
            "The values do not change sign from one level of the tree to the next: what is good for one player must "
            "count as bad for the other when a result is backed up."
        )
    raise StudentFault(
        "The values in the tree do not add up: a node's visits times its Q should be its own evaluation less those of "
        f"its children (off by {together[sign] * tolerance:.2g} a visit at the worst node).{hint and ' '}{hint}"
    )


def undecided_share(tree: Tree) -> float:
    """Of the nodes below the root that were evaluated once, the share whose evaluation was 0."""
    total = tree.visits * np.nan_to_num(tree.value)
    below = np.bincount(tree.parent[1:], weights=total[1:], minlength=len(tree.parent))
    counts = np.bincount(tree.parent[1:], weights=tree.visits[1:], minlength=len(tree.parent))
    once = np.flatnonzero(tree.visits - counts == 1)
    once = once[once > 0]
    return float(np.mean(np.abs(total[once] + below[once]) < 0.5)) if once.size else 0.0


def _off_integer(value: float, most: float) -> float:
    return abs(value - float(np.clip(np.round(value), -most, most)))


def most_visited(visits: dict[int, float]) -> set[int]:
    """The moves that a right player may answer with: the most visited, and what its draw can give in their place.

    softmax(log(visits) / TEMPERATURE) gives a move visited 399 times a twelfth of the chance of one visited 400 times; what has
    less than LEAST_CHANCE of the best one's is no right answer.

    Args:
        visits: move -> visits, of a root's children.
    """
    least = max(visits.values()) * LEAST_CHANCE**TEMPERATURE
    return {move for move, count in visits.items() if count >= least}


def difference(seen: dict[int, float], expected: dict[int, float]) -> float:
    """Share of the visits that went elsewhere: 0 for the same distribution, 1 for nothing in common."""
    moves = set(seen) | set(expected)
    here, there = sum(seen.values()) or 1.0, sum(expected.values()) or 1.0
    return 0.5 * sum(abs(seen.get(m, 0.0) / here - expected.get(m, 0.0) / there) for m in moves)
