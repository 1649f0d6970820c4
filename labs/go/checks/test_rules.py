"""The student's rules of Go against ours, on every position of random games (handout 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, cycle
from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.go.checks.lines import (
    KO,
    LEGAL,
    OVER,
    REASONS,
    SUICIDE,
    SUPERKO,
    TAKEN,
    Ply,
    begin_of,
    expect_captures,
    expect_end,
    expect_legal,
    expect_stones,
    followed_lines,
    has_wrong_stones,
    is_pass,
    plies,
    says_over,
    shown_stones,
    start_of,
)
from labs.support.boards import (
    LATE,
    SECOND,
    TAKEN_TRIED,
    UNLISTED,
    LabPosition,
    Step,
    Tally,
    Walk,
    expect_last_move,
    expect_new_game,
    expect_refusal,
    line_of,
    shaped,
)
from labs.support.cases import Case, Cases, draw_game
from labs.support.copies import judge_copies

GAMES, COPIES, REFUSED = 32, 24, 16
AGAIN = 8  # games that are played twice on one board
DRAWN_EVERY = 8  # of the games whose ends are compared, every eighth is a draw
LISTED = ("game", "game", "game", "repetition")  # families of the games in which lists of legal actions are compared
REAL_GAMES = ("game", "repetition", "second")
REFUSING = ((None, "game"), (OVER, "game"), (KO, "game"), (SUPERKO, "repetition"))  # what is illegal, and a family that has it
# Families of the lines on which boards are copied.
COPIED = ("game", "shallow", "repetition", "second", "shallow", "deep", "new ko")
# What a check must see of the games, if the student's board does not follow them to their ends.
LATE_MOVES, SCORES, ENDS, CAPTURES = 20, 80, 6, 10
LATE_TRIED = 8  # late moves where only one position of each game is tried
ILLEGAL = {SUICIDE: ("suicides", 10), KO: ("kos", 2), SUPERKO: ("repetitions", 1)}  # illegal points of each kind


@pytest.mark.points("rules.legal")
def test_legal(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare `availables` with the legal actions at every ply.

    Accepts: a list that is empty where the game goes on, or is not where it is over, if the board says the same of the game,
    which rules.end judges; and a wrong list after wrong captures, which rules.captures judges. The rest of such a game is not
    judged.
    """
    ruling.expected = "availables lists exactly the legal points and the pass, at every ply of random games."
    tally, families = Tally({LATE: LATE_MOVES, **dict(ILLEGAL.values())}), cycle(LISTED)
    watch = ("availables!", "game_end?", "states?")
    for case, walk in followed_lines(worker, ruling, lambda: cases.draw(next(families), rng), GAMES, tally, *watch):
        for ply in plies(walk):
            try:
                expect_legal(walk.position, ply, case)
            except StudentFault:
                over = says_over(ply)
                if over != case["ends"][ply.number][0] and over != bool(walk.listed(ply.number)):
                    tally.cut(f"{ply.place}, game_end says that the game {'is over' if over else 'goes on'}.")
                elif has_wrong_stones(case, ply):
                    tally.cut(f"{ply.place}, states is wrong.")
                else:
                    raise
                break
            why = case["why"][ply.number]
            if not has_wrong_stones(case, ply):
                tally.found.update(kind for reason, (kind, _) in ILLEGAL.items() if (why == reason).any())
        else:
            ruling.expect(not walk.stop, walk.stop)
    ruling.seen = f"The same actions at every ply of {GAMES} games."


