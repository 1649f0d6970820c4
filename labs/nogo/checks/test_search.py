"""The student's AlphaZero search on the student's rules of NoGo (handout 3)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from grader.confinement.worker_client import Worker
from grader.judge.support.ruling import Ruling
from labs.support.boards import LabPosition
from labs.support.cases import Case, Cases
from labs.support.searches import expect_right_moves, expect_sound_search

BOARD = "NoGo.board.Board"
TREES, WINS, LOSSES = 5, 6, 5
TREE_PLAYOUTS, WIN_PLAYOUTS, LOSS_PLAYOUTS = 150, 150, 600


@pytest.mark.points("search.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random, cases: Cases, our_board: Callable[[Case], Any]) -> None:
    """Check every node of some trees."""
    ruling.expected = "Visits and values add up, children are the legal moves, and a finished game has its result."
    for _ in range(TREES):
        case = cases.draw("middle", rng)
        position = LabPosition.of(BOARD, case)
        ruling.evidence["search"] = position.to_json()
        actions = int(case["size"].prod())
        expect_sound_search(worker, position, our_board(case), rng, n_playout=TREE_PLAYOUTS, actions=actions)
    ruling.seen = f"{TREES} trees, all nodes."


@pytest.mark.points("search.wins")
def test_wins(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions in which a move wins at once."""
    ruling.expected = "The search plays a move that leaves the opponent none."
    drawn = [cases.draw("win", rng) for _ in range(WINS)]
    pairs = [(LabPosition.of(BOARD, case), case) for case in drawn]
    expect_right_moves(worker, ruling, pairs, n_playout=WIN_PLAYOUTS, what="wins at once")
    ruling.seen = f"A winning move in each of {WINS} positions."


@pytest.mark.points("search.losses")
def test_losses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions in which some moves lose at once."""
    ruling.expected = "The search avoids the moves after which the opponent wins at once."
    drawn = [cases.draw("loss", rng) for _ in range(LOSSES)]
    pairs = [(LabPosition.of(BOARD, case), case) for case in drawn]
    expect_right_moves(worker, ruling, pairs, n_playout=LOSS_PLAYOUTS, what="does not lose at once")
    ruling.seen = f"A safe move in each of {LOSSES} positions."
