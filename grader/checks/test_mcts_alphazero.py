"""Part 2, AlphaZero MCTS: tree, agreement with the reference, moves, reuse, noise, temperature (handout 5.4)."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from Board.game_board import Board
from grader.checks.agreement import Search, expect_agreement
from grader.checks.conftest import Ruling
from grader.checks.positions import random_position
from grader.checks.test_mcts_pure import (
    C_PUCT,
    expect_priors,
    expect_reuse,
    expect_tactics,
    tree_positions,
)
from grader.checks.trees import (
    Tree,
    board_at,
    expect_finished_games_to_end,
    expect_legal_children,
    expect_values_add_up,
    expect_visits_add_up,
    most_visited,
)
from grader.errors import StudentFault
from grader.worker import hash_priors_and_value
from grader.worker_client import Worker

KIND = "mcts_alphaZero"
NOISE_SHARE = 0.25
FIRST_N_MOVES = 4
PLAYED = 6  # positions in play
DRAWN_CHANCE = 1e-5  # what an honest draw is accused wrongly with


def hash_evaluate(seed: int) -> Any:
    """The trusted side of the worker's `hash` evaluator."""

    def evaluate(board: Board) -> tuple[Any, float]:
        legal = list(board.availables)
        priors, value = hash_priors_and_value(list(board.states.items()), board.get_current_player(), legal, seed)
        return zip(legal, priors, strict=True), value

    return evaluate


def call_search(worker: Worker, position: dict[str, Any], seed: int, n_playout: int, **more: Any) -> dict[str, Any]:
    """One search of the student's under the hash evaluator.

    The interface lets an evaluator's value be a float or a (1, 1) array, and a network decides which; a search that
    understands one of the two is right.
    """
    arguments = {"kind": KIND, "position": position, "n_playout": n_playout, "c_puct": C_PUCT, **more}
    try:
        return worker.call("search", evaluator={"kind": "hash", "seed": seed}, **arguments)
    except StudentFault as fault:
        if not str(fault).startswith(("TypeError", "IndexError", "AttributeError")):
            raise
        try:
            evaluator = {"kind": "hash", "seed": seed, "value_as_array": True}
            return worker.call("search", evaluator=evaluator, **arguments)
        except StudentFault:
            raise fault from None


