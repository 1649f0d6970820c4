"""The games of the cases on the student's board of NoGo."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from grader.confinement.worker_client import Worker
from grader.judge.support.ruling import Ruling
from labs.support.boards import LATE, LabPosition, Tally, Walk, walks
from labs.support.cases import Case, Cases

BOARD = "NoGo.board.Board"
LEGAL, TAKEN, SUICIDE, CAPTURE = range(4)
LATE_MOVES = 40  # that the student's board must follow, so that there is enough to judge


def followed_games(
    worker: Worker, ruling: Ruling, cases: Cases, rng: Random, games: int, *watch: str, ends: int = 0
) -> Iterator[tuple[Case, Walk, Tally]]:
    """Yield random games, each as far as the student's board lists its moves.

    Args:
        watch: what the board is to show besides `availables`.
        ends: how many ends of games the caller must add to the tally.

    Raises:
        StudentFault: the board followed so little that nothing can be judged, after all games have been yielded.
    """
    tally = Tally({LATE: LATE_MOVES, "ends": ends})

    def draw() -> tuple[LabPosition, Case]:
        case = cases.draw("game", rng)
        position = LabPosition.of(BOARD, case)
        ruling.evidence["game"] = position.to_json()
        return position, case

    for case, walk in walks(worker, draw, games, tally, *watch):
        yield case, walk, tally


def legal_at(case: Case, ply: int) -> list[int]:
    """Return the legal moves at a ply of a game."""
    legal: list[int] = np.flatnonzero(case["why"][ply] == LEGAL).tolist()
    return legal
