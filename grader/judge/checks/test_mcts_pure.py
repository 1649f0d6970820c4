"""Part 2, pure MCTS: the tree, its visits, its moves and its reuse (handout 5.1).

Rollouts are random, so a student's tree is compared with the reference only where they do not matter: in late positions in
which every rollout has only one possible result, and with a c_puct so large that the bonus alone decides. Everywhere else the
checks test what must hold in any correct tree. The second value of get_action is not checked.
"""

from __future__ import annotations

from random import Random
from statistics import mean
from typing import Any

import pytest

from Board.game_board import Board
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.agreement import expect_agreement
from grader.judge.support.board_position import BoardPosition
from grader.judge.support.drawn_positions import draw_share, random_position
from grader.judge.support.oracle import Oracle
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import (
    C_PUCT,
    SearchCase,
    call,
    causes_named,
    chooses_at_random,
    expect_most_visited,
    expect_reuse,
    expect_sound_tree,
    expect_tactics,
    expect_trees_of_positions,
    searches_of,
    tree_positions,
)
from grader.judge.support.trees import (
    Tree,
    boards_of,
    expect_legal_children,
    expect_values_add_up,
    single_evaluations,
)

KIND = "mcts_pure"
MOST_VISITED = "get_action should return the most visited move of the root."
ROLLOUTS = "Check who is to move where a rollout begins, and who sees its result."
# At least 100 of the 150 playouts each roll out from a different node. By Hoeffding's inequality for the two shares, their
# difference exceeds 0.4 for a correct solution in fewer than 1 in 10^6 runs.
RANDOM_GAMES, MORE_UNDECIDED = 100, 0.4
SHORT_SEARCHES = 4  # number of searches in which moves with one visit have the largest Q