@pytest.mark.points("mcts_alphazero.tree")
def test_tree(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "Visits are counted on the whole path, values turn their sign at each level, priors are the network's."
    remark = ""
    for position, n_playout in tree_positions(rng):
        seed = rng.randrange(2**31)
        reply = call_search(worker, position, seed, n_playout)
        tree = Tree.from_reply(reply["tree"])
        verdict.evidence.setdefault("searches", []).append({**position, "seed": seed, "n_playout": n_playout})
        expect_visits_add_up(tree, n_playout)
        expect_legal_children(tree, position)
        expect_priors(tree, position, seed)
        evaluate = hash_evaluate(seed)
        remark = expect_values_add_up(tree, position, lambda board, evaluate=evaluate: evaluate(board)[1])
        expect_finished_games_to_end(tree, position)
    verdict.seen = f"Four trees, all nodes. {remark}"


@pytest.mark.points("mcts_alphazero.agreement")
def test_agreement(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "Under a fixed evaluator the root's children are visited as by the reference."
    searches = []
    for width, height, n_in_row in ((3, 3, 3), (3, 3, 3), (4, 3, 3), (5, 5, 4), (6, 6, 4), (6, 5, 4)):
        position = random_position(rng, width, height, n_in_row, rng.randrange(0, 6))
        seed, n_playout = rng.randrange(2**31), rng.choice((100, 200, 400))
        reply = call_search(worker, position, seed, n_playout)
        seen = Tree.from_reply(reply["tree"]).root_visits
        searches.append(Search(seen, position, hash_evaluate(seed), n_playout, C_PUCT))
        verdict.evidence.setdefault("searches", []).append({**position, "seed": seed, "n_playout": n_playout})
    worst = expect_agreement(searches)
    verdict.seen = f"6 positions; at most {worst:.1%} of the visits differ."


@pytest.mark.points("mcts_alphazero.tactics")
def test_tactics(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "With equal priors and values of 0: immediate wins are taken, the only saving block on 3x3 is found."
    expect_tactics(worker, verdict, rng, {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "uniform"}})


@pytest.mark.points("mcts_alphazero.reuse")
def test_reuse(worker: Worker, verdict: Ruling, rng: Random) -> None:
    """The method by itself, then what self-play makes of it: the next search starts from the played child's visits."""
    seed = rng.randrange(2**31)
    player = {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "hash", "seed": seed}}
    expect_reuse(worker, verdict, rng, player)
    _expect_trees_of_the_positions(worker, rng, player)
    verdict.expected += " In self-play the next search goes on in the subtree of the move played."
    n_playout = 200
    position = {"width": 3, "height": 3, "n_in_row": 3, "moves": []}
    for _ in range(3):
        try:
            steps = worker.call(
                "self_play", position=position, plies=6, n_playout=n_playout, first_n_moves=FIRST_N_MOVES, **player
            )
        except StudentFault as fault:
            raise StudentFault(
                f"In self-play a search that goes on from the move before breaks off ({fault}): as if the tree were that of "
                "another move than the one played."
            ) from fault
        trees = [Tree.from_reply(step["tree"]) for step in steps]
        _expect_legal_roots(steps, trees, position, "In self-play the search goes on below another move than the one played.")
        for step, tree, following in zip(steps, trees, trees[1:], strict=False):
            carried = tree.root_visits.get(step["move"], 0.0)
            if carried > 5 and following.visits[0] < n_playout + carried / 2:
                verdict.partial(
                    0.5,
                    f"update_with_move works, but in self-play the tree is thrown away between moves: {carried:g} visits of "
                    "the move played were not carried over.",
                )
                return
    verdict.seen = "In self-play the visits of the moves played were carried over."


def _expect_trees_of_the_positions(worker: Worker, rng: Random, player: dict[str, Any]) -> None:
    """In play too the tree has to be that of the position on the board, whether it is fresh or has followed both moves."""
    stale = "In play the search goes on in the tree of an earlier position"
    position = random_position(rng, 5, 4, 4, 2)
    try:
        steps = worker.call("self_play", position=position, plies=4, in_play=True, n_playout=60, **player)
    except StudentFault as fault:
        raise StudentFault(f"{stale}, as if the opponent had not moved, and breaks off ({fault}).") from fault
    trees = [Tree.from_reply(step["tree"]) for step in steps]
    _expect_legal_roots(steps, trees, position, f"{stale}, as if the opponent had not moved.", answered=True)


def _expect_legal_roots(
    steps: list[dict[str, Any]], trees: list[Tree], position: dict[str, Any], message: str, answered: bool = False
) -> None:
    """StudentFault unless each root's children are the legal moves; `answered`: by moves at the lowest empty point."""
    board = board_at(position)
    for step, tree in zip(steps, trees, strict=True):
        if set(tree.root_visits) != set(board.availables):
            raise StudentFault(message)
        for move in (step["move"], min(set(board.availables) - {step["move"]}, default=-1))[: 1 + answered]:
            if not board.game_end()[0]:
                board.do_move(move)


@pytest.mark.points("mcts_alphazero.noise")
def test_noise(worker: Worker, verdict: Ruling, rng: Random) -> None:
    """Self-play's root priors must be 0.75 p + 0.25 eta with eta on the simplex, fresh each time; in play they are p."""
    verdict.expected = "In self-play the root's priors are 0.75 p + 0.25 Dirichlet(0.3), drawn afresh; in play they are p."
    position, seed = random_position(rng, 5, 5, 4, 4), rng.randrange(2**31)
    board = board_at(position)
    legal = list(board.availables)
    clean, _ = hash_priors_and_value(list(board.states.items()), board.get_current_player(), legal, seed)

    def root_priors(is_selfplay: int) -> np.ndarray:
        tree = Tree.from_reply(call_search(worker, position, seed, 60, is_selfplay=is_selfplay)["tree"])
        found = tree.root_priors
        verdict.expect(set(found) == set(legal), "The root's children should be exactly the legal moves.")
        return np.array([found[move] for move in legal])

    verdict.expect(
        bool(np.abs(root_priors(0) - clean).max() < 1e-4),
        "In play (is_selfplay=0) there should be no noise in the priors.",
    )
    draws = [(root_priors(1) - (1 - NOISE_SHARE) * clean) / NOISE_SHARE for _ in range(6)]
    plain = [bool(np.abs(noise - clean).max() < 1e-3) for noise in draws]
    if all(plain):
        _noise_elsewhere(worker, verdict, seed)
        return
    for noise in draws:
        if noise.min() < -1e-3 or abs(noise.sum() - 1) > 1e-2:
            raise StudentFault("The root's priors in self-play are no mixture of 0.75 p and 0.25 of a distribution.")
    spread = max(float(np.abs(a - b).max()) for a, b in pairwise(draws))
    verdict.expect(spread > 1e-3, "The noise is the same in each search; it should be drawn afresh.")
    # Dirichlet(0.3) over some twenty moves puts most of its weight on a few; Dirichlet(10) would be nearly flat.
    largest = float(np.mean([noise.max() for noise in draws]))
    verdict.seen = f"The noise's largest entry is {largest:.2f} on average over {len(legal)} moves."
    if largest < 0.15:
        verdict.partial(0.5, f"The noise is far flatter than Dirichlet(0.3): its largest entry is {largest:.2f} on average.")


def _noise_elsewhere(worker: Worker, verdict: Ruling, seed: int) -> None:
    """No noise in the priors: either there is none, or it is mixed in where the move is drawn."""
    position = {"width": 3, "height": 3, "n_in_row": 3, "moves": []}
    player = {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "hash", "seed": seed}}
    unlikely = 0
    for _ in range(12):
        # After the first n moves the visits alone would always give the most visited move.
        steps = worker.call("self_play", position=position, plies=9, n_playout=60, first_n_moves=0, **player)
        for step in steps:
            visits = Tree.from_reply(step["tree"]).root_visits
            unlikely += step["move"] not in most_visited(visits)
    if not unlikely:
        raise StudentFault("In self-play the root's priors are the evaluator's: there is no Dirichlet noise.")
    verdict.partial(
        0.5,
        "There is noise, but in the wrong place: it is mixed in where the move is drawn, so that the search itself never "
        "explores. It belongs into the root's priors.",
    )


