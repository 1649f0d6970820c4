"""The student's rule for two passes in a simulation, and the student's search under it (handout 3 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, takewhile
from random import Random
from typing import Any

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.go.checks.lines import (
    LEGAL,
    Ply,
    expect_end,
    expect_legal,
    followed_lines,
    is_pass,
    plies,
    says_over,
    start_of,
)
from labs.support.boards import LabPosition, Step, Tally, Walk, line_of
from labs.support.cases import Case, Cases
from labs.support.copies import changed_by
from labs.support.searches import (
    Searched,
    SelfPlayDraws,
    expect_right_move,
    expect_sound_search,
    expect_tree_of_its_own,
    judge_searches,
)

LINES, LAST_WORDS = 36, 5
TREES = tuple(f"middle {size}" for size in ("3x3", "4x3", "3x4", "4x4", "4x3", "3x4"))  # families, so that no shape is left out
SELF_PLAYS, BY_CHANCE = 4, 1e-6  # draws in each position, and a chance that is too small to be one
PASSING = -1  # an opponent who always takes the last legal action
# Families of the simulations in which two passes are judged.
DEEP = ("deep", "last", "recalled", "ended", "deep", "ko", "barred", "passed", "empty")
TREE_PLAYOUTS, PLAYOUTS = 120, 150
TAKEN_BACK, ENDED, AT_THE_LIMIT = "pairs of passes that are taken back", "pairs of passes that end the game", "depth limits"
RULES = ("availables", "game_end", "get_current_player", "score?")


@pytest.mark.points("simulation.double_pass")
def test_double_pass(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Simulations with many passes: where they end, and what is legal after two passes.

    Accepts: what the board gets wrong in a real game as well, which the checks of the rules judge; see `_is_judged_elsewhere`.
    """
    ruling.expected = "Two passes end a simulation only if no point is worth playing; otherwise they are taken back."
    families = cycle(DEEP)
    _expect_lines(worker, ruling, lambda: cases.draw(next(families), rng), Tally({TAKEN_BACK: 10, ENDED: 3}))
    ruling.seen = f"The same ends and the same legal actions in {LINES} simulations."


