"""The student's rule for two passes in a simulation, and the student's search under it (handout 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.go.checks.lines import Ply, expect_end, expect_legal, plies, start_of
from labs.support.boards import line_of
from labs.support.cases import Case, Cases
from labs.support.searches import expect_right_moves, expect_sound_search

LINES, TREES, LAST_WORDS = 32, 5, 5
TREE_PLAYOUTS, PLAYOUTS = 120, 150


@pytest.mark.points("simulation.double_pass")
def test_double_pass(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Simulations with many passes: where they end, and what is legal after two passes."""
    ruling.expected = "Two passes end a simulation only if no point is worth playing; otherwise they are taken back."
    for _ in range(LINES):
        _expect_line(worker, ruling, cases.draw("deep", rng))
    ruling.seen = f"The same ends and the same legal actions in {LINES} simulations."


@pytest.mark.points("simulation.depth")
def test_depth(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Simulations that reach the depth limit."""
    ruling.expected = "A simulation that reaches the depth limit is a draw; each action counts, passes included."
    for _ in range(LINES):
        _expect_line(worker, ruling, cases.draw("shallow", rng))
    ruling.seen = f"The same ends in {LINES} simulations."


def _expect_line(worker: Worker, ruling: Ruling, case: Case) -> None:
    begin = int(case["begin"])
    for ply in plies(worker, ruling, case, "game_end", "get_current_player", "availables"):
        if ply.number <= begin:
            continue
        try:
            expect_end(ply, case)
        except StudentFault as fault:
            raise StudentFault(f"{fault} {_reason(case, ply)}") from fault
        expect_legal(start_of(case), ply, case["why"][ply.number])


def _reason(case: Case, ply: Ply) -> str:
    """Return what decides whether a simulation ends here."""
    begin, depth, pass_action = int(case["begin"]), int(case["depth"]), int(case["size"].prod())
    played = line_of(case)[: ply.number - 1]  # one step of the line is the call of for_search
    if played[-2:] != [pass_action, pass_action] or len(played) - begin >= depth:
        return f"The depth limit is {depth}, and {len(played) - begin} actions have been played since for_search."
    return "No point is worth playing there." if case["ends"][ply.number][0] else "A point is worth playing there."


@pytest.mark.points("search.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random, cases: Cases, our_board: Callable[[Case], Any]) -> None:
    """Check every node of some trees."""
    ruling.expected = "Visits and values add up, children are the legal actions with the pass, draws are worth 0."
    for _ in range(TREES):
        case = cases.draw("middle", rng)
        position = start_of(case)
        ruling.evidence["search"] = position.to_json()
        actions = int(case["size"].prod()) + 1
        expect_sound_search(worker, position, our_board(case), rng, n_playout=TREE_PLAYOUTS, actions=actions)
    ruling.seen = f"{TREES} trees, all nodes."


@pytest.mark.points("search.wins")
def test_wins(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """The opponent has passed, no point is worth playing, and the side to move is ahead."""
    ruling.expected = "The search passes when that wins at once."
    _expect_last_words(worker, ruling, [cases.draw("win", rng) for _ in range(LAST_WORDS)], "wins at once")


@pytest.mark.points("search.losses")
def test_losses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """The opponent has passed, no point is worth playing, and the side to move is behind."""
    ruling.expected = "The search does not pass when that loses at once."
    _expect_last_words(worker, ruling, [cases.draw("loss", rng) for _ in range(LAST_WORDS)], "does not lose at once")


def _expect_last_words(worker: Worker, ruling: Ruling, drawn: list[Case], what: str) -> None:
    pairs = [(start_of(case), case) for case in drawn]
    expect_right_moves(worker, ruling, pairs, n_playout=PLAYOUTS, what=what)
    ruling.seen = f"A right action in each of {len(drawn)} positions."
