"""The checks of Part 1 on engines that are right, weak or odd: what they are accused of, and in which words."""

import sys
from random import Random
from types import SimpleNamespace

import pytest
from misbehaving import misbehaving

from arena.engine import cores
from arena.engine.cores import available_cores
from arena.engine.engine_process import EngineSpec, Limits
from arena.match.match import MatchResult, ThreadRunner, play_match
from arena.match.setup import MatchSetup
from grader.errors import StudentFault
from grader.judge.checks import test_minimax as checks
from grader.judge.support.engine_talk import AFTER_SWAP, FEWER_MEANS, FLUSH, FORM, ONE_ANSWER, TOLD_OF_SWAP
from grader.judge.support.protocol_games import Side
from grader.judge.support.ruling import Ruling

LIMITS = Limits(move_s=5, told_move_s=0.2)
# Plays POINTS in turn, as far as they are free, and knows of a swap no more than that a stone is not placed.
SCRIPT = """
import os, random, sys
side = int(input())
{before}
print("scripted", flush=True)
rng = random.Random(os.environ["GOMOKU_SEED"])
taken = set()
points = {points}
for line in sys.stdin:
    taken.add(tuple(map(int, line.split())))
    point = next(p for p in points if p not in taken)
    taken.add(point)
    print(*point, flush=True)
"""
WHOLE_BOARD = "rng.sample([(x, y) for x in range(15) for y in range(15)], 225)"
CENTRE = "rng.sample([(x, y) for x in range(4, 11) for y in range(4, 11)], 49)"


def scripted(points, before=""):
    return EngineSpec("scripted", (sys.executable, "-S", "-c", SCRIPT.format(points=points, before=before)))


def side(seat, engine, seed=1):
    """The games of the protocol check without the last, long one."""
    found = Side(seat, engine, None, LIMITS, Random(seed))
    found.play()
    return found


# ---------------------------------------------------------------------------------------------------- protocol


@pytest.mark.parametrize("seat", [0, 1])
def test_an_engine_that_moves_at_random_and_swaps_at_times_is_accused_of_nothing(engines, seat):
    played = side(seat, EngineSpec("sample", (str(engines / "sample"),)))
    assert played.fault() == "" and "games broken off" in played.endings()
    assert len(played.games) >= 3


def test_the_first_stone_is_no_matter_of_the_protocol():
    assert side(0, misbehaving("corner", 1)).fault() == ""


@pytest.mark.parametrize(
    ("seat", "fault", "words"),
    [
        (
            0,
            "words",
            "As black it lost by malformed: answered 'my move is 3 3' instead of two numbers. It wrote 'my move is' bef",
        ),
        (
            1,
            "three_numbers",
            "As white it lost by malformed: answered '3 3 3' instead of two numbers. It answered '3 3 3', 3 num",
        ),
        (1, "early_word", "spoke before it was asked: '7 7\\n'. It wrote 'early_word' before its name '7 7'"),
        (0, "exit", "As black it lost by crash: exited with exit code 3."),
        (0, "swap", "As black it lost by illegal_swap: black answered -1 -1 at ply 3; only white may swap, and only at ply 4."),
    ],
)
def test_a_fault_is_named_with_its_cause(seat, fault, words):
    played = side(seat, misbehaving(fault))
    assert words in played.fault() and len(played.games) == 1


def test_a_swap_in_place_of_a_move_that_was_not_found_is_named():
    assert side(1, misbehaving("swap", 4)).fault().endswith("its search returned without a move.")


# Plays free points far apart, except where `odd` does something else; `mine` counts its answers.
ODD = """
import sys
side, mine, free = int(input()), 0, [(4 * i % 15, 7 * i % 15) for i in range(1, 15)]
print("odd", flush=True)
for line in sys.stdin:
    swapped = mine > 0 and line == "-1 -1\\n"
    free = [point for point in free if point != tuple(map(int, line.split()))]
    {odd}
    mine += 1
    print(*free.pop(), flush=True)
"""


@pytest.mark.parametrize(
    ("seat", "odd", "words"),
    [
        (1, 'if mine == 1: print("-1 -1\\n8 1", flush=True); mine += 1; continue', f"{ONE_ANSWER} {AFTER_SWAP}"),
        (0, 'if mine == 2: print("1 12\\n3 13", flush=True); mine += 1; continue', ONE_ANSWER),
        (1, 'if mine == 1: print("swap", flush=True); continue', "It wrote 'swap', but a swap is written -1 -1."),
        (0, "if mine == 1: print(flush=True); continue", f"answered '' instead of two numbers. It wrote an empty line. {FORM}"),
        (0, "if mine == 1: break", "exited with exit code 0. An engine goes on reading and answering until its input ends."),
        (0, 'if mine == 1: print("15 0", flush=True); continue', "off the 15x15 board. Both numbers count from 0 to 14."),
        (0, "if swapped: sys.exit(1)", f"exited with exit code 1. {TOLD_OF_SWAP}"),
        (0, 'if swapped: print("-1 -1", flush=True); continue', f"only at ply 4. {TOLD_OF_SWAP}"),
    ],
    ids=["swap and stone", "two answers", "word", "empty line", "ends early", "off the board", "swap exits", "swap echoed"],
)
def test_what_an_engine_has_to_do_is_said_beside_its_fault(seat, odd, words):
    engine = EngineSpec("odd", (sys.executable, "-S", "-c", ODD.format(odd=odd)))
    assert side(seat, engine).fault().endswith(words)


