"""The student's rules of Go against ours, on every position of random games (handout 2)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.go.checks.lines import (
    LEGAL,
    REASONS,
    Ply,
    expect_end,
    expect_legal,
    expect_stones,
    line_from,
    plies,
    start_of,
)
from labs.support.boards import Values, shaped
from labs.support.cases import Cases

GAMES, COPIES, REFUSED = 32, 12, 16
SEPARATE = 6  # actions that one board plays before its copy, or the other way round


@pytest.mark.points("rules.legal")
def test_legal(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare `availables` with the legal actions at every ply."""
    ruling.expected = "availables lists exactly the legal points and the pass, at every ply of random games."
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        for ply in plies(worker, ruling, case, "availables"):
            expect_legal(start_of(case), ply, case["why"][ply.number])
    ruling.seen = f"The same actions at every ply of {GAMES} games."


@pytest.mark.points("rules.captures")
def test_captures(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the stones on the board at every ply."""
    ruling.expected = "A stone takes the opposing chains without a liberty off the board, and no others."
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        for ply in plies(worker, ruling, case, "states"):
            expect_stones(start_of(case), ply, case["stones"][ply.number])
    ruling.seen = f"The same stones at every ply of {GAMES} games."


@pytest.mark.points("rules.end")
def test_end(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the end of the game, the winner and the side to move at every ply."""
    ruling.expected = "Two passes in a row end the game, and the score decides it."
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        for ply in plies(worker, ruling, case, "game_end", "get_current_player"):
            expect_end(ply, case)
    ruling.seen = f"The same ends and winners in {GAMES} games."


@pytest.mark.points("rules.score")
def test_score(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare `score` at every ply, whether the game is over or not."""
    ruling.expected = "score gives black's area minus white's area and the komi."
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        for ply in plies(worker, ruling, case, "score"):
            right, got = float(case["scores"][ply.number]), float(shaped(ply.values, "score", ()))
            if got != right:
                _explain_score(ply, got, right, float(case["komi"]))
    ruling.seen = f"The same score at every ply of {GAMES} games."


def _explain_score(ply: Ply, got: float, right: float, komi: float) -> None:
    reason = "Count stones and the empty points that reach stones of one player only; captured stones count nothing"
    empty = ply.number == 0  # where nothing but the komi can be wrong
    if empty and komi and got == right + 2 * komi:
        reason = "The komi is on the wrong side: white receives it"
    elif empty and komi and got == right + komi:
        reason = "The komi is missing"
    elif got == -right:
        reason = "The sign is wrong: the score is black's, and black is the player who began"
    raise StudentFault(f"{ply.place} (komi {komi:g}), the score is {right:+g}; got {got:+g}. {reason}.")


@pytest.mark.points("rules.copy")
def test_copy(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Play on a copy, and on the original of another copy; neither may show on the other board."""
    ruling.expected = "A copy is equal to its original, and independent of it."
    watch = ["availables", "game_end", "get_current_player", "score", "states", "captures"]
    for _ in range(COPIES):
        case = cases.draw("game", rng)
        position = start_of(case)
        ply = rng.randrange(len(position.moves))
        ruling.evidence["copy"] = position.before(ply)
        steps, legal = line_from(case, ply, SEPARATE), np.flatnonzero(case["why"][ply] == LEGAL).tolist()
        other = int(rng.choice([action for action in legal if action not in steps] or legal))
        shown = worker.call("copies", position=position.before(ply), steps=steps, other=other, watch=watch)
        _expect_apart(position.after(ply), shown)
    ruling.seen = f"Independent copies in {COPIES} positions."


def _expect_apart(place: str, shown: dict[str, Values]) -> None:
    pairs = (
        ("original", "copy", "the copy differs from its original in"),
        ("original", "original later", "moves on the copy change the original's"),
        ("original", "copy later", "moves on the original change the copy's"),
        ("alone", "original moved", "earlier moves on the copy change what a move on the original does to"),
        ("alone", "copy moved", "earlier moves on the original change what a move on the copy does to"),
    )
    for first, second, words in pairs:
        for name, value in shown[first].items():
            if not np.array_equal(value, shown[second][name]):
                raise StudentFault(f"{place}, {words} {name}. Copy every list, dict and set, and what they hold.")


@pytest.mark.points("rules.refuses")
def test_refuses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Play an illegal action of each kind in random positions."""
    ruling.expected = "do_move raises ValueError for an illegal action and leaves the board as it was."
    watch = ["availables", "get_current_player", "states"]
    for _ in range(REFUSED):
        case = cases.draw("game", rng)
        position = start_of(case)
        ply = rng.randrange(len(position.moves) // 2, len(position.moves) + 1)
        why = case["why"][ply]
        wrong = [int(rng.choice(found)) for kind in REASONS if (found := np.flatnonzero(why == kind)).size]
        ruling.evidence["refused"] = {**position.before(ply), "illegal": wrong}
        replies = worker.call("refusals", position=position.before(ply), steps=wrong, watch=watch)
        for action, reply in zip(wrong, replies, strict=True):
            place = f"{position.after(ply)}, {position.name(action)} is illegal ({REASONS[int(why[action])]})"
            ruling.expect(reply["raised"] != "", f"{place}; do_move plays it.")
            ruling.expect(reply["raised"] == "ValueError", f"{place}; do_move raised {reply['raised']} instead of ValueError.")
            same = all(np.array_equal(reply["before"][name], reply["after"][name]) for name in watch)
            ruling.expect(same, f"{place}; do_move refuses it, but has already changed the board.")
    ruling.seen = f"Illegal actions refused in {REFUSED} positions."
