"""Code shared by the checks of both searches: calls to a worker, and what is expected of either search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from Board.game_board import Board
from grader.confinement.plain import hash_priors_and_value
from grader.confinement.worker import BoardChanged
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.agreement import AGREEMENT_TOLERANCE, HUGE_C_PUCT, WIDE_BOARDS, WIDE_PLAYOUTS, SearchComparison
from grader.judge.support.board_position import BoardPosition, board_at, drawn_at, shares_of
from grader.judge.support.drawn_positions import (
    block_position,
    certain_position,
    drawn_position,
    random_position,
    wide_win_position,
    win_position,
)
from grader.judge.support.oracle import Oracle
from grader.judge.support.ruling import Ruling
from grader.judge.support.trees import (
    Tree,
    boards_of,
    expect_finished_games_to_end,
    expect_legal_children,
    expect_no_child_taken_out,
    expect_playouts,
    expect_values_add_up,
    expect_visits_add_up,
    most_visited,
    without_children_for,
)

C_PUCT = 5.0
OTHER_PLAYOUTS = 0.05  # the share of the playouts by which a search may miss their number where another check counts them
KEPT_OF_A_PRIOR = 0.75  # where noise is mixed in
# Slips that leave the tree of a search as it should be, or would if the playouts moved on copies of the board. Each is excused
# but in the checks that report it, which call them their own (`grader.confinement.worker.excusing`).
EXCUSED = ("board", "move")
BOARD_CHANGED = f"{BoardChanged.__name__}:"  # how the fault of the first begins
# How the fault begins if a search that understands only arrays gets a float. numpy raises an AxisError of its own.
NO_FLOAT = ("TypeError", "IndexError", "AttributeError", "AxisError", "ValueError", "AssertionError")


def call(
    worker: Worker,
    operation: str,
    *,
    position: BoardPosition,
    evaluator: dict[str, Any],
    own: Collection[str] = (),
    **arguments: Any,
) -> Any:
    """Run one operation on the student's player in a position; see `with_either_value`.

    Args:
        own: the slips of EXCUSED that the check reports.
    """
    arguments["excused"] = [slip for slip in EXCUSED if slip not in own]
    with drawn_at(position, "The search began here"):
        return with_either_value(partial(worker.call, operation, position=position.to_json(), **arguments), evaluator)


def with_either_value(search: Callable[..., Any], evaluator: dict[str, Any]) -> Any:
    """Return what a search returns with this evaluator, given as the argument `evaluator`.

    The interface allows an evaluator to return its value as a float or as a (1, 1) array. A search that understands only
    one of the two is correct, so both are tried.
    """
    try:
        return search(evaluator=evaluator)
    except StudentFault as fault:
        if not str(fault).startswith(NO_FLOAT):
            raise
        try:
            return search(evaluator={**evaluator, "value_as_array": True})
        except StudentFault:
            raise fault from None


def hash_evaluation(board: Board, seed: int) -> tuple[np.ndarray, float]:
    """Return the hash evaluator's priors of the legal moves, in the order of `board.availables`, and its value."""
    return hash_priors_and_value(list(board.states.items()), board.get_current_player(), board.availables, seed)


def player_under(seed: int) -> dict[str, Any]:
    """Return the arguments of an AlphaZero player whose evaluator is the hash with this seed."""
    return {"kind": "mcts_alphaZero", "c_puct": C_PUCT, "evaluator": {"kind": "hash", "seed": seed}}


@dataclass(frozen=True)
class SearchCase:
    """A search that the student's code has to carry out, with a hash as its evaluator.

    Attributes:
        seed: the seed of the evaluator.
        values: for pure MCTS, moves from the position -> the result of every rollout there; replaces the values of the hash.
        tells_apart: a slip of `agreement.SLIPS` with which the search must visit other moves; empty for any case.
    """

    position: BoardPosition
    seed: int
    n_playout: int
    c_puct: float = C_PUCT
    values: dict[tuple[int, ...], float] | None = field(default=None, repr=False)
    tells_apart: str = ""

    def evaluate(self, board: Board) -> tuple[Any, float]:
        """Return the priors of the legal moves and the value for the side to move, as the student's search gets them."""
        priors, value = hash_evaluation(board, self.seed)
        if self.values is not None:
            value = self.value_of(board) or 0.0
        return zip(list(board.availables), priors, strict=True), value

    def value(self, board: Board) -> float:
        """Return only the value."""
        return self.evaluate(board)[1]

    def value_of(self, board: Board) -> float | None:
        """Return the result of every rollout from this board, or None if rollouts may differ."""
        return (self.values or {}).get(tuple(board.states)[len(self.position.moves) :])

    @property
    def record(self) -> dict[str, Any]:
        """Evidence: what is needed to repeat the search."""
        return {**self.position.to_json(), "seed": self.seed, "n_playout": self.n_playout, "c_puct": self.c_puct}