@pytest.mark.points("simulation.depth")
def test_depth(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Simulations that reach the depth limit, and that leave the board of the real game as it was.

    Accepts: see `test_double_pass` for a board that breaks the rules, and `_expect_games_left_alone` for one whose `copy` does.
    """
    ruling.expected = "A simulation that reaches the depth limit is a draw; each action counts, passes included."
    lines = _expect_lines(worker, ruling, lambda: cases.draw("shallow", rng), Tally({AT_THE_LIMIT: 1}))
    _expect_games_left_alone(worker, ruling, lines)
    ruling.seen = f"The same ends in {LINES} simulations."


def _expect_lines(worker: Worker, ruling: Ruling, draw: Callable[[], Case], tally: Tally) -> list[tuple[Case, Walk]]:
    lines = []
    for case, walk in followed_lines(worker, ruling, draw, LINES, tally, *RULES):
        lines.append((case, walk))
        for ply in plies(walk):
            if ply.number > int(case["begin"]):
                try:
                    _expect_ply(worker, case, walk, ply, tally)
                except StudentFault as fault:
                    if not _is_judged_elsewhere(worker, case, walk, ply, tally):
                        raise
                    tally.cut(str(fault))
                    break
    return lines


def _expect_games_left_alone(worker: Worker, ruling: Ruling, lines: Sequence[tuple[Case, Walk]]) -> None:
    """Raise StudentFault if a simulation shows on the board on which for_search was called.

    If moves on a copy show on their original, too, for_search is only as good as `copy`, which rules.copy judges.
    """
    begun = [(case, walk) for case, walk in lines if walk.plies > int(case["begin"])]
    for case, walk in begun:
        if name := _shown_by(worker, case, walk, ["for_search", int(case["depth"])]):
            if any(_shown_by(worker, *line, ["copy"]) for line in begun):
                return
            ruling.evidence["line"] = walk.position.to_json()
            place = walk.position.after(int(case["begin"]))
            raise StudentFault(
                f"{place}, for_search, or what is played on the board that it returns, changes {name} of the board itself. "
                "It returns a copy."
            )


def _shown_by(worker: Worker, case: Case, walk: Walk, call: Sequence[Any]) -> str:
    """Return what a call and the stones that follow it change on the board of the real game; empty if nothing.

    Two passes on that board show whether it still plays by the rules of a real game.
    """
    begin, two_passes = int(case["begin"]), [int(case["size"].prod())] * 2
    steps = list(takewhile(lambda action: not is_pass(case, action), walk.next_moves(begin + 1, walk.plies)))
    watch = [*RULES, "states", "captures?"]
    try:
        return changed_by(worker, walk.position.before(begin), call, steps=steps, others=two_passes, watch=watch)
    except StudentFault:
        return ""  # a method that raises is judged where it must return something


def _expect_ply(worker: Worker, case: Case, walk: Walk, ply: Ply, tally: Tally) -> None:
    at_limit, paired = _is_at_limit(case, ply), _ends_in_two_passes(case, _played(case, ply))
    try:
        expect_end(_without_a_winner(ply), case, scored=not at_limit)
    except StudentFault as fault:
        raise StudentFault(f"{fault} {_reason(case, ply)}") from fault
    if (at_limit or TAKEN_BACK in tally.least) and not (says_over(ply) and _lists_actions_after_the_end(worker, case)):
        expect_legal(walk.position, ply, case, in_order=False)  # rules.legal judges the order
    if at_limit:
        tally.found[AT_THE_LIMIT] += 1
    elif paired:
        tally.found[ENDED if case["ends"][ply.number][0] else TAKEN_BACK] += 1


def _lists_actions_after_the_end(worker: Worker, case: Case) -> bool:
    """Return whether the board still lists actions when two passes have ended a real game, which rules.legal judges."""
    start, passes = replace(start_of(case), moves=()).to_json(), [int(case["size"].prod())] * 2
    (reply,) = worker.call("follow", position=start, lines=[passes], watch=["availables"])
    return len(reply["seen"]) == 3 and reply["seen"][-1]["availables"].size > 0


def _without_a_winner(ply: Ply) -> Ply:
    """Return a position with -1 as the winner of a game that goes on, which rules.end judges."""
    if says_over(ply) or ply.values["game_end"].shape != (2,):
        return ply
    return replace(ply, values={**ply.values, "game_end": np.array([ply.values["game_end"][0], -1.0])})


def _is_judged_elsewhere(worker: Worker, case: Case, walk: Walk, ply: Ply, tally: Tally) -> bool:
    """Return whether a fault follows from the rules of a real game, or from two passes where the depth limit is judged."""
    paired = _ends_in_two_passes(case, _played(case, ply))
    if paired and AT_THE_LIMIT in tally.least:
        return True
    if _is_at_limit(case, ply):
        return says_over(ply) and _is_so_in_a_real_game(worker, case, ply)
    if TAKEN_BACK in tally.least and says_over(ply) and _reaches_the_limit(case):
        return True  # too early a limit, which simulation.depth judges; any other early end shows in the lines without one
    return _is_so_in_a_real_game(worker, case, ply) or (paired and _has_other_rules(case, walk, ply))


def _played(case: Case, ply: Ply) -> list[int]:
    """Return the actions before a position of a simulation; one step of the line is the call of for_search."""
    return line_of(case)[: ply.number - 1]


def _is_at_limit(case: Case, ply: Ply) -> bool:
    return len(_played(case, ply)) - int(case["begin"]) >= int(case["depth"])


def _reaches_the_limit(case: Case) -> bool:
    return len(case["moves"]) - int(case["begin"]) >= int(case["depth"])


def _ends_in_two_passes(case: Case, played: list[int]) -> bool:
    return len(played) >= 2 and is_pass(case, played[-1]) and is_pass(case, played[-2])


def _is_so_in_a_real_game(worker: Worker, case: Case, ply: Ply) -> bool:
    """Return whether the board shows the same in a real game without the passes that the simulation takes back.

    Or its copy does, made one action before the simulation begins: what a copy lacks, a simulation lacks as well.
    """
    line, copied = list[int](), max(int(case["begin"]) - 1, 0)
    for number, action in enumerate(_played(case, ply), 1):
        line.append(action)
        if number > int(case["begin"]) and _ends_in_two_passes(case, line) and not case["ends"][number + 1][0]:
            del line[-2:]
            copied = min(copied, len(line))
    return (
        _shows_the_same(worker, case, ply, line)
        or _shows_the_same(worker, case, ply, [*line[:copied], ["copy"], *line[copied:]])
        or _is_copied_wrongly(worker, case)
    )


def _is_copied_wrongly(worker: Worker, case: Case) -> bool:
    """Return whether a copy shows something else than its original where the simulation begins, which rules.copy judges."""
    start, line = replace(start_of(case), moves=()).to_json(), [*line_of(case)[: int(case["begin"])], ["copy"]]
    try:
        (reply,) = worker.call("follow", position=start, lines=[line], watch=list(RULES))
    except StudentFault:
        return False  # such as a copy that is not written yet
    *_, original, copy = reply["seen"]
    return not reply["fault"] and any(not np.array_equal(original[name], copy[name], equal_nan=True) for name in RULES[:3])


def _shows_the_same(worker: Worker, case: Case, ply: Ply, line: Sequence[Step]) -> bool:
    start = replace(start_of(case), moves=()).to_json()
    try:
        (reply,) = worker.call("follow", position=start, lines=[list(line)], watch=list(RULES))
    except StudentFault:
        return False  # such as a copy that is not written yet
    names = RULES[:3]
    seen = reply["seen"][-1]
    return not reply["fault"] and all(np.array_equal(seen[name], ply.values[name], equal_nan=True) for name in names)


def _has_other_rules(case: Case, walk: Walk, ply: Ply) -> bool:
    """Return whether the board's legal actions or score are wrong before two passes, so that other points are worth playing."""
    before = (ply.number - 2, ply.number - 1)
    lists = any(set(walk.listed(number)) != set(np.flatnonzero(case["why"][number] == LEGAL).tolist()) for number in before)
    return lists or not np.array_equal(walk.seen[ply.number]["score"], case["scores"][ply.number])


def _reason(case: Case, ply: Ply) -> str:
    """Return what decides whether a simulation ends here."""
    played, worth = _played(case, ply), int(case["worth"][ply.number])
    paired = _ends_in_two_passes(case, played)
    if paired and worth < 0:
        return "No point is worth playing there, so the two passes end the game, and its score decides."
    if not paired or _is_at_limit(case, ply):
        count = len(played) - int(case["begin"])
        return f"The depth limit is {int(case['depth'])}, and {count} actions have been played since for_search."
    point = start_of(case).name(worth)
    return f"{point} is worth playing there: it belongs to nobody, and at least one player may place a stone on it."


@pytest.mark.points("search.tree")
def test_tree(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Check every node of some trees.

    Accepts: a search that is right on a board of ours, in positions in which the student's own board breaks the rules.
    """
    ruling.expected = "Visits and values add up, children are the legal actions with the pass, draws are worth 0."

    families = cycle(TREES)

    def judge(position: Searched, case: Case) -> None:
        actions, seed = int(case["size"].prod()) + 1, rng.randrange(2**31)
        expect_sound_search(worker, position, seed, n_playout=TREE_PLAYOUTS, actions=actions)
        expect_tree_of_its_own(worker, position, seed, in_play=int(case["depth"]) > 2, opponent=PASSING)

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, next(families), rng), judge, len(TREES))
    ruling.seen = f"{len(TREES)} trees, all nodes."


@pytest.mark.points("search.wins")
def test_wins(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """The opponent has passed, no point is worth playing, and the side to move is ahead; also see `test_tree`.

    In self-play the pass is drawn, too, but not always.
    """
    ruling.expected = "The search passes when that wins at once."
    self_play = SelfPlayDraws()
    _expect_last_words(worker, ruling, rng, cases, "win", ("wins at once", "win at once"), self_play)
    if not self_play.drawn and self_play.missed < BY_CHANCE:
        raise StudentFault(
            "In self-play, get_action never passes where the pass wins at once and is the most visited action. Every action is "
            "drawn by its share of the visits, the pass included."
        )


@pytest.mark.points("search.losses")
def test_losses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """The opponent has passed, no point is worth playing, and the side to move is behind; also see `test_tree`."""
    ruling.expected = "The search does not pass when that loses at once."
    _expect_last_words(worker, ruling, rng, cases, "loss", ("does not lose at once", "do not lose at once"))


def _expect_last_words(
    worker: Worker,
    ruling: Ruling,
    rng: Random,
    cases: Cases,
    family: str,
    what: tuple[str, str],
    self_play: SelfPlayDraws | None = None,
) -> None:
    def judge(position: Searched, case: Case) -> None:
        def usual() -> tuple[LabPosition, Case]:
            return _drawn(cases, f"middle {position.place.size}", rng)  # as in `test_tree`

        expect_right_move(worker, ruling, position, case, n_playout=PLAYOUTS, what=what, usual=usual)
        if self_play is not None:
            for _ in range(SELF_PLAYS):
                self_play.draw(worker, position, [int(move) for move in case["right"]], PLAYOUTS)

    ruling.message = judge_searches(worker, ruling, lambda: _drawn(cases, family, rng), judge, LAST_WORDS)
    ruling.seen = f"A right action in each of {LAST_WORDS} positions."


def _drawn(cases: Cases, family: str, rng: Random) -> tuple[LabPosition, Case]:
    case = cases.draw(family, rng)
    return start_of(case), case