@pytest.mark.points("rules.captures")
def test_captures(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the stones on the board and the numbers of captured stones at every ply.

    Accepts: games that a board follows only in part, because it does not list a legal action, which rules.legal judges.
    """
    ruling.expected = "A stone takes the opposing chains without a liberty off the board, and no others; captures counts them."
    tally = Tally({LATE: LATE_MOVES, "captures": CAPTURES})
    watch = ("states!", "captures")
    for case, walk in followed_lines(worker, ruling, lambda: cases.draw("game", rng), GAMES, tally, *watch):
        counts = np.count_nonzero(case["stones"], axis=1)
        for ply in plies(walk):
            expect_stones(walk.position, ply, case["stones"][ply.number])
            expect_captures(ply, case["captures"][ply.number])
            stone = ply.number > 0 and not is_pass(case, line_of(case)[ply.number - 1])
            tally.found["captures"] += stone and bool(counts[ply.number] <= counts[ply.number - 1])
    ruling.seen = f"The same stones and captures at every ply of {GAMES} games."


@pytest.mark.points("rules.end")
def test_end(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the end of the game, the winner, the side to move and the last move at every ply.

    At last, play some of the games again on a board on which they have been played to the end or up to a ko: `init_board`
    begins a new game there. After a single pass, the new game begins with two more.

    Accepts: a winner by the board's own score, which rules.score judges. Also see `test_captures`.
    """
    ruling.expected = "Two passes in a row end the game, and the score decides it."
    tally = Tally({LATE: LATE_MOVES, "ends": ENDS, SECOND: 1})
    watch, numbers = ("game_end", "get_current_player", "score?", "last_move"), count()
    ended, kos, passed = [list[tuple[LabPosition, Sequence[Step]]]() for _ in range(3)]  # games, each with the one before it

    def draw() -> Case:
        return draw_game(cases, rng) if next(numbers) % DRAWN_EVERY else cases.draw("drawn", rng)

    for case, walk in followed_lines(worker, ruling, draw, GAMES, tally, *watch):
        for ply in plies(walk):
            expect_end(ply, case)
            expect_last_move(ply.values, walk.position, ply.number)
            tally.found["ends"] += int(case["ends"][ply.number][0])
        line = walk.position
        ended.append((line, line.moves))
        kos += [(line, line.moves[:ply]) for ply in range(walk.plies) if KO in case["why"][ply]][:1]
        two_passes = replace(line, moves=(int(case["size"].prod()),) * 2)
        passed += [(two_passes, line.moves[:ply]) for ply in _single_passes(case, walk)][:1]
    for game, before in (*ended[:AGAIN], *kos[:AGAIN], *passed[:AGAIN]):
        expect_new_game(worker, game, ("availables", *watch, "states?", "captures?"), after=before)
    ruling.seen = f"The same ends and winners in {GAMES} games."


def _single_passes(case: Case, walk: Walk) -> list[int]:
    """Return the plies after a single pass."""
    line = line_of(case)
    return [ply for ply in range(1, walk.plies + 1) if is_pass(case, line[ply - 1]) and not case["ends"][ply][0]]


@pytest.mark.points("rules.score")
def test_score(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare `score` at every ply, whether the game is over or not.

    Accepts: any score after wrong captures, which rules.captures judges. Also see `test_captures`.
    """
    ruling.expected = "score gives black's area minus white's area and the komi."
    tally = Tally({LATE: LATE_MOVES, "scores": SCORES})
    for case, walk in followed_lines(worker, ruling, lambda: draw_game(cases, rng), GAMES, tally, "score", "states?"):
        for ply in plies(walk):
            right, got = float(case["scores"][ply.number]), float(shaped(ply.values, "score", ()))
            if got != right and has_wrong_stones(case, ply):
                tally.cut(f"{ply.place}, states is wrong.")
                break
            if got != right:
                _explain_score(ply, got, right, float(case["komi"]))
            tally.found["scores"] += 1
    ruling.seen = f"The same score at every ply of {GAMES} games."


def _explain_score(ply: Ply, got: float, right: float, komi: float) -> None:
    reason = "Count stones and the empty points that reach stones of one player only; captured stones do not count"
    empty = ply.number == 0  # where nothing but the komi can be wrong
    if empty and komi and got == right + 2 * komi:
        reason = "The komi is on the wrong side: white receives it"
    elif empty and komi and got == right + komi:
        reason = "The komi is missing"
    elif komi % 1 and not got % 1:
        reason = "The komi need not be an integer; subtract it as it is"
    elif got in (-right, -right - 2 * komi):  # white's score, with or without the komi
        reason = "The sign is wrong: the score is black's, and black is the player who began"
    raise StudentFault(f"{ply.place} (komi {komi:g}), the score is {right:+g}; got {got:+g}. {reason}.")


@pytest.mark.points("rules.copy")
def test_copy(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Play on a copy, and on the original of another copy: both play alike, and neither shows on the other board.

    Accepts: a board without `for_search`, whose simulations the next checks judge. Also see `test_captures`.
    """
    ruling.expected = "A copy is equal to its original, and independent of it."
    watch = ["availables", "game_end?", "get_current_player?", "score?", "states?", "captures?", "last_move?"]
    families = cycle(COPIED if _can_simulate(worker, cases.draw("deep", rng)) else REAL_GAMES)
    lines = followed_lines(worker, ruling, lambda: cases.draw(next(families), rng), COPIES, Tally({LATE: LATE_MOVES}))
    judge_copies(worker, ruling, rng, _copied(lines), watch)


def _can_simulate(worker: Worker, case: Case) -> bool:
    """Return whether for_search is written."""
    start = start_of(case).before(0)
    try:
        (reply,) = worker.call("follow", position=start, lines=[[["for_search", int(case["depth"])]]], watch=["availables"])
    except StudentFault:
        return False
    return not reply["fault"]


def _copied(lines: Iterator[tuple[Case, Walk]]) -> Iterator[tuple[Walk, np.ndarray, Sequence[int]]]:
    """Yield the lines with the plies at which a board is copied.

    They lie in the simulation if there is one. If superko forbids a stone, they lie one ply before; otherwise where a ko
    forbids one or, in half of the other lines, between two passes. In the same half they lie between two passes that follow a
    ko, if there are such. There a copy soon shows what it does not know.
    """
    for number, (case, walk) in enumerate(lines):
        among = range(begin_of(case), walk.plies) or range(walk.plies)
        steps, superko = walk.position.moves, (case["why"] == SUPERKO).any(axis=1)
        repetitions = [ply for ply in among if superko[ply + 1]]
        kos = [ply for ply in among if KO in case["why"][ply]]
        in_turn = number // len(COPIED) % 2
        pairs = [ply for ply in among if in_turn and ply and steps[ply - 1] == steps[ply] and is_pass(case, steps[ply])]
        after_kos = [ply for ply in pairs if ply - 1 in kos]
        yield walk, case["why"] == LEGAL, after_kos or repetitions or kos or pairs or among


@pytest.mark.points("rules.refuses")
def test_refuses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Play an illegal action of each kind, and two off the board, one of them negative.

    By turns, the position is one after a single pass, the end of a game, or one in which a ko or superko forbids a stone. A
    stone and a pass afterwards show whether the board is the same inside, too.

    Accepts: illegal points that the board itself lists, which rules.legal judges. Also see `test_captures`.
    """
    ruling.expected = "do_move raises ValueError for an illegal action and leaves the board as it was."
    watch = ["availables", "get_current_player?", "states?", "captures?", "last_move?", "game_end?", "score?"]
    tally = Tally({LATE: LATE_TRIED, UNLISTED: TAKEN_TRIED})
    kinds, families = cycle(REFUSING), cycle(REFUSING)
    for case, walk in followed_lines(worker, ruling, lambda: cases.draw(next(families)[1], rng), REFUSED, tally, "states?"):
        wanted, _ = next(kinds)
        plies_with = [ply for ply in range(walk.plies + 1) if wanted in case["why"][ply]]
        having = plies_with if wanted is not None else _single_passes(case, walk)
        ply = rng.choice(having or range(walk.plies // 2, walk.plies + 1))
        why, listed, position = case["why"][ply], walk.listed(ply), walk.position
        taken = shown_stones(walk.seen[ply]) or {}
        wrong = []
        for kind in REASONS:
            found = [action for action in np.flatnonzero(why == kind).tolist() if action not in listed]
            if kind == TAKEN:
                found = [action for action in found if action in taken]
            wrong += [rng.choice(found)] if found else []
            if kind == OVER and len(why) - 1 in found:
                wrong.append(len(why) - 1)  # a pass, which some boards play before they look at what is legal
        if any(why[action] == TAKEN for action in wrong):
            tally.found[UNLISTED] += 1
        elif any(0 <= point < len(why) and why[point] == TAKEN for point in taken):
            tally.cut(f"{position.after(ply)}, it lists points that are taken.")
        outside = [next(action for action in numbers if action not in listed) for numbers in (count(len(why)), count(-1, -1))]
        steps, start = [*wrong, *outside], position.before(ply)
        # A second pass ends the game, if the refused stone has not set the count of passes back.
        then = sorted([rng.choice(np.flatnonzero(why == LEGAL).tolist() or [0]), len(why) - 1], reverse=wanted is None)
        ruling.evidence["refused"] = {**start, "illegal": steps, "then": then}
        replies = worker.call("refusals", position=start, steps=steps, then=then, watch=watch)
        for action, reply in zip(steps, replies, strict=True):
            known = 0 <= action < len(why)
            reason = REASONS[int(why[action])] if known else "it is off the board"
            what = position.name(action) if known else f"action {action}"
            expect_refusal(reply, f"{position.after(ply)}, {what} is illegal ({reason})")
    ruling.seen = f"Illegal actions refused in {REFUSED} positions."
