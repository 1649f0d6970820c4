"""The student's AlphaZero search on the student's rules of NoGo (handout 3)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle
from random import Random

import pytest

from grader.confinement.worker_client import Worker
from grader.judge.support.ruling import Ruling
from labs.nogo.checks.games import BOARD
from labs.support.boards import LabPosition
from labs.support.cases import Case, Cases
from labs.support.searches import (
    Searched,
    expect_right_move,
    expect_sound_search,
    expect_tree_of_its_own,
    judge_searches,
)

WINS, LOSSES = 6, 5
TREES = tuple(f"middle {size}" for size in ("3x3", "4x3", "3x5", "4x4", "4x3", "3x5"))  # families, so that no shape is left out
TREE_PLAYOUTS, WIN_PLAYOUTS, LOSS_PLAYOUTS = 150, 150, 600


@pytest.mark.points("search.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Check every node of some trees.

    Accepts: a search that is right on a board of ours, in positions in which the student's own board breaks the rules.
    """
    ruling.expected = "Visits and values add up, children are the legal moves, and a finished game has its result."

    families, numbers = cycle(TREES), count()

    def judge(position: Searched, case: Case) -> None:
        actions, seed = int(case["size"].prod()), rng.randrange(2**31)
        expect_sound_search(worker, position, seed, n_playout=TREE_PLAYOUTS, actions=actions)
        expect_tree_of_its_own(worker, position, seed, in_play=next(numbers) % 2 > 0)

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, next(families), rng), judge, len(TREES))
    ruling.seen = f"{len(TREES)} trees, all nodes."


@pytest.mark.points("search.wins")
def test_wins(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions in which a move wins at once; see `test_tree` for a board that breaks the rules there."""
    ruling.expected = "The search plays a move that leaves the opponent none."

    def judge(position: Searched, case: Case) -> None:
        what, usual = ("wins at once", "win at once"), _usual(cases, position, rng)
        expect_right_move(worker, ruling, position, case, n_playout=WIN_PLAYOUTS, what=what, usual=usual)

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, "win", rng), judge, WINS)
    ruling.seen = f"A winning move in each of {WINS} positions."


@pytest.mark.points("search.losses")
def test_losses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions in which some moves lose at once; see `test_tree` for a board that breaks the rules there."""
    ruling.expected = "The search avoids the moves after which the opponent wins at once."

    def judge(position: Searched, case: Case) -> None:
        what, usual = ("does not lose at once", "do not lose at once"), _usual(cases, position, rng)
        expect_right_move(worker, ruling, position, case, n_playout=LOSS_PLAYOUTS, what=what, usual=usual)

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, "loss", rng), judge, LOSSES)
    ruling.seen = f"A safe move in each of {LOSSES} positions."


def _drawn(cases: Cases, family: str, rng: Random) -> tuple[LabPosition, Case]:
    case = cases.draw(family, rng)
    return LabPosition.of(BOARD, case), case


def _usual(cases: Cases, position: Searched, rng: Random) -> Callable[[], tuple[LabPosition, Case]]:
    """Return what draws a position of the kind in which `test_tree` judges a search, on a board of the same size."""
    return lambda: _drawn(cases, f"middle {position.place.size}", rng)
