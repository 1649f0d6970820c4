"""A copy of a student's board is equal to its original, and neither shows what happens on the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.support.boards import Values, Walk

SEPARATE = 6  # moves that one board plays before its copy, or the other way round
PAIRS = (
    ("original", "copy", "the copy differs from its original in"),
    ("original", "original later", "moves on the copy change the original's"),
    ("original", "copy later", "moves on the original change the copy's"),
    ("alone", "original moved", "earlier moves on the copy change what a move on the original does to"),
    ("alone", "copy moved", "earlier moves on the original change what a move on the copy does to"),
)


def judge_copies(
    worker: Worker, ruling: Ruling, rng: Random, lines: Iterable[tuple[Walk, Sequence[np.ndarray]]], watch: Sequence[str]
) -> None:
    """Raise StudentFault unless copies are independent, each in a random position of a line.

    Args:
        lines: a line, and for each of its plies which actions are legal, [actions] bool.
        watch: what has to be equal and stay as it is; see `grader.confinement.boards.watched`.
    """
    judged = 0
    for walk, legal in lines:
        if not walk.plies:
            continue
        ply = rng.randrange(walk.plies)
        start = walk.position.before(ply)
        ruling.evidence["copy"] = start
        steps, listed = walk.next_moves(ply, SEPARATE), walk.listed(ply)
        others = [move for move in np.flatnonzero(legal[ply]).tolist() if move in listed and move not in steps]
        shown = worker.call("copies", position=start, steps=steps, other=rng.choice(others or steps[:1]), watch=watch)
        _expect_apart(walk.position.after(ply), shown)
        judged += 1
    ruling.seen = f"Independent copies in {judged} positions."


def _expect_apart(place: str, shown: Mapping[str, Values]) -> None:
    for first, second, words in PAIRS:
        for name, value in shown[first].items():
            if not np.array_equal(value, shown[second][name]):
                raise StudentFault(f"{place}, {words} {name}. Copy every list, dict and set, and what they hold.")
