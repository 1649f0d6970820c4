"""A machine that was too busy to decide a game costs nobody a point: the checks of the engine say that a person has to look."""

import random
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from game_records import game_record

from arena.engine.engine_process import EngineFailure, EngineSpec, Limits
from arena.match.match import play_match
from arena.match.referee import REPEATS
from arena.rules import Termination
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.checks import test_minimax as checks
from grader.judge.conftest import _decide
from grader.judge.support import protocol_games
from grader.judge.support.ruling import Ruling

SPEC = EngineSpec("student")


def game(index, winner, termination=Termination.FIVE, *, black=0, withheld_s=0.0):
    """A game of agent 0, the student's; `winner` None with UNDECIDED."""
    decided = termination != Termination.UNDECIDED
    return game_record(
        index,
        black=black,
        winner=winner if decided else None,
        termination=termination,
        faulty=None if winner is None or termination == Termination.FIVE else 1 - winner,
        detail="" if termination == Termination.FIVE else "black gave no answer within 110 s of wall clock",
        move_s=(2.0, 2.0),
        move_cpu_s=(1.0, 1.0),
        withheld_s=(withheld_s, withheld_s),
        seconds=4.0,
    )


@pytest.fixture
def win_rate(assignment, monkeypatch, tmp_path):
    """The ruling on a match that ended so, or what was raised: `win_rate(*games, profile=..., whole=...)`."""

    def judge(*games, profile="quick", whole=False):
        def play(setup, _, **options):
            return play_match(setup, lambda tasks: (games[task.index] for task in tasks if task.index < len(games)), **options)

        monkeypatch.setattr(checks, "play_match", play)
        run = SimpleNamespace(
            profile=assignment.profile(profile),
            assignment=assignment,
            folder=Path(tempfile.mkdtemp(dir=tmp_path)),
            identity=SimpleNamespace(whole_match=whole),
            progress=lambda _: None,
        )
        ruling = Ruling()
        checks.test_win_rate(run, SPEC, SPEC, Limits(), ruling, random.Random(1))
        return ruling

    return judge


def test_games_that_could_not_be_decided_leave_the_points_of_a_match_open(win_rate):
    with pytest.raises(CouldNotGrade) as caught:
        win_rate(*(game(i, 0) for i in range(5)), game(5, 1), game(6, None, Termination.UNDECIDED), game(7, 0))
    sentence = str(caught.value)
    assert sentence.startswith("1 of 8 games could not be decided") and "That leaves 25 to 29 points" in sentence
    assert "Won 6, lost 1, drew 0 of 7 games" in sentence and "\n" not in sentence


def test_a_game_that_the_opponent_lost_by_its_own_fault_leaves_the_points_open_if_it_could_change_them(win_rate):
    with pytest.raises(
        CouldNotGrade, match=r"lost 2 of 8 games by its own fault.* \(malformed\)\. That leaves 25 to 30 points"
    ):
        win_rate(*(game(i, 0) for i in range(6)), *(game(i, 0, Termination.MALFORMED) for i in (6, 7)), whole=True)
    lost = win_rate(*(game(i, 1) for i in range(7)), game(7, 1, Termination.MALFORMED), whole=True)
    assert lost.share == 0


