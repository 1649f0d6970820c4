"""GTP engines as players: real ones, and engines that break the protocol on request."""

import errno
import os
import sys
from pathlib import Path

import pytest
from gnugo import GNUGO, needs_gnugo
from hypothesis import given
from hypothesis import strategies as st

from arena.engine.engine_process import EngineFailure, EngineSpec, Limits
from arena.engine.gtp import (
    LARGEST_BOARD,
    PASS,
    Answer,
    Command,
    parse_answer,
    parse_colour,
    parse_command,
    parse_vertex,
    vertex,
)
from arena.engine.gtp_engine import BoardOffer, GtpEngine, time_settings
from arena.engine.process import is_dead

PROGRAM = Path(__file__).parents[1] / "misbehaving_gtp.py"
LIMITS = Limits(move_s=2.0, init_s=5.0)
SHORT = Limits(move_s=0.4, init_s=5.0, wall_cap_s=0.4)


def engine(fault="none", at=1, limits=LIMITS):
    spec = EngineSpec(f"gtp:{fault}", (sys.executable, "-S", str(PROGRAM), fault, str(at)), protocol="gtp")
    return GtpEngine(spec, limits, BoardOffer(5))


def failure_of(fault, limits=LIMITS):
    with engine(fault, limits=limits) as playing:
        playing.start()
        with pytest.raises(EngineFailure) as caught:
            playing.genmove(0)
    return caught.value


# ----------------------------------------------------------------------------------------------------- the text


@given(st.integers(1, LARGEST_BOARD), st.data())
def test_a_vertex_survives_the_way_there_and_back_in_either_case(size, data):
    point = (data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1)))
    assert parse_vertex(vertex(point), size) == parse_vertex(vertex(point).lower(), size) == point
    assert "I" not in vertex(point)


def test_the_ninth_column_is_j_and_row_1_is_at_the_bottom():
    assert vertex((8, 0)) == "J1" and parse_vertex("a19", 19) == (0, 18)
    assert parse_vertex("PASS", 9) == PASS == parse_vertex(vertex(PASS), 9)


@pytest.mark.parametrize("text", ["", "I5", "A0", "A10", "K1", "5A", "A", "A-1", "A1 B2", "A٣", "resign", "A100"])
def test_what_is_not_a_vertex_of_the_board_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 the text is the message
        parse_vertex(text, 9)


def test_commands_and_colours_are_read_as_the_specification_says():
    assert parse_command("12 play\tB d4 # here\r\n") == Command(12, "play", ("B", "d4"))
    assert parse_command("genmove w") == Command(None, "genmove", ("w",))
    assert parse_command("  # only a comment") is None and parse_command("\r\n") is None
    assert parse_command("7") == Command(7, "", ())
    assert (parse_colour("Black"), parse_colour("W")) == (0, 1)
    with pytest.raises(ValueError, match="red"):
        parse_colour("red")


@given(st.none() | st.integers(0, 2**31 - 1), st.booleans(), st.text("ab7 \n=", max_size=30))
def test_an_answer_survives_the_way_there_and_back(number, failed, text):
    sent = str(Answer(number, failed, text))
    assert sent.endswith("\n\n") and "\n\n" not in sent[:-1].rstrip("\n")
    got = parse_answer(sent[:-2].split("\n"))
    if number is None and text.strip()[:1].isdigit():
        return  # without an id, a leading number cannot be told from one
    assert (got.number, got.failed, got.text.split()) == (number, failed, text.split())


# ---------------------------------------------------------------------------------------- engines that misbehave


def test_an_engine_plays_in_answer_to_moves():
    with engine() as playing:
        assert playing.start() == "Fault 1.0"
        assert playing.genmove(0) == (0, 0)
        playing.play(1, (1, 0))
        playing.play(1, PASS)
        assert playing.genmove(0) == (2, 0)


@pytest.mark.parametrize("fault", ["small_letters", "carriage_returns", "flood_stderr"])
def test_what_the_protocol_allows_is_accepted(fault):
    with engine(fault) as playing:
        assert playing.start().lower() == "fault 1.0"
        assert (playing.genmove(0), playing.genmove(0)) == ((0, 0), (1, 0))


def test_pass_and_resign_are_understood_in_any_case():
    with engine("pass") as playing:
        playing.start()
        assert playing.genmove(1) == PASS
    with engine("resign") as playing:
        playing.start()
        assert playing.genmove(1) is None