def test_an_engine_that_dies_before_its_name_is_told_of_its_memory_and_files():
    dies = EngineSpec("dies", (sys.executable, "-S", "-c", "import os; os.abort()"))
    assert side(0, dies).fault().endswith(f"was ended by signal SIGABRT. {FEWER_MEANS}")


def test_an_answer_without_the_end_of_its_line_is_quoted_once():
    played = Side(0, misbehaving("no_newline"), None, Limits(move_s=0.5), Random(1))
    played.play()
    assert played.fault().endswith(f"; what it wrote, '3 3', has no end of line. {FLUSH}")


def test_an_engine_that_waits_for_more_input_is_told_so():
    waits = EngineSpec("waits", (sys.executable, "-S", "-c", "input(); print('waits', flush=True); input(); input()"))
    played = Side(0, waits, None, Limits(move_s=0.5), Random(1))
    played.play()
    assert "It hardly computed: it may be waiting for more input" in played.fault()


# ----------------------------------------------------------------------------------------------------- opening


@pytest.fixture
def opening(monkeypatch):
    """The verdict on an engine's first stones, without the pauses for engines that take their seed from the clock."""
    monkeypatch.setattr(checks.time, "sleep", lambda _: None)

    def run(engine, assignment):
        ruling = Ruling(shares=assignment.shares["minimax.opening"])
        checks.test_opening(engine, LIMITS, ruling, Random(1))
        return ruling

    return run


def test_stones_that_vary_within_the_centre_get_full_points(opening, assignment):
    assert opening(scripted(CENTRE), assignment).share == 1


def test_stones_that_vary_and_lie_outside_at_times_get_the_share_for_that(opening, assignment):
    ruling = opening(scripted(WHOLE_BOARD), assignment)
    assert ruling.share == assignment.shares["minimax.opening"]["outside"]
    assert "first stones lay outside the central 7x7" in ruling.message


def test_a_stone_that_never_varies_is_seen_more_often_before_it_costs_its_share(opening, assignment):
    ruling = opening(scripted([(7, 7)]), assignment)
    assert ruling.share == assignment.shares["minimax.opening"]["never_varies"]
    assert f"The first stone was (7, 7) in each of {checks.SAME_STARTS} games; it should vary. Draw it, with" in ruling.message


def test_a_stone_that_is_always_the_same_one_outside_gets_nothing(opening, assignment):
    with pytest.raises(StudentFault, match=r"^The first stone was \(0, 0\) in each of \d+ games, outside the central 7x7\.$"):
        opening(scripted([(0, 0)]), assignment)


def test_stones_outside_that_are_counted_from_1_are_recognised(opening, assignment):
    counted = "rng.sample([(x, y) for x in range(5, 12) for y in range(5, 12)], 49)"
    assert "If the engine counts from 1 instead of 0" in opening(scripted(counted), assignment).message
    assert "counts from 1" not in opening(scripted(WHOLE_BOARD), assignment).message
    with pytest.raises(StudentFault, match=r"outside the central 7x7\. If the engine counts from 1"):
        opening(scripted([(11, 8)]), assignment)


def test_the_form_of_the_words_is_no_matter_of_the_opening(opening, assignment, monkeypatch):
    monkeypatch.setattr(checks, "FRESH_STARTS", 2)
    assert opening(scripted(CENTRE, 'print("Tables are ready.", flush=True)'), assignment).share == 1


@pytest.mark.skipif(available_cores() < 2, reason="this machine has a single core")
def test_an_engine_that_opens_sees_one_core(opening, assignment, monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "LOCKS", tmp_path)
    monkeypatch.setattr(checks, "FRESH_STARTS", 2)
    place = "[(min(14, len(os.sched_getaffinity(0))), 14)]"
    with pytest.raises(StudentFault, match=r"^The first stone was \(1, 14\) in each"):
        opening(scripted(place), assignment)


def test_an_engine_without_a_first_stone_is_sent_to_the_protocol(opening, assignment):
    with pytest.raises(StudentFault, match=r"^The engine did not open as black \(crash\): .*; see minimax\.protocol\.$"):
        opening(misbehaving("exit", 1), assignment)


# -------------------------------------------------------------------------------------------------------- match


@pytest.fixture(scope="module")
def match():
    """Four games, of which two are lost by the first stone."""
    setup = MatchSetup((misbehaving("corner", 1), misbehaving("exit", 2)), 4, 1, LIMITS)
    return play_match(setup, ThreadRunner(2))


def test_games_lost_by_the_first_stone_are_counted_apart(match):
    words = checks._describe(match.to_json())
    assert words.startswith("Won 2, lost 2, drew 0 of 4 games") and "Lost by fault: 2 illegal_opening." in words
    assert words.endswith("2 of 2 games as black were lost by the first stone (illegal_opening): see minimax.opening.")


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (
            "quick",
            "8 games say little: from {} to {} of 30 points are plausible; the 64 games of profile full narrow this range.",
        ),
        ("full", "Another match like this could plausibly give from {} to {} points."),
    ],
)
def test_the_interval_is_told_in_points_and_a_short_match_foretells_little(match, assignment, profile, words):
    games = MatchResult(match.setup, match.games * 2)
    run = SimpleNamespace(assignment=assignment, profile=assignment.profile(profile))
    low, high = assignment.win_rate_points_between([checks.result_for(g, 0, match.setup) for g in games.games], 30)
    assert 0 < low < 15 < high <= 30
    assert checks._plausible_points(run, games, 30) == words.format(f"{low:g}", f"{high:g}")
