"""The games of the cases on the student's board of NoGo."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from grader.confinement.worker_client import Worker
from grader.judge.support.ruling import Ruling
from labs.support.boards import LabPosition, Tally, Walk, walks
from labs.support.cases import Case

BOARD = "NoGo.board.Board"
LEGAL, TAKEN, SUICIDE, CAPTURE = range(4)
LATE_MOVES = 40  # that the student's board must follow, so that there is enough to judge


def followed_games(
    worker: Worker, ruling: Ruling, draw: Callable[[], Case], games: int, tally: Tally, *watch: str
) -> Iterator[tuple[Case, Walk]]:
    """Yield random games, each as far as the student's board lists its moves.

    Args:
        watch: what the board is to show besides `availables`.

    Raises:
        StudentFault: the board followed so little that nothing can be judged, after all games have been yielded.
    """

    def start() -> tuple[LabPosition, Case]:
        case = draw()
        position = LabPosition.of(BOARD, case)
        ruling.evidence["game"] = position.to_json()
        return position, case

    yield from walks(worker, start, games, tally, *watch)


def legal_at(case: Case, ply: int) -> list[int]:
    """Return the legal moves at a ply of a game."""
    legal: list[int] = np.flatnonzero(case["why"][ply] == LEGAL).tolist()
    return legal
