"""Part 2, AlphaZero MCTS: tree, agreement with the reference, moves and reuse (handout 5.4).

The checks of noise and temperature are in `test_noise.py` and `test_temperature.py`.
"""

from __future__ import annotations

from itertools import takewhile
from random import Random

import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.agreement import expect_agreement
from grader.judge.support.board_position import EMPTY_3X3
from grader.judge.support.oracle import Oracle
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import (
    BOARD_CHANGED,
    C_PUCT,
    EXCUSED,
    SearchCase,
    call,
    causes_named,
    chooses_at_random,
    expect_legal_roots,
    expect_reuse,
    expect_sound_tree,
    expect_tactics,
    expect_trees_of_positions,
    player_under,
    searches_of,
    tree_positions,
)
from grader.judge.support.trees import Tree

KIND = "mcts_alphaZero"
FIRST_N_MOVES = 4
STALE_GAME = "In self-play, the first search of a game continues in the tree of an earlier game, even after reset_player"


@pytest.mark.points("mcts_alphazero.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check every node of four trees.

    Accepts:
        The playout that expands the root counts as one of its visits (reference)
        The root is expanded before the first playout and has one visit fewer (search-total-value-for-the-player-to-move)
        Q is kept for the player to move, and may be a property over a sum (search-total-value-for-the-player-to-move)
        Q is None before the first visit, or an array of one (search-shares-in-play, search-noise-at-every-expansion)
        The network is evaluated before the end of the game is checked, and its value is overruled (search-published-layout)
        The search understands only a (1, 1) array, or a float as well (search-published-layout, reference)
        A playout is a loop or a recursion (reference, search-recursive)
        Boards are copied by Board.copy or copy.deepcopy (reference, search-published-layout)
        Each playout has a board of its own, or moves are taken back (reference, search-takes-moves-back)
        The handles are passed to the policy function in order or by name (reference, search-recursive)
        The value's sign is turned in the array that the network returned (search-noise-at-every-expansion)
        The root is an attribute or a property (reference, search-total-value-for-the-player-to-move)
        A property need not be settable, as the tree may be an object of its own (both-searches-hide-the-root)
        Nodes are objects, or views of lists that are cleared (reference, both-searches-in-arrays)
        Both searches import a tree from another file (both-searches-share-a-tree)
        Constructors have further parameters with defaults, and nodes further attributes (search-clean-priors-kept)
    """
    ruling.expected = "Visits count along the whole path, values change sign at each level, and priors are the network's."
    remark, finished = "", 0
    for position, n_playout in tree_positions(rng):
        seed = rng.randrange(2**31)
        ruling.evidence.setdefault("searches", []).append({**position.to_json(), "seed": seed, "n_playout": n_playout})
        reply = call(worker, "search", position=position, n_playout=n_playout, own=("board",), **player_under(seed))
        tree = Tree.from_reply(reply["tree"])
        finished += reply["finished"]
        case = SearchCase(position, seed, n_playout)
        remark = expect_sound_tree(tree, case, case.value)
    _expect_value_as_array(worker, rng)
    _expect_board_left_alone(worker, rng)
    ruling.seen = f"Four trees, all nodes. {remark}"
    if finished:
        ruling.seen += (
            f" The network was evaluated for {finished} positions in which the game was over. That changes no value here but "
            "costs time."
        )


def _expect_board_left_alone(worker: Worker, rng: Random) -> None:
    """Raise StudentFault if a search in self-play changes the board; other checks report how it fails otherwise."""
    player = player_under(rng.randrange(2**31))
    try:
        call(worker, "search", position=EMPTY_3X3, n_playout=20, is_selfplay=1, own=("board",), **player)
    except StudentFault as fault:
        if str(fault).startswith(BOARD_CHANGED):
            raise


def _expect_value_as_array(worker: Worker, rng: Random) -> None:
    """Raise StudentFault if the search fails when the value is a (1, 1) array, as policy_value_fn returns it in training."""
    player = player_under(rng.randrange(2**31))
    player["evaluator"]["value_as_array"] = True
    try:
        worker.call("search", position=EMPTY_3X3.to_json(), n_playout=20, excused=EXCUSED, **player)
    except StudentFault as fault:
        raise StudentFault(
            "The search works with a float as the value, but not with a (1, 1) array, which policy_value_fn returns "
            f"({str(fault).removesuffix('.')})."
        ) from fault


@pytest.mark.points("mcts_alphazero.agreement")
def test_agreement(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> None:
    """Compare the visits of the root's children with the reference.

    Accepts:
        N_parent counts the visit that expanded the node (reference)
        N_parent is the sum of the children's visits (search-clean-priors-kept)
        N_parent also counts the playout in progress (search-counts-on-the-way-down)
        At first the largest prior decides (search-total-value-for-the-player-to-move)
        The child is selected by max over get_value, a loop, or arrays (reference, search-recursive, search-clean-priors-kept)
        Among equal moves the first or the last is selected (reference, search-clean-priors-kept)
    """
    ruling.expected = "With a fixed evaluator the search visits the root's children as the reference does."
    found = {family: searches_of(worker, ruling, rng, oracle, KIND, family) for family in ("search", "wide")}
    searches, wide = ([search for search, _, _ in found[family]] for family in found)
    with causes_named([(case, tree) for family in found for _, case, tree in found[family]]):
        worst = expect_agreement(searches, wide, lambda: chooses_at_random(worker, rng, KIND), ruling)
    ruling.seen = f"{len(searches) + len(wide)} positions; at most {worst:.1%} of the visits differ."


@pytest.mark.points("mcts_alphazero.tactics")
def test_tactics(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check wins in one move and single blocks.

    Accepts:
        Among equal moves the first or the last is selected (reference, search-clean-priors-kept)
        The move is drawn at temperature 1e-3, or the most visited one is taken (reference, search-shares-in-play)
    """
    ruling.expected = "With equal priors and values of 0, immediate wins are taken and the only saving block on 3x3 is found."
    expect_tactics(worker, ruling, rng, {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}})


