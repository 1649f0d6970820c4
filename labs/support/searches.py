"""A student's AlphaZero search on a student's board: the numbers of its tree, wins in one move, losses to avoid."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from grader.confinement.plain import hash_priors_and_value
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from grader.judge.support.trees import (
    Tree,
    expect_finished_games_to_end,
    expect_legal_children,
    expect_values_add_up,
    expect_visits_add_up,
)
from labs.support.boards import LabPosition, told_about
from labs.support.cases import Case

KIND = "mcts_alphaZero"
C_PUCT = 3.0
SHOWN_MOVES = 8  # of a list of right moves in a message


@dataclass(frozen=True)
class KnownStart:
    """A position of a search whose board is known.

    Attributes:
        known: the board, ours or what a student's own board tells.
    """

    known: Any

    def board(self) -> Any:
        """Return a board in this position."""
        return self.known.copy()


def searched(worker: Worker, position: LabPosition, evaluator: dict[str, Any], n_playout: int) -> dict[str, Any]:
    """Call get_action of a new player in play; return its move, its probabilities and its tree."""
    reply: dict[str, Any] = worker.call(
        "search", position=position.to_json(), evaluator=evaluator, kind=KIND, c_puct=C_PUCT, n_playout=n_playout
    )
    return reply


def expect_sound_search(worker: Worker, position: LabPosition, ours: Any, rng: Random, *, n_playout: int, actions: int) -> None:
    """Raise StudentFault unless the tree of one search adds up and its probabilities are right.

    Args:
        ours: a board of ours in this position, or None in a kit.
        actions: the length of the probabilities that get_action returns.
    """
    seed = rng.randrange(2**31)
    reply = searched(worker, position, {"kind": "hash", "seed": seed}, n_playout)
    tree = Tree.from_reply(reply["tree"])
    expect_visits_add_up(tree, n_playout)
    start = KnownStart(ours if ours is not None else told_about(tree, position, worker))
    expect_finished_games_to_end(tree, start)
    expect_legal_children(tree, start)

    def own_value(board: Any) -> float:
        stones, side = list(board.states.items()), board.get_current_player()
        return float(hash_priors_and_value(stones, side, list(board.availables), seed)[1])

    expect_values_add_up(tree, start, own_value)
    _expect_probabilities(reply["probs"], reply["move"], start.board().availables, actions)


def _expect_probabilities(probs: np.ndarray | None, move: int, legal: Collection[int], actions: int) -> None:
    if probs is None or probs.shape != (actions,):
        got = "nothing" if probs is None else f"{probs.shape[0]} of them"
        raise StudentFault(f"get_action returns the probabilities of all {actions} actions of the board; got {got}.")
    if not np.isfinite(probs).all() or abs(float(probs.sum()) - 1.0) > 1e-3 or (probs < 0).any():
        raise StudentFault("The probabilities that get_action returns must lie in [0, 1] and sum to 1.")
    if wrong := [action for action in np.flatnonzero(probs > 0).tolist() if action not in legal]:
        raise StudentFault(f"get_action gives a probability to illegal actions: {wrong[:SHOWN_MOVES]}.")
    if move not in legal:
        raise StudentFault(f"get_action returned {move}, which is not a legal action.")


def expect_right_moves(
    worker: Worker, ruling: Ruling, cases: list[tuple[LabPosition, Case]], *, n_playout: int, what: str
) -> None:
    """Raise StudentFault unless the search plays one of the right moves of each case.

    Args:
        what: what the right moves do, such as `wins at once`.
    """
    for position, case in cases:
        reply = searched(worker, position, {"kind": "uniform"}, n_playout)
        right = [int(move) for move in case["right"]]
        if reply["move"] not in right:
            ruling.evidence.setdefault("searches", []).append({**position.to_json(), "right": right, "played": reply["move"]})
            names = ", ".join(position.name(move) for move in right[:SHOWN_MOVES])
            raise StudentFault(
                f"{position.after(len(position.moves))}, {names} {what}; your search played {position.name(reply['move'])} "
                f"after {n_playout} playouts. {_ending(worker, position, [right[0], reply['move']])} "
                f"If that is right, check who sees the result of a finished game."
            )


def _ending(worker: Worker, position: LabPosition, moves: list[int]) -> str:
    """Return what the student's board says after the first of these moves that ends the game, or after the first move."""
    replies = worker.call("follow", position=position.to_json(), lines=[[move] for move in moves], watch=["game_end"])
    told = {}
    for move, reply in zip(moves, replies, strict=True):
        over, winner = np.resize(reply["seen"][-1]["game_end"], 2)
        won = "the game is a draw" if winner == -1 else f"player {winner:g} has won"
        told[move] = won if over and not reply["fault"] else ""
    move = next((move for move in moves if told[move]), moves[0])
    return f"After {position.name(move)}, game_end of your board says that {told[move] or 'the game goes on'}."
