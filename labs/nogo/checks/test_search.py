"""The student's AlphaZero search on the student's rules of NoGo (handout 3)."""

from __future__ import annotations

from random import Random

import pytest

from grader.confinement.worker_client import Worker
from grader.judge.support.ruling import Ruling
from labs.nogo.checks.games import BOARD
from labs.support.boards import LabPosition
from labs.support.cases import Case, Cases
from labs.support.searches import Searched, expect_right_move, expect_sound_search, judge_searches

TREES, WINS, LOSSES = 5, 6, 5
TREE_PLAYOUTS, WIN_PLAYOUTS, LOSS_PLAYOUTS = 150, 150, 600


@pytest.mark.points("search.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Check every node of some trees.

    Accepts: a search that is right on a board of ours, in positions in which the student's own board breaks the rules.
    """
    ruling.expected = "Visits and values add up, children are the legal moves, and a finished game has its result."

    def judge(position: Searched, case: Case) -> None:
        actions = int(case["size"].prod())
        expect_sound_search(worker, position, rng.randrange(2**31), n_playout=TREE_PLAYOUTS, actions=actions)

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, "middle", rng), judge, TREES)
    ruling.seen = f"{TREES} trees, all nodes."


@pytest.mark.points("search.wins")
def test_wins(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions in which a move wins at once; see `test_tree` for a board that breaks the rules there."""
    ruling.expected = "The search plays a move that leaves the opponent none."

    def judge(position: Searched, case: Case) -> None:
        expect_right_move(worker, ruling, position, case, n_playout=WIN_PLAYOUTS, what=("wins at once", "win at once"))

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, "win", rng), judge, WINS)
    ruling.seen = f"A winning move in each of {WINS} positions."


@pytest.mark.points("search.losses")
def test_losses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions in which some moves lose at once; see `test_tree` for a board that breaks the rules there."""
    ruling.expected = "The search avoids the moves after which the opponent wins at once."

    def judge(position: Searched, case: Case) -> None:
        expect_right_move(
            worker, ruling, position, case, n_playout=LOSS_PLAYOUTS, what=("does not lose at once", "do not lose at once")
        )

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, "loss", rng), judge, LOSSES)
    ruling.seen = f"A safe move in each of {LOSSES} positions."


def _drawn(cases: Cases, family: str, rng: Random) -> tuple[LabPosition, Case]:
    case = cases.draw(family, rng)
    return LabPosition.of(BOARD, case), case
