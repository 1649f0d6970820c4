"""The student's own search with the network in the worker, as an agent for playing every line of replies on 3x3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.board_position import BoardPosition
from grader.judge.support.searches import EXCUSED
from grader.judge.support.trees import most_visited
from training.exact import ChooseMoves, Line

CALL_LIMIT_S = 600.0


def own_agent(worker: Worker, n_playout: int, asked: dict[Line, dict[int, float]] | None = None) -> ChooseMoves:
    """Return an agent that plays by the student's own search with the network in the worker.

    Args:
        asked: filled with the visits of the root's moves in every position that is searched.
    """
    asked = {} if asked is None else asked

    def agent(lines: Sequence[Line]) -> list[int]:
        chosen = choose_moves(worker, [position_of(line) for line in lines], n_playout)
        for line, reply in zip(lines, chosen, strict=True):
            if reply["move"] not in set(range(9)) - set(line):
                raise StudentFault(f"The player played {reply['move']} after moves {list(line)}, which is not an empty point.")
            asked[tuple(line)] = visits_of(reply)
        return [reply["move"] for reply in chosen]

    return agent


def choose_moves(worker: Worker, positions: list[BoardPosition], n_playout: int) -> list[dict[str, Any]]:
    """Return the move that a new player chooses in each position, with the visits of its root's moves."""
    chosen = worker.call(
        "choose",
        limit_s=CALL_LIMIT_S,
        positions=[position.to_json() for position in positions],
        kind="mcts_alphaZero",
        n_playout=n_playout,
        c_puct=5.0,
        evaluator={"kind": "network"},
        excused=EXCUSED,
    )
    if len(chosen) != len(positions):
        raise StudentFault(f"{len(positions)} positions got {len(chosen)} moves.")
    return chosen


def visits_of(reply: dict[str, Any]) -> dict[int, float]:
    """Return the visits of the root's moves; raise StudentFault unless the move played is the most visited one."""
    moves, visits = reply["moves"].reshape(-1), reply["visits"].reshape(-1)
    if len(moves) != len(visits) or not 0 < len(moves) <= 9 or not np.isfinite(visits).all():
        raise StudentFault("The root's moves and visits could not be read from _children and _n_visits.")
    found = dict(zip(map(int, moves), map(float, visits), strict=True))
    if reply["move"] not in most_visited(found):
        raise StudentFault(f"The player played {reply['move']}, which is not the most visited move of its tree.")
    return found


def position_of(line: Line) -> BoardPosition:
    """Return the tic-tac-toe position after these moves."""
    return BoardPosition(3, 3, 3, tuple(line))