@pytest.mark.points("mcts_pure.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check every node of four trees, and the length of rollouts on a wide board.

    Accepts:
        The playout that expands the root counts as one of its visits (reference)
        The root is expanded before the first playout and has one visit fewer (pure-root-expanded-first)
        Q is kept for the player to move (pure-q-for-the-player-to-move)
        A playout is a loop or a recursion (reference, pure-root-expanded-first)
        The shares of the visits are returned with the move, as an array or a dict (pure-published-layout, pure-shares-by-move)
        The policy function is called before the end of the game is checked (pure-published-layout)
        Boards are copied by Board.copy, by copy.deepcopy, or attribute by attribute (reference, pure-published-layout,
            pure-root-expanded-first)
        The empty points of a playout's board are in any order (pure-takes-its-tree-apart)
        The search has attributes or slots (reference, pure-shares-by-move)
        The tree is thrown away before the search, or after it (pure-q-for-the-player-to-move, pure-published-layout)
        The most visited move is taken, or drawn at temperature 1e-3 (reference, pure-shares-by-move)
        Constructors have further parameters with defaults, and nodes further attributes (pure-shares-by-move)
        A new root is set before the search or after it (reference, both-searches-hide-the-root)
        The root is where the tree is, or a second name of the root of a tree object (reference, both-searches-in-arrays)
    """
    ruling.expected = "Visits count along the whole path, values change sign at each level, and priors are the policy's."
    for position, n_playout in tree_positions(rng):
        seed = rng.randrange(2**31)
        ruling.evidence.setdefault("searches", []).append({**position.to_json(), "seed": seed, "n_playout": n_playout})
        reply = _search(worker, position, seed, n_playout, C_PUCT)
        tree = Tree.from_reply(reply["tree"])
        remark = expect_sound_tree(tree, SearchCase(position, seed, n_playout), lambda board: None, ROLLOUTS)
        expect_most_visited(reply["move"], tree, position, MOST_VISITED)
    _expect_random_rollouts_to_the_end(worker, rng)
    for _ in range(SHORT_SEARCHES):
        position = random_position(rng, 6, 6, 4, 4)
        reply = _search(worker, position, rng.randrange(2**31), 60, C_PUCT)
        expect_most_visited(reply["move"], Tree.from_reply(reply["tree"]), position, MOST_VISITED)
    ruling.seen = f"Four trees, all nodes. {remark}"


def _search(worker: Worker, position: BoardPosition, seed: int, n_playout: int, c_puct: float) -> dict[str, Any]:
    player: dict[str, Any] = {"kind": KIND, "c_puct": c_puct, "evaluator": {"kind": "hash", "seed": seed}}
    return call(worker, "search", position=position, n_playout=n_playout, own=("board", "move"), **player)


def _expect_random_rollouts_to_the_end(worker: Worker, rng: Random) -> None:
    """Raise StudentFault if rollouts always play the first or the last empty point, or stop early.

    If they stop early, far more of them are undecided than random games are.
    """
    position = random_position(rng, 9, 9, 5, 0)
    reply = call(worker, "search", kind=KIND, position=position, n_playout=150, c_puct=C_PUCT, evaluator={"kind": "uniform"})
    tree = Tree.from_reply(reply["tree"])
    values = single_evaluations(tree)
    undecided = mean(abs(value) < 0.5 for value in values.values()) if values else 0.0
    drawn = draw_share(rng, position, RANDOM_GAMES)
    if undecided > drawn + MORE_UNDECIDED:
        raise StudentFault(
            f"{undecided:.0%} of the rollouts from an empty 9x9 board are worth 0, while {drawn:.0%} of random games are "
            "drawn: rollouts stop before the game is over."
        )
    boards = boards_of(tree, position)
    for place, which in ((0, "first"), (-1, "last")):
        results = {node: _played_out(boards[node].copy(), place) for node in values}
        if any(all(abs(value - sign * results[node]) < 0.5 for node, value in values.items()) for sign in (1, -1)):
            raise StudentFault(
                f"All {len(values)} rollouts from a 9x9 board end as if each move were the {which} empty point: the moves of a "
                "rollout should be random."
            )


def _played_out(board: Board, place: int) -> int:
    """Play the empty point at this place of the list until the end; return 1, 0 or -1 for the side to move before that."""
    side = board.get_current_player()
    while not board.game_end()[0]:
        board.do_move(board.availables[place])
    winner = board.game_end()[1]
    return 0 if winner == -1 else 1 if winner == side else -1


@pytest.mark.points("mcts_pure.agreement")
def test_agreement(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> None:
    """Compare the visits of the root's children with the reference where rollouts do not matter.

    Accepts:
        N_parent counts the visit that expanded the node (reference)
        N_parent is the sum of the children's visits (pure-root-expanded-first)
        Among equal moves the first is selected, or one at random (reference, pure-q-for-the-player-to-move)
        The bonus is computed by each child, or for all children at once (reference, pure-q-for-the-player-to-move)
        A tiny number keeps the square root above 0 (pure-shares-by-move)
    """
    ruling.expected = "Where rollouts do not matter, the search visits the root's children as the reference does."
    certain = searches_of(worker, ruling, rng, oracle, KIND, "certain")
    for _, case, tree in certain:
        expect_legal_children(tree, case.position)
        hint = f"Here each rollout can end in only one way. {ROLLOUTS}"
        expect_values_add_up(tree, case.position, case.value_of, hint=hint, any_unit=True)  # mcts_pure.tree checks the unit
    searches = [search for search, _, _ in certain]
    wide = [search for search, _, _ in searches_of(worker, ruling, rng, oracle, KIND, "wide")]
    with causes_named([(case, tree) for _, case, tree in certain]):
        worst = expect_agreement(searches, wide, lambda: chooses_at_random(worker, rng, KIND), ruling)
    ruling.seen = f"{len(searches) + len(wide)} positions; at most {worst:.1%} of the visits differ."


@pytest.mark.points("mcts_pure.tactics")
def test_tactics(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check wins in one move and single blocks.

    Accepts:
        A rollout draws its moves one by one, or shuffles them (reference, pure-shares-by-move)
        Any of several equal moves is selected (pure-q-for-the-player-to-move)
    """
    ruling.expected = "The search takes immediate wins (3x3 and 5x4 with 3 in a row) and finds the only saving block on 3x3."
    expect_tactics(worker, ruling, rng, {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}})


@pytest.mark.points("mcts_pure.reuse")
def test_reuse(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check update_with_move after a search, and that each move is searched in a tree of its own position.

    Accepts:
        get_action throws the tree away, and update_with_move keeps it (reference, pure-root-expanded-first)
        The child is found by `in`, or by dict.get (reference, pure-q-for-the-player-to-move, pure-shares-by-move)
        A new tree has another root, or the old one that is emptied (reference, both-searches-share-a-tree)
        A dropped tree is left as it is, or taken apart node by node (reference, pure-takes-its-tree-apart)
    """
    player = {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}}
    expect_reuse(worker, ruling, rng, player)
    expect_trees_of_positions(worker, rng, player)