@pytest.mark.points("mcts_alphazero.temperature")
def test_temperature(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = (
        f"In self-play probs are the visits' shares for the first first_n_moves ({FIRST_N_MOVES}) moves and all on the most "
        "visited later; in play always so. Taken points have probability 0."
    )
    seed, start = rng.randrange(2**31), {"width": 3, "height": 3, "n_in_row": 3, "moves": []}
    player = {"kind": KIND, "c_puct": C_PUCT, "evaluator": {"kind": "hash", "seed": seed}}
    _expect_most_visited_in_play(worker, rng)
    first_moves, always_most = set(), 1.0
    for _ in range(8):
        steps = worker.call("self_play", position=start, plies=7, n_playout=80, first_n_moves=FIRST_N_MOVES, **player)
        verdict.expect(bool(steps), "In self-play no move was made.")
        taken: list[int] = []
        for ply, step in enumerate(steps):
            _expect_distribution(step["probs"], 9, taken)
            visits = Tree.from_reply(step["tree"]).root_visits
            shares = np.array([visits.get(move, 0.0) for move in range(9)]) / max(1.0, sum(visits.values()))
            probs = np.asarray(step["probs"])
            if ply < FIRST_N_MOVES and np.abs(probs - shares).max() > 0.02:
                raise StudentFault(f"At move {ply + 1} of self-play (temperature 1) probs are not the shares of the visits.")
            if ply >= FIRST_N_MOVES and not _on_most_visited(probs, visits):
                raise StudentFault(
                    f"At move {ply + 1} of self-play (temperature 1e-3 after {FIRST_N_MOVES} moves) probs are not all on "
                    "the most visited move."
                )
            if ply < FIRST_N_MOVES:
                # How likely it is that moves drawn by these probabilities are all most visited ones.
                top = visits.get(step["move"], 0.0) >= max(visits.values())
                always_most *= (
                    float(sum(probs[move] for move in visits if visits[move] >= max(visits.values()))) if top else 0.0
                )
            taken.append(step["move"])
        first_moves.add(steps[0]["move"])
    verdict.expect(
        not 0 < always_most < DRAWN_CHANCE,
        "At temperature 1 the move should be drawn by its probability; in 8 games it was always the most visited one.",
    )
    verdict.seen = f"8 games of self-play began with {len(first_moves)} different moves."


def _expect_most_visited_in_play(worker: Worker, rng: Random) -> None:
    """In several positions, since a move drawn by the visits' shares may be the most visited one by luck."""
    for _ in range(PLAYED):
        position = random_position(rng, 5, 4, 4, 3)
        try:
            reply = call_search(worker, position, rng.randrange(2**31), 150)
        except StudentFault as fault:
            if "NaN" not in str(fault):
                raise
            raise StudentFault(f"{fault} The exponential of a large number overflows: log(visits) / 1e-3 is large.") from None
        _expect_distribution(reply["probs"], 20, position["moves"])
        visits = Tree.from_reply(reply["tree"]).root_visits
        if not _on_most_visited(np.asarray(reply["probs"]), visits):
            raise StudentFault("In play (temperature 1e-3) probs should be all on the most visited move.")
        if reply["move"] not in most_visited(visits):
            raise StudentFault(
                "In play (temperature 1e-3) the move should be the most visited one, as probs say; it was drawn otherwise."
            )


def _expect_distribution(probs: Any, points: int, taken: list[int]) -> None:
    if probs is None or np.asarray(probs).shape != (points,):
        raise StudentFault(f"get_action should return probs of length width * height = {points}.")
    probs = np.asarray(probs, dtype=float)
    if not np.all(np.isfinite(probs)) or probs.min() < -1e-9 or abs(probs.sum() - 1) > 1e-3:
        raise StudentFault("The probs of get_action should be a distribution: not negative, with sum 1.")
    if any(probs[move] > 1e-9 for move in taken):
        raise StudentFault("The probs of get_action should be 0 on taken points.")


def _on_most_visited(probs: np.ndarray, visits: dict[int, float]) -> bool:
    return float(probs[list(most_visited(visits))].sum()) > 0.99