SIZES = ((3, 3, 3), (3, 3, 3), (4, 3, 3), (5, 5, 4), (6, 6, 4), (6, 5, 4))
CERTAIN = 16  # number of searches of pure MCTS
# Few searches of late positions show what an unvisited move counts, so these are drawn until they do.
TOLD_APART = {12: "unvisited lost", 13: "parent's value", 14: "parent's value, turned", 15: "parent's value, turned"}


def draw_search(rng: Random, size: tuple[int, int, int]) -> SearchCase:
    """Draw a search on a small board."""
    position = random_position(rng, *size, rng.randrange(0, 6))
    return SearchCase(position, rng.randrange(2**31), rng.choice((100, 200, 400)))


def draw_certain(rng: Random, number: int) -> SearchCase:
    """Draw a search of a late position with certain rollouts; it may matter who begins them, or some may all be lost."""
    position, values = certain_position(rng, mover=(1, 2)[number % 2] if number < 6 else None, loses=number == 6)
    if number in TOLD_APART:
        return SearchCase(position, rng.randrange(2**31), 40, 1.0, values, TOLD_APART[number])
    return SearchCase(position, rng.randrange(2**31), rng.choice((40, 150, 300)), (1.0, 5.0)[number // 2 % 2], values)


def draw_wide(rng: Random, size: tuple[int, int]) -> SearchCase:
    """Draw a search with fewer playouts than moves, in which the bonus outweighs all values, from rollouts or not."""
    position = random_position(rng, *size, 5, rng.randrange(4))
    return SearchCase(position, rng.randrange(2**31), WIDE_PLAYOUTS, HUGE_C_PUCT)


SEARCHES: dict[str, Callable[[Random], SearchCase]] = {
    **{f"search {number}": partial(draw_search, size=size) for number, size in enumerate(SIZES)},
    **{f"certain {number}": partial(draw_certain, number=number) for number in range(CERTAIN)},
    **{f"wide {number}": partial(draw_wide, size=size) for number, size in enumerate(WIDE_BOARDS)},
}
"""Families of cases, by the names that an oracle uses; a check of agreement takes one case from each of its families."""


def families(kind: str) -> list[str]:
    """Return the names of the families that begin with `kind`."""
    return [name for name in SEARCHES if name.startswith(f"{kind} ")]


def tree_positions(rng: Random) -> list[tuple[BoardPosition, int]]:
    """Return positions, each with a number of playouts; the last position can end in a draw."""
    sizes = ((3, 3, 3, 0, 300), (3, 3, 3, 3, 200), (5, 4, 4, 6, 250))
    return [(random_position(rng, *size), n_playout) for *size, n_playout in sizes] + [(drawn_position(rng), 120)]


def expect_priors(tree: Tree, position: BoardPosition, seed: int) -> None:
    """Raise StudentFault unless every node's children have the priors that the policy function returns for its position.

    The root's may have noise, which belongs in self-play alone: mcts_alphazero.noise checks that.
    """
    for node, board in boards_of(tree, position).items():
        children = tree.children(node)
        if not children.size:
            continue
        expected = dict(zip(board.availables, hash_evaluation(board, seed)[0], strict=True))
        if node == 0 and _may_have_noise(tree.root_priors, expected):
            continue
        for child in children:
            move, prior = int(tree.move[child]), float(tree.prior[child])
            if abs(prior - expected.get(move, prior)) > 1e-4:
                seen = dict(zip(tree.move[children].tolist(), tree.prior[children].tolist(), strict=True))
                raise StudentFault(
                    f"The node after moves {tree.path(int(child))} below the root has prior {prior:.4f}; the policy function "
                    f"returns {expected[move]:.4f} in the position before its last move. Either the prior was changed, or "
                    "another position was evaluated.",
                    position.after(tree.path(node)).compared("the priors of the children", expected, seen),
                )


@contextmanager
def causes_named(searches: Collection[tuple[SearchCase, Tree]]) -> Iterator[None]:
    """Add to a StudentFault about the visits of these searches in play what other checks report, if it changes visits."""
    try:
        yield
    except StudentFault as fault:
        cause = ""
        if all(_has_noise(tree, case) for case, tree in searches):
            cause = " These searches are in play, but their roots' priors have noise, which alone changes the visits."
        counts = [(case.n_playout, sum(tree.child_visits.values())) for case, tree in searches]
        if uncounted := [f"{told} playouts, {seen:g} visits" for told, seen in counts if abs(seen - told) > 2]:
            cause = f" The root's children do not have one visit for each playout ({uncounted[0]})."
        elif not any(tree.visits[0] for _, tree in searches):
            cause = " The root's own _n_visits stays 0; if that is N_parent, the bonus of the root's children is 0, too."
        raise StudentFault(f"{fault}{cause}", fault.boards) from fault


def _has_noise(tree: Tree, case: SearchCase) -> bool:
    """Return whether the root's priors are not the policy function's, but may be these with noise."""
    board = case.position.board()
    clean = dict(zip(board.availables, hash_evaluation(board, case.seed)[0], strict=True))
    priors = tree.root_priors
    return _may_have_noise(priors, clean) and any(abs(priors[move] - clean.get(move, 0.0)) > 1e-4 for move in priors)


def _may_have_noise(priors: dict[int, float], clean: dict[int, float]) -> bool:
    mixed = all(priors[move] >= KEPT_OF_A_PRIOR * clean.get(move, 0.0) - 1e-4 for move in priors)
    return mixed and abs(sum(priors.values()) - 1) < 1e-3


def expect_sound_tree(tree: Tree, case: SearchCase, own_value: Callable[[Board], float | None], hint: str = "") -> str:
    """Raise StudentFault for a fault in any node of a search's tree.

    `own_value`, `hint` and the result are those of `expect_values_add_up`.
    """
    expect_visits(tree, case.position, case.n_playout)
    expect_priors(tree, case.position, case.seed)
    remark = expect_values_add_up(tree, case.position, own_value, hint=hint)
    expect_finished_games_to_end(tree, case.position)
    return remark


def expect_visits(tree: Tree, position: BoardPosition, n_playout: int) -> None:
    """Raise StudentFault unless all visits are accounted for and the children of every node are the legal moves."""
    with drawn_at(position, "Seen: the share of the visits that each child of the root has", shares_of(tree.child_visits)):
        expect_visits_add_up(tree, n_playout)
    expect_legal_children(tree, position)


def expect_most_visited(move: int, tree: Tree, position: BoardPosition, message: str) -> None:
    """Raise StudentFault unless a player's move is a most visited one of its tree, with a hint if it is the place of one."""
    visits = tree.root_visits
    best = most_visited(visits)
    if move in best:
        return
    message += place_for_move(move, visits)
    raise StudentFault(message, [position.pictured("Expected: the most visited move", best, [move], shares_of(visits))])


def place_for_move(number: int, visits: dict[int, float]) -> str:
    """Return a sentence if a number is not a most visited move but the place of one among the root's children, or ""."""
    meant = list(visits)[number] if 0 <= number < len(visits) else None
    if number in most_visited(visits) or meant not in most_visited(visits):
        return ""
    return f" {number} is the place of move {meant} in the list of the root's children, not a move."


def searches_of(
    worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle, kind: str, family: str
) -> list[tuple[SearchComparison, SearchCase, Tree]]:
    """Run one student search per family in a group (see `SEARCHES`); return each with the answers to compare it with.

    A search may take moves back and leave the empty points in another order, in which it then takes the first of equal moves.
    One that differs from the answers is run again with an evaluator that gives the moves in ascending order.
    """
    found = []
    for name in families(family):
        case, answers = oracle.ask(name, SEARCHES[name], rng)
        ruling.evidence.setdefault(family, []).append(case.record)
        player = {**player_under(case.seed), "kind": kind, "c_puct": case.c_puct}
        for ascending in (False, True):
            player["evaluator"] = {**player["evaluator"], "ascending": ascending}
            reply = call(worker, "search", position=case.position, n_playout=case.n_playout, **player)
            tree = Tree.from_reply(reply["tree"])
            compared = SearchComparison(tree.root_visits, case.position, case.n_playout, case.c_puct, answers)
            if compared.smallest_difference() <= AGREEMENT_TOLERANCE:
                break
        found.append((compared, case, tree))
    return found


def chooses_at_random(worker: Worker, rng: Random, kind: str) -> bool:
    """Return whether a search of three playouts, which no value can influence, visits different moves when it is repeated."""
    for _ in range(8):
        position, player = random_position(rng, 6, 6, 5, 4), {**player_under(rng.randrange(2**31)), "kind": kind}
        first, second = (
            call(worker, "search", position=position, n_playout=3, **{**player, "c_puct": HUGE_C_PUCT}) for _ in range(2)
        )
        if Tree.from_reply(first["tree"]).root_visits != Tree.from_reply(second["tree"]).root_visits:
            return True
    return False


def expect_tactics(worker: Worker, ruling: Ruling, rng: Random, player: dict[str, Any]) -> None:
    """Raise StudentFault unless all wins and at least seven of the eight blocks are found; one may be missed by chance."""
    small = [win_position(rng) for _ in range(6)]
    large = [wide_win_position(rng) for _ in range(6)]
    blocks = [block_position(rng) for _ in range(8)]
    moves = [searched_move(worker, p, 400, player) for p, _ in small]
    moves += [searched_move(worker, p, 800, player) for p, _ in large]
    for move, (position, wins) in zip(moves, small + large, strict=True):
        if move not in wins:
            raise StudentFault(
                f"After moves {list(position.moves)} on {position.size} the player played {move}; "
                f"{' or '.join(map(str, wins))} wins at once.",
                [position.pictured("A win in one move", wins, [move])],
            )
    answers = [searched_move(worker, p, 1000, player) for p, _ in blocks]
    missed = [(p, m, b) for m, (p, b) in zip(answers, blocks, strict=True) if m != b]
    ruling.seen = f"{len(moves)} wins of {len(moves)}, {len(blocks) - len(missed)} blocks of {len(blocks)}."
    if len(missed) > 1:
        position, move, block = missed[0]
        raise StudentFault(
            f"{len(missed)} of {len(blocks)} blocks were missed, for example after moves {list(position.moves)} on 3x3: "
            f"the player played {move}; only {block} does not lose.",
            [p.pictured("The only move that does not lose", [b], [m]) for p, m, b in missed[:3]],
        )


def searched_move(worker: Worker, position: BoardPosition, n_playout: int, player: dict[str, Any]) -> int:
    """Return the move that a new player finds: a most visited one of the tree that was searched, as a solver is not a search.

    mcts_pure.tree and mcts_alphazero.temperature report a player that plays another move, and the checks of the tree one that
    runs a few playouts more or fewer.
    """
    reply = call(worker, "search", position=position, n_playout=n_playout, **player)
    tree = Tree.from_reply(reply["tree"])
    counted = int(sum(tree.child_visits.values()))
    expect_playouts(tree, counted if abs(counted - n_playout) <= OTHER_PLAYOUTS * n_playout else n_playout)
    expect_legal_children(tree, position)
    visits = tree.root_visits
    return reply["move"] if reply["move"] in most_visited(visits) else max(visits, key=visits.__getitem__)


def expect_reuse(worker: Worker, ruling: Ruling, rng: Random, player: dict[str, Any]) -> None:
    """Raise StudentFault unless update_with_move makes the child the root, and starts a new tree for -1 or an unknown move."""
    ruling.expected = "update_with_move makes the move's child the root; -1 or an unknown move starts from a new root."
    position, n_playout = random_position(rng, 3, 3, 3, 2), 200
    ruling.evidence["reuse"] = {**position.to_json(), "n_playout": n_playout}
    seen = call(worker, "advance", position=position, n_playout=n_playout, **player)
    if not seen:
        raise CouldNotGrade(
            "The tree of a search is not kept when get_action returns, and the root of the search cannot be set, so that "
            "update_with_move could not be tried on its own."
        )
    with drawn_at(position, "The search began here"):
        _expect_kept(ruling, position, seen)


def _expect_kept(ruling: Ruling, position: BoardPosition, seen: dict[str, Any]) -> None:
    """Raise StudentFault unless update_with_move, called after a search, made the right nodes the root.

    Whether the visits are those of a right search, the check of the tree reports.
    """
    searched, kept = Tree.from_reply(seen["searched"]), Tree.from_reply(seen["kept"]["tree"])
    for name, how in (("reset", "update_with_move(-1)"), ("unknown", "update_with_move of a move without a child")):
        new = Tree.from_reply(seen[name]["tree"])
        ruling.expect(new.visits[0] <= 1 and len(new.parent) == 1, f"{how} should start from a new root.")
    visits = searched.root_visits
    # A root that lacks children must not be taken for that of another position later on.
    if lacking := set(board_at(position).availables) - set(visits):
        raise StudentFault(f"After a search the root {without_children_for(lacking)}")
    ruling.expect(seen["move"] in visits, f"update_with_move was given {seen['move']}, which is not a child of the root.")
    before = searched.below(next(int(i) for i in searched.children(0) if searched.move[i] == seen["move"]))
    if np.array_equal(before.visits[1:], kept.visits[1:]) and before.visits[0] != kept.visits[0]:
        raise StudentFault(
            f"update_with_move(move) changes the new root's _n_visits from {before.visits[0]:g} to {kept.visits[0]:g}; apart "
            "from its parent, the node should stay as it is."
        )
    if not (np.array_equal(before.visits, kept.visits) and np.array_equal(before.move[1:], kept.move[1:])):
        children = shares_of(before.child_visits), shares_of(kept.child_visits)
        raise StudentFault(
            "update_with_move(move) throws the searched subtree away instead of keeping what is below that move.",
            position.after([seen["move"]]).compared("the visits of the new root's children", *children),
        )
    ruling.expect(
        not seen["kept"]["has_parent"],
        "update_with_move(move) should cut the new root off from the old one, which is still its parent.",
    )
    ruling.seen = f"The child with {before.visits[0]:g} visits became the root."


def expect_trees_of_positions(worker: Worker, rng: Random, player: dict[str, Any]) -> None:
    """Raise StudentFault unless the tree in play belongs to the position on the board, whether new or kept over both moves.

    One player plays two games, with reset_player between them.
    """
    stale = "In play the search continues in the tree of an earlier"
    for how in ("position, as if the opponent had not moved", "game, even after reset_player"):
        position = random_position(rng, 5, 4, 4, 2)
        try:
            steps = call(worker, "self_play", position=position, plies=4, in_play=True, n_playout=60, kept=True, **player)
        except StudentFault as fault:
            raise StudentFault(f"{stale} {how}, and fails ({fault}).") from fault
        trees = [Tree.from_reply(step["tree"]) for step in steps]
        expect_legal_roots(steps, trees, position, f"{stale} {how}.", answered=True)


def expect_legal_roots(
    steps: list[dict[str, Any]], trees: list[Tree], position: BoardPosition, message: str, answered: bool = False
) -> None:
    """Raise StudentFault unless each root's children are the legal moves; the moves played are, too, as `call` excuses others.

    Args:
        message: the fault if the children are other moves.
        answered: whether the opponent answers each move at the lowest empty point.
    """
    board = board_at(position)
    for step, tree in zip(steps, trees, strict=True):
        seen, legal = set(tree.root_visits), set(board.availables)
        now = replace(position, moves=tuple(board.states))
        if seen != legal:
            expect_no_child_taken_out(seen, legal)
            caption = "Expected: a child also at each ringed point, and none at crossed ones"
            raise StudentFault(message, [now.pictured(caption, legal - seen, (seen | {step["move"]}) - legal)])
        for move in (step["move"], min(set(board.availables) - {step["move"]}, default=-1))[: 1 + answered]:
            if not board.game_end()[0]:
                board.do_move(move)