@pytest.mark.parametrize(
    ("fault", "termination", "words"),
    [
        ("wrong_id", "malformed", "instead of id"),
        ("no_id", "malformed", "with no id"),
        ("giant_line", "malformed", "a line of more than"),
        ("giant_answer", "malformed", "an answer of more than"),
        ("words", "malformed", "'my move is A1' instead of a vertex"),
        ("letter_i", "malformed", "'I5' instead of a vertex"),
        ("off_board", "illegal_move", "off the 5x5 board"),
        ("refuse", "malformed", 'refused "genmove b": unknown command'),
        ("no_sign", "malformed", "does not begin with = or ?"),
        ("exit", "crash", "exit code 3"),
    ],
)
def test_a_broken_answer_has_a_name_and_a_reason(fault, termination, words):
    failure = failure_of(fault)
    assert failure.termination == termination and words in str(failure)


def test_a_sleeper_and_an_answer_without_an_end_run_out_of_time():
    assert failure_of("sleep", SHORT).termination == "timeout"
    unended = failure_of("no_blank_line", SHORT)
    assert unended.termination == "timeout" and '"=7 A1" was not ended by an empty line' in str(unended)


def test_a_flood_of_empty_lines_does_not_hold_up_the_clock():
    assert failure_of("flood", SHORT).termination == "timeout"


def test_the_commands_of_a_start_and_those_of_a_move_share_one_limit():
    with engine("slow", limits=Limits(move_s=0.5, init_s=0.5, wall_cap_s=0.5)) as playing:
        with pytest.raises(EngineFailure, match=r"gave no answer within 0\.5 s") as caught:
            playing.start()
        assert caught.value.termination == "init_failed"
    with engine("slow", limits=Limits(move_s=0.2, init_s=0.2, wall_cap_s=5)) as playing:
        playing.start()
        playing.limits = Limits(move_s=0.2, wall_cap_s=0.2)
        with pytest.raises(EngineFailure) as caught:
            playing.answer(0, (3, 3))
        assert caught.value.termination == "timeout" and playing.spent.wall_s >= 0.2


@pytest.mark.parametrize(
    ("move_s", "command"),
    [(5, "0 5 1"), (5.9, "0 5 1"), (1, "0 1 1"), (0.5, "0 1 2"), (0.4, "0 1 3"), (0.001, "0 1 100")],
)
def test_the_time_announced_is_not_more_than_there_is(move_s, command):
    assert time_settings(move_s) == f"time_settings {command}"


def test_an_engine_that_speaks_unasked_or_refuses_a_move_is_at_fault():
    with engine("unasked") as playing:
        playing.start()
        playing.genmove(0)
        # The engine may be stopped before it can say more than its answer.
        with pytest.raises(EngineFailure, match=r"spoke before it was asked|with no id instead of id 8"):
            playing.play(1, (3, 3))
    with engine("refuse_play") as playing:
        playing.start()
        with pytest.raises(EngineFailure, match='refused "play w D4": illegal move'):
            playing.play(1, (3, 3))


@pytest.mark.parametrize(("fault", "words"), [("version_1", "version '1' of GTP"), ("few_commands", "not know genmove")])
def test_an_engine_that_cannot_play_is_refused_at_the_start(fault, words):
    with engine(fault) as playing, pytest.raises(EngineFailure, match=words) as caught:
        playing.start()
    assert caught.value.termination == "init_failed"


def test_a_program_that_cannot_be_started_is_named():
    spec = EngineSpec("gtp:nothing", ("/nonexistent/engine",), protocol="gtp")
    with GtpEngine(spec, LIMITS, BoardOffer(5)) as playing, pytest.raises(EngineFailure, match="could not be started"):
        playing.start()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAGAIN, errno.ENOMEM])
def test_no_engine_is_at_fault_if_the_machine_cannot_start_another_process(monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    with engine() as playing:
        playing.start()  # the guardian of this process runs already
    monkeypatch.setattr("arena.engine.process.subprocess.Popen", refuse)
    with engine() as playing, pytest.raises(EngineFailure, match="this machine is at a limit") as caught:
        playing.start()
    assert caught.value.termination == "undecided"


def test_nothing_of_an_engine_is_left_running():
    with engine("child") as playing:
        playing.start()
        pids = playing._tree.members()
        assert len(pids) == 2
    assert all(is_dead(pid) for pid in pids)


@needs_gnugo
def test_gnu_go_plays_the_same_moves_with_the_same_seed():
    spec = EngineSpec("gtp:gnugo", (GNUGO, "--mode", "gtp", "--level", "1"), protocol="gtp")

    def opening():
        with GtpEngine(spec, LIMITS, BoardOffer(9, komi=7.5, seed=3)) as playing:
            assert playing.start().startswith("GNU Go 3")
            moves = [playing.genmove(colour) for colour in (0, 1, 0)]
            with pytest.raises(EngineFailure, match="illegal move"):
                playing.play(1, moves[0])
            playing.play(1, PASS)
            assert float(playing.command("get_komi", 1)) == 7.5
        return moves

    first = opening()
    assert len(set(first)) == 3 and opening() == first
    assert os.access(GNUGO, os.X_OK)