@pytest.mark.parametrize("answer", ["read loc; echo no action", "exit 3"])
def test_an_opponent_that_does_not_open_a_game_is_named_before_a_game_is_played(assignment, monkeypatch, tmp_path, answer):
    program = tmp_path / "opponent"
    program.write_text(f"#!/bin/sh\nread side; echo name\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setattr(checks, "build_opponent", lambda name, assignment: program)
    reason = r"^the opponent baseline of assignment\.toml does not open a game \((malformed|crash): "
    with pytest.raises(CouldNotGrade, match=reason):
        checks.baseline.__wrapped__(SimpleNamespace(assignment=assignment), Limits())


def test_a_match_that_ended_early_on_a_busy_machine_is_open_as_well(win_rate):
    with pytest.raises(CouldNotGrade, match=r"^5 of 8 games could not be decided"):
        win_rate(*(game(i, 0) for i in range(3)), *(game(i, None, Termination.UNDECIDED) for i in range(3, 6)))
    with pytest.raises(CouldNotGrade, match=r"^8 of 8 games .* Endings: 3 undecided\. Ended early: the machine was so busy"):
        win_rate(*(game(i, None, Termination.UNDECIDED) for i in range(3)))


def test_games_that_could_not_be_decided_and_cannot_change_the_points_change_nothing(win_rate, assignment, monkeypatch):
    monkeypatch.setattr(type(assignment), "win_rate_points", lambda *_: 30.0)
    monkeypatch.setattr(type(assignment), "opponent", "my_rung")
    ruling = win_rate(*(game(i, 0) for i in range(7)), game(7, None, Termination.UNDECIDED))
    assert "At most 8 games against the opponent my_rung, at most 5 s" in ruling.expected
    assert ruling.share == 1.0 and "drew 0 of 7 games" in ruling.message and "1 undecided" in ruling.message
    assert "from 21 to 30 of 30 points are plausible" in ruling.message


def test_a_match_ends_when_its_points_are_known_and_a_whole_one_does_not(win_rate):
    games = [game(i, 0) for i in range(64)]
    early, whole = win_rate(*games, profile="full"), win_rate(*games, profile="full", whole=True)
    assert early.evidence["match"]["plays"] == 29 and whole.evidence["match"]["plays"] == 64
    assert early.share == whole.share == 1.0 and not whole.evidence["match"]["stopped"]
    assert "Ended after 29 of 64 games: 30 of 30 points" in early.message and "95 % confidence at any time" in early.message


def test_a_match_ends_without_the_games_that_cannot_change_its_points(win_rate):
    games = [game(i, int(i % 8 < 3)) for i in range(64)]  # 39 or 40 wins are 20 points
    early, whole = win_rate(*games, profile="full"), win_rate(*games, profile="full", whole=True)
    assert early.evidence["match"]["plays"] == 63 and whole.evidence["match"]["plays"] == 64
    assert early.share == whole.share == 20 / 30 and "the other 1 cannot change the 20 of 30 points" in early.message


def test_a_match_on_a_busy_machine_says_so_and_gives_the_points_that_it_would_give(win_rate):
    games = [game(i, int(i == 7), withheld_s=1.0 if i < 3 else 0.0) for i in range(8)]
    free = win_rate(*(game(i, int(i == 7)) for i in range(8)))
    busy = win_rate(*games)
    assert busy.share == free.share
    assert "Other programs withheld 50 % of the time in 3 of 8 games." in busy.seen and "withheld" not in free.seen


@pytest.fixture
def protocol(monkeypatch):
    """The ruling where the games as black and as white end so."""

    def judge(as_black, as_white):
        rest = {0: list(as_black), 1: list(as_white)}

        def play_game(task):
            seat = 0 if task.black is SPEC else 1
            termination = rest[seat].pop(0) if rest[seat] else Termination.FIVE
            return game(0, 1 - seat if termination == Termination.CRASH else seat, termination)

        monkeypatch.setattr(protocol_games, "play_game", play_game)
        monkeypatch.setattr(protocol_games, "explain_fault", lambda *_: "")
        ruling = Ruling()
        checks.test_protocol(SPEC, EngineSpec("baseline"), Limits(), ruling, random.Random(1))
        return ruling

    return judge


UNDECIDED, CRASH, FIVE = Termination.UNDECIDED, Termination.CRASH, Termination.FIVE


@pytest.mark.parametrize(("as_black", "as_white"), [([UNDECIDED], []), ([FIVE, UNDECIDED], [CRASH]), ([CRASH], [UNDECIDED])])
def test_a_game_of_the_protocol_that_could_not_be_decided_is_for_a_person(protocol, as_black, as_white):
    with pytest.raises(CouldNotGrade, match=r"a game could not be decided \(black gave no answer within 110 s"):
        protocol(as_black, as_white)


def test_faults_on_both_sides_are_told_where_every_game_was_decided(protocol):
    with pytest.raises(StudentFault, match=r"As black it lost by crash: .* As white it lost by crash"):
        protocol([FIVE, CRASH], [CRASH])


@pytest.fixture
def first_stone(monkeypatch):
    """Asks an engine that answers, or fails, so at its starts one after the other."""

    def ask(*answers):
        left = list(answers)

        class Starting:
            def __init__(self, *_):
                pass

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

            def start(self, _):
                pass

            def ask(self, _):
                answer = left.pop(0)
                if isinstance(answer, Termination):
                    raise EngineFailure(answer, "gave no answer")
                return answer

        monkeypatch.setattr(checks, "EngineProcess", Starting)
        monkeypatch.setattr(checks, "listen", lambda *_: None)
        monkeypatch.setattr(checks, "first_stone", lambda _: None)
        return checks._first_stone(SPEC, Limits()), left

    return ask


def test_an_opening_that_is_in_doubt_is_asked_for_again(first_stone):
    assert first_stone(UNDECIDED, (7, 7)) == ((7, 7), [])
    with pytest.raises(CouldNotGrade, match="it is unclear whether the engine opens in time"):
        first_stone(*[UNDECIDED] * (REPEATS + 1))
    with pytest.raises(StudentFault, match="did not open as black"):
        first_stone(Termination.TIMEOUT)


def test_what_the_machine_is_to_blame_for_is_told_without_the_name_of_an_exception(assignment):
    error = CouldNotGrade("this machine was too busy")
    call = SimpleNamespace(excinfo=SimpleNamespace(value=error), start=time.time())
    verdict = _decide(assignment.check("minimax.win_rate"), Ruling(evidence={"match": {}}), call, 1.0)
    assert (verdict.status, verdict.points) == ("could_not_grade", 0.0) and "match" in verdict.evidence
    assert verdict.message == "The grader could not decide this, so a person has to look: this machine was too busy"