@pytest.mark.points("mcts_alphazero.reuse")
def test_reuse(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check update_with_move on its own, and that in self-play the next search keeps the visits of the child that was played.

    Accepts:
        The tree follows the moves on the board, in play too (reference, search-follows-the-game, search-clean-priors-kept)
        A move in play begins with update_with_move(board.last_move) and ends with its own move (search-published-layout)
        A child is taken out of the old tree, or stays in it (search-shares-in-play, reference)
        The new root's parent is None, or a node outside the tree (reference, search-follows-the-game)
        Each move in play begins with a new tree, or with a new MCTS (search-recursive, search-fresh-tree-in-play)
        The tree is thrown away after each move in play (search-shares-in-play, search-noise-at-every-expansion)
        A new tree has another root, or the old one that is emptied (reference, both-searches-share-a-tree)
        A dropped tree is left as it is, or taken apart node by node (reference, search-takes-moves-back)
    """
    seed = rng.randrange(2**31)
    player = player_under(seed)
    expect_reuse(worker, ruling, rng, player)
    expect_trees_of_positions(worker, rng, player)
    ruling.expected += " In self-play the next search continues in the subtree of the move played."
    n_playout = 200
    for game in range(3):
        try:
            steps = call(
                worker,
                "self_play",
                position=EMPTY_3X3,
                plies=6,
                n_playout=n_playout,
                first_n_moves=FIRST_N_MOVES,
                kept=True,
                **player,
            )
        except StudentFault as fault:
            if game:
                raise StudentFault(f"{STALE_GAME}, and fails ({fault}).") from fault
            raise StudentFault(
                f"In self-play a search that continues from the previous move fails ({fault}), as if the tree belonged to "
                "another move than the one played."
            ) from fault
        if len(steps) == 1:  # get_action fails after its search, which mcts_alphazero.temperature reports
            return
        trees = [Tree.from_reply(step["tree"]) for step in steps]
        # Without the visits of its playouts nobody knows which root was searched; mcts_alphazero.tree reports that.
        trees = list(takewhile(lambda tree: sum(tree.child_visits.values()) >= n_playout / 2, trees))
        steps = steps[: len(trees)]
        stale = "In self-play the search continues below a move other than the one played."
        expect_legal_roots(steps, trees, EMPTY_3X3, f"{STALE_GAME}." if game else stale)
        for ply, (step, tree, following) in enumerate(zip(steps, trees, trees[1:], strict=False), 1):
            carried = tree.root_visits.get(step["move"], 0.0)
            in_all = sum(following.root_visits.values())
            if carried > 5 and in_all < n_playout + carried / 2:
                position = EMPTY_3X3.after([before["move"] for before in steps[:ply]])
                new_tree = call(worker, "search", position=position, n_playout=n_playout, is_selfplay=1, **player)
                if sum(Tree.from_reply(new_tree["tree"]).child_visits.values()) < n_playout - 1:
                    return  # playouts are not counted, which mcts_alphazero.tree reports
                ruling.evidence["boards"] = [
                    position.pictured(f"Expected: {carried:g} visits and more are kept. Seen: {in_all:g} in all")
                ]
                ruling.deduct(
                    "tree_dropped_in_self_play",
                    f"update_with_move works, but the next search in self-play ends with {in_all:g} visits, not "
                    f"with {n_playout} on top of the {carried:g} of the move played. The tree is thrown away between moves, or "
                    "its visits count towards n_playout.",
                )
                return
    ruling.seen = "In self-play the visits of the moves played were carried over."
