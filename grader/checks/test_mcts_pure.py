"""Part 2, pure MCTS: the tree, its visits, its moves, its reuse (handout 5.1).

Rollouts are random, so a student's tree is compared with the reference only in late positions where every rollout has one
possible result; everywhere else it is asked what must hold in any right tree.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from Board.game_board import Board
from grader.checks.agreement import Search, expect_agreement
from grader.checks.conftest import Ruling
from grader.checks.positions import (
    block_position,
    certain_position,
    draw_share,
    drawn_position,
    random_position,
    wide_win_position,
    win_position,
)
from grader.checks.trees import (
    Tree,
    board_at,
    boards_of,
    expect_finished_games_to_end,
    expect_legal_children,
    expect_values_add_up,
    expect_visits_add_up,
    most_visited,
    undecided_share,
)
from grader.errors import StudentFault
from grader.worker import hash_priors_and_value
from grader.worker_client import Worker

C_PUCT = 5.0
ROLLOUTS = "Mind who is to move where a rollout begins, and who sees its result."


@pytest.mark.points("mcts_pure.tree")
def test_tree(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "Visits are counted on the whole path, values turn their sign at each level, priors are the policy's."
    for position, n_playout in tree_positions(rng):
        seed = rng.randrange(2**31)
        reply = worker.call(
            "search",
            kind="mcts_pure",
            position=position,
            n_playout=n_playout,
            c_puct=C_PUCT,
            evaluator={"kind": "hash", "seed": seed},
        )
        tree = Tree.from_reply(reply["tree"])
        expect_visits_add_up(tree, n_playout)
        expect_legal_children(tree, position)
        expect_priors(tree, position, seed)
        remark = expect_values_add_up(tree, position, lambda board: None, hint=ROLLOUTS)
        expect_finished_games_to_end(tree, position)
        most = max(tree.root_visits.values())
        verdict.expect(
            tree.root_visits.get(reply["move"]) == most, "get_action should return the most visited move of the root."
        )
        verdict.expect(reply["probs"] is None, "get_action of pure MCTS should return (move, None).")
    _expect_rollouts_to_the_end(worker, rng)
    verdict.seen = f"Four trees, all nodes. {remark}"


def tree_positions(rng: Random) -> list[tuple[dict[str, Any], int]]:
    """Positions and playouts; from the last one draws are near."""
    sizes = ((3, 3, 3, 0, 300), (3, 3, 3, 3, 200), (5, 4, 4, 6, 250))
    return [(random_position(rng, *size), n_playout) for *size, n_playout in sizes] + [(drawn_position(rng), 120)]


def _expect_rollouts_to_the_end(worker: Worker, rng: Random) -> None:
    """StudentFault for rollouts that are broken off: on a wide board far more of them are undecided than of random games."""
    position = random_position(rng, 9, 9, 5, 0)
    arguments = {"kind": "mcts_pure", "n_playout": 150, "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}}
    undecided = undecided_share(Tree.from_reply(worker.call("search", position=position, **arguments)["tree"]))
    drawn = draw_share(rng, position, 60)
    # Both are shares of 60 games at least: an honest difference of 0.4 is beyond six standard deviations.
    if undecided > drawn + 0.4:
        raise StudentFault(
            f"{undecided:.0%} of the rollouts from an empty 9x9 board are worth 0, while {drawn:.0%} of random games are "
            "drawn: rollouts are broken off before the game is over."
        )


def expect_priors(tree: Tree, position: dict[str, Any], seed: int) -> None:
    """StudentFault unless the children of every node carry the priors that the policy function gives for its position."""
    for node, board in boards_of(tree, position).items():
        children = tree.children(node)
        if not children.size:
            continue
        legal = list(board.availables)
        priors, _ = hash_priors_and_value(list(board.states.items()), board.get_current_player(), legal, seed)
        expected = dict(zip(legal, priors, strict=True))
        for child in children:
            move, prior = int(tree.move[child]), float(tree.prior[child])
            if abs(prior - expected.get(move, prior)) > 1e-4:
                raise StudentFault(
                    f"The node after moves {tree.path(int(child))} below the root has prior {prior:.4f}; the policy function "
                    f"gave {expected[move]:.4f}."
                )


@pytest.mark.points("mcts_pure.agreement")
def test_agreement(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "Where every rollout has one possible result, the root's children are visited as by the reference."
    searches, trees = [], []
    for number in range(12):
        # In some positions it also counts who begins a rollout: first player 1, then player 2.
        position, values = certain_position(rng, mover=(1, 2)[number % 2] if number < 6 else None)
        seed, n_playout, c_puct = rng.randrange(2**31), rng.choice((40, 150, 300)), rng.choice((1.0, 5.0))
        reply = worker.call(
            "search",
            kind="mcts_pure",
            position=position,
            n_playout=n_playout,
            c_puct=c_puct,
            evaluator={"kind": "hash", "seed": seed},
        )
        tree = Tree.from_reply(reply["tree"])
        seen, start = tree.root_visits, len(position["moves"])

        def value_of(board: Board, start: int = start, values: Any = values) -> float | None:
            return values.get(tuple(board.states)[start:])

        def evaluate(board: Board, value_of: Any = value_of, seed: int = seed) -> Any:
            legal = list(board.availables)
            priors, _ = hash_priors_and_value(list(board.states.items()), board.get_current_player(), legal, seed)
            return zip(legal, priors, strict=True), value_of(board) or 0.0

        searches.append(Search(seen, position, evaluate, n_playout, c_puct))
        verdict.evidence.setdefault("positions", []).append({**position, "n_playout": n_playout, "c_puct": c_puct})
        trees.append((tree, position, value_of))
    for tree, position, value_of in trees:
        expect_legal_children(tree, position)
        expect_values_add_up(tree, position, value_of, hint=f"Each rollout can end in one way only here. {ROLLOUTS}")
    worst = expect_agreement(searches)
    verdict.seen = f"12 positions; at most {worst:.1%} of the visits differ."


@pytest.mark.points("mcts_pure.tactics")
def test_tactics(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "Immediate wins are taken (3x3 and 5x4 with 3 in a row) and the only saving block on 3x3 is found."
    expect_tactics(worker, verdict, rng, {"kind": "mcts_pure", "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}})


def expect_tactics(worker: Worker, verdict: Ruling, rng: Random, player: dict[str, Any]) -> None:
    """Wins must all be found; one block of the eight may be missed, since rollouts are dice."""
    small = [win_position(rng) for _ in range(6)]
    large = [wide_win_position(rng) for _ in range(6)]
    blocks = [block_position(rng) for _ in range(8)]
    moves = [searched_move(worker, p, 400, player) for p, _ in small]
    moves += [searched_move(worker, p, 800, player) for p, _ in large]
    for move, (position, wins) in zip(moves, small + large, strict=True):
        verdict.expect(
            move in wins,
            f"After moves {position['moves']} on {position['width']}x{position['height']} {move} was played; "
            f"{' or '.join(map(str, wins))} wins at once.",
        )
    answers = [searched_move(worker, p, 1000, player) for p, _ in blocks]
    missed = [(p, m, b) for m, (p, b) in zip(answers, blocks, strict=True) if m != b]
    verdict.seen = f"{len(moves)} wins of {len(moves)}, {len(blocks) - len(missed)} blocks of {len(blocks)}."
    if len(missed) > 1:
        position, move, block = missed[0]
        raise StudentFault(
            f"{len(missed)} of {len(blocks)} blocks were missed, for example after moves {position['moves']} on 3x3: "
            f"{move} was played, only {block} does not lose."
        )


def searched_move(worker: Worker, position: dict[str, Any], n_playout: int, player: dict[str, Any]) -> int:
    """The move of a fresh player, which must come out of the tree that it searched: a solver of tic-tac-toe is no search."""
    reply = worker.call("search", position=position, n_playout=n_playout, **player)
    tree = Tree.from_reply(reply["tree"])
    expect_visits_add_up(tree, n_playout)
    expect_legal_children(tree, position)
    if reply["move"] not in most_visited(tree.root_visits):
        raise StudentFault(
            f"After moves {position['moves']} {reply['move']} was played, not the most visited move of the tree."
        )
    return reply["move"]


@pytest.mark.points("mcts_pure.reuse")
def test_reuse(worker: Worker, verdict: Ruling, rng: Random) -> None:
    expect_reuse(worker, verdict, rng, {"kind": "mcts_pure", "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}})


def expect_reuse(worker: Worker, verdict: Ruling, rng: Random, player: dict[str, Any]) -> None:
    """update_with_move of a searched tree: the child becomes the root; -1 or no child gives a new root."""
    verdict.expected = "update_with_move(child) makes that child the root; -1 or an unknown move a new root."
    position, n_playout = random_position(rng, 3, 3, 3, 2), 200
    seen = worker.call("advance", position=position, n_playout=n_playout, **player)
    searched, kept = Tree.from_reply(seen["searched"]), Tree.from_reply(seen["kept"]["tree"])
    for name, call in (("reset", "update_with_move(-1)"), ("unknown", "update_with_move of a move that is no child")):
        new = Tree.from_reply(seen[name]["tree"])
        verdict.expect(new.visits[0] <= 1 and len(new.parent) == 1, f"{call} should start from a new root.")
    visits = searched.root_visits
    verdict.expect(
        set(visits) == set(board_at(position).availables) and sum(visits.values()) >= n_playout / 2,
        f"After {n_playout} playouts the root's children should be the legal moves, with their visits.",
    )
    verdict.expect(seen["move"] in visits, f"The tree was told {seen['move']}, which is no child of its root.")
    before = searched.below(next(int(i) for i in searched.children(0) if searched.move[i] == seen["move"]))
    same = np.array_equal(before.visits, kept.visits) and np.array_equal(before.move[1:], kept.move[1:])
    verdict.expect(same, "update_with_move(move) throws the searched subtree away instead of keeping the child's.")
    verdict.expect(
        not seen["kept"]["has_parent"], "update_with_move(move) should cut the new root off from its parent (_parent = None)."
    )
    verdict.seen = f"The child with {before.visits[0]:g} visits became the root."
