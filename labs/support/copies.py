"""A copy of a student's board is equal to its original, and neither shows what happens on the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.support.boards import Values, Walk

SEPARATE = 8  # moves that one board plays before its copy, or the other way round
SHARED = "Copy every list, dict and set, and what they hold."
IN_THE_CLASS = "Keep what belongs to one board in self, not in the class."
LACKING = "It lacks something that the original knows."
PAIRS = (
    ("alone", "beside a new board", "a new board changes what a move on this one does to", IN_THE_CLASS),
    ("original", "original later", "moves on the copy change the original's", SHARED),
    ("original", "copy later", "moves on the original change the copy's", SHARED),
    ("alone", "original moved", "earlier moves on the copy change what a move on the original does to", SHARED),
    ("alone", "copy moved", "earlier moves on the original change what a move on the copy does to", SHARED),
)


def judge_copies(
    worker: Worker,
    ruling: Ruling,
    rng: Random,
    lines: Iterable[tuple[Walk, np.ndarray, Sequence[int]]],
    watch: Sequence[str],
) -> None:
    """Raise StudentFault unless copies are equal to their originals and independent, each in a position of a line.

    Args:
        lines: a line, which actions are legal at each ply, [plies, actions] bool, and the plies to choose from.
        watch: what has to be equal and stay as it is; see `grader.confinement.boards.watched`.
    """
    judged = 0
    for walk, legal, plies in lines:
        if not plies:
            continue
        ply = rng.choice(plies)
        start = walk.position.before(ply)
        ruling.evidence["copy"] = start
        steps, listed = walk.next_moves(ply, SEPARATE), walk.listed(ply)
        if not steps:
            continue
        others = [move for move in np.flatnonzero(legal[ply]).tolist() if move in listed and move not in steps]
        shown = worker.call("copies", position=start, steps=steps, others=[rng.choice(others or steps[:1])], watch=watch)
        place = walk.position.after(ply)
        _expect_equal(place, shown, len(steps))
        _expect_apart(place, shown)
        judged += 1
    ruling.seen = f"Independent copies in {judged} positions."


def _expect_equal(place: str, shown: Mapping[str, Values], steps: int) -> None:
    if name := _difference(shown["original"], shown["copy"]):
        raise StudentFault(f"{place}, the copy differs from its original in {name}. {LACKING}")
    pairs = [(f"original after {number}", f"copy after {number}", number) for number in range(1, steps + 1)]
    for original, copy, number in [*pairs, ("alone", "fresh copy moved", 1)]:
        if name := _difference(shown[original], shown[copy]):
            moves = "the same move" if number == 1 else f"the same {number} moves"
            raise StudentFault(f"{place}, the copy differs from its original in {name} after {moves}. {LACKING}")


def _expect_apart(place: str, shown: Mapping[str, Values]) -> None:
    for first, second, words, hint in PAIRS:
        if name := _difference(shown[first], shown[second]):
            raise StudentFault(f"{place}, {words} {name}. {hint}")


def changed_by(
    worker: Worker,
    position: Mapping[str, Any],
    call: Sequence[Any],
    *,
    steps: Sequence[int],
    others: Sequence[int],
    watch: Sequence[str],
) -> str:
    """Return what a method that returns a copy, and moves on that copy, change on the board itself; empty if nothing.

    Args:
        call: the method and its arguments.
        steps: the moves on the copy.
        others: moves on the board itself, and on one without a copy.
        watch: see `grader.confinement.boards.watched`.

    Returns:
        The name of a value that differs.
    """
    shown = worker.call("copies", position=position, call=call, steps=steps, others=others, watch=watch)
    return _difference(shown["original"], shown["original later"]) or _difference(shown["alone"], shown["original moved"])


def _difference(first: Values, second: Values) -> str:
    """Return the name of a value in which two boards differ; empty if there is none."""
    return next((name for name in first if not np.array_equal(first[name], second[name], equal_nan=True)), "")
