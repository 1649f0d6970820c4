"""What an engine says out of place is named, with what to do."""

import sys
from types import SimpleNamespace

import pytest

from arena.engine.engine_process import EngineSpec, Limits
from arena.rules import SWAP, Termination
from grader.judge.support.engine_talk import (
    DIVIDES_BY_0,
    FEWER_MEANS,
    FLUSH,
    FLUSH_OR_READ_LESS,
    FORM,
    LACKS_INSTRUCTION,
    LEAVES_ITS_MEMORY,
    NO_MEMORY_LEFT,
    NOTES,
    explain_answer,
    explain_fault,
    explain_talk,
    first_stone,
    listen,
)

LIMITS = Limits(move_s=5)
LOOP = "side = input()\n{name}\nfor line in sys.stdin:\n    {answer}\n"
NAME, ANSWER = 'print("alice", flush=True)', 'print("7 7", flush=True)'


def heard(name=NAME, answer=ANSWER, before=""):
    """What a program says that speaks the protocol but for the given lines."""
    code = "import sys\n" + before + LOOP.format(name=name, answer=answer)
    return listen(EngineSpec("mine", (sys.executable, "-c", code)), LIMITS, 0)


def test_nothing_is_wrong_with_a_right_engine():
    talk = heard()
    assert (talk.early, talk.introduction, talk.answer, talk.at_the_end) == ("", "alice\n", "7 7\n", "")
    assert explain_talk(talk) == "" and first_stone(talk) == (7, 7)
    assert explain_talk(heard(name="print(flush=True)")) == ""


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"before": 'print("hello", flush=True)\n'}, f"It wrote 'hello' before it was told its side. {NOTES}"),
        (
            {"name": f'print("Loading 3 tables", flush=True); {NAME}'},
            f"It wrote 'Loading 3 tables' before its name 'alice'; the first line is taken as the name. {NOTES}",
        ),
        (
            {"name": f"print(flush=True); {NAME}"},
            f"It wrote an empty line before its name 'alice'; the first line is taken as the name. {NOTES}",
        ),
        (
            {"name": 'print("alice")', "answer": 'print("7 7")'},
            f"It wrote its name only when its input ended: 'alice 7 7'. {FLUSH_OR_READ_LESS}",
        ),
        ({"name": 'print("alice", end="", flush=True)'}, f"It wrote its name 'alice' without the end of the line. {FLUSH}"),
        ({"answer": 'print("7 7")'}, f"Its answer '7 7' came only when its input ended. {FLUSH_OR_READ_LESS}"),
        (
            {"answer": f"sys.stdin.readline(); {ANSWER}"},
            f"Its answer '7 7' came only when its input ended. {FLUSH_OR_READ_LESS}",
        ),
        ({"answer": f'print("depth 4", flush=True); {ANSWER}'}, f"It wrote 'depth 4' before its answer '7 7'. {NOTES}"),
        ({"answer": 'print("7 7", end="", flush=True)'}, f"It wrote its answer '7 7' without the end of the line. {FLUSH}"),
    ],
    ids=[
        "early",
        "banner",
        "empty line",
        "name not flushed",
        "name without its end",
        "answer not flushed",
        "waits for a second line",
        "debug line",
        "no line end",
    ],
)
def test_the_cause_is_named_and_the_first_stone_is_still_read(changes, sentence):
    talk = heard(**changes)
    assert explain_talk(talk) == sentence
    assert first_stone(talk) == (7, 7)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("7 7\n", ""),
        ("-1 -1\n", ""),
        ("", ""),
        ("7,7\n", f"It answered '7,7' where 7 7 was expected. {FORM}"),
        ("(7, 8)\n", f"It answered '(7, 8)' where 7 8 was expected. {FORM}"),
        ("7 7 12\n", f"It answered '7 7 12', 3 numbers where two are expected. {FORM}"),
        ("5.0 4.0\n", f"It answered '5.0 4.0', which are not whole numbers. {FORM}"),
        ("E6\n", f"It answered 'E6', one number where two are expected. {FORM}"),
        ("swap!\n", "It wrote 'swap!', but a swap is written -1 -1."),
        ("7 7 nodes 1234\n", f"It wrote 'nodes 1234' after its answer '7 7'. {NOTES}"),
        ("depth 4 12 7 7\n", f"It wrote 'depth 4 12' before its answer '7 7'. {NOTES}"),
        ("7\n7\n", f"It wrote the two numbers 7 and 7 on two lines. {FORM}"),
        ("7 7\n8 8\n", f"It gave more than one answer to one line: '7 7', '8 8'. {FORM}"),
        ("7 7\n\n", f"It wrote an empty line after its answer '7 7'. {FORM}"),
        ("7 7\nscore 12\n", f"It wrote 'score 12' after its answer '7 7'. {NOTES}"),
        ("best: 7 7\n", f"It wrote 'best:' before its answer '7 7'. {NOTES}"),
        ("Your move?\n", f"It wrote 'Your move?', which is not an answer. {NOTES}"),
        ("<b>best</b> " * 20, f"It wrote '{('<b>best</b> ' * 20)[:60]}', which is not an answer. {NOTES}"),
    ],
)
def test_an_answer_of_another_form_is_named(text, sentence):
    assert explain_answer(text) == sentence


def test_the_answer_of_the_game_is_explained_unless_its_answer_now_has_several_lines():
    assert explain_talk(heard(answer='print("8,8", flush=True)'), "9,5").startswith("It answered '9,5' where 9 5 was expected.")
    talk = heard(answer=f'print("0.5 12", flush=True); {ANSWER}')
    assert explain_talk(talk, "0.7 31") == f"It wrote '0.5 12' before its answer '7 7'. {NOTES}"


@pytest.mark.parametrize(
    ("moves", "refused", "words"),
    [
        ([(4, 5), (9, 2)], "4 5", "Its board lacks the stone that it placed at ply 1, or it does not test whether"),
        ([(4, 5), (8, 8)], "8 8", "Otherwise its board lacks the stone that its opponent placed at ply 2, or it does not"),
        ([(4, 5), (8, 8), (7, 7), SWAP, (5, 5), (1, 1)], "4 5", "placed at ply 1, before the swap. A swap removes no stones"),
    ],
)
def test_a_taken_point_is_told_with_the_stone_that_is_there(moves, refused, words):
    game = SimpleNamespace(moves=moves, refused=refused, termination=Termination.ILLEGAL_MOVE)
    assert words in explain_fault(game, 0, None, LIMITS)


@pytest.mark.parametrize("termination", [Termination.CRASH, Termination.INIT_FAILED])
def test_a_missing_instruction_is_not_called_a_lack_of_memory(termination):
    game = SimpleNamespace(moves=[], refused="", termination=termination, detail="was ended by signal SIGILL")
    assert explain_fault(game, 0, None, LIMITS) == LACKS_INSTRUCTION


@pytest.mark.parametrize(
    ("detail", "termination", "sentence"),
    [
        ("was ended by signal SIGABRT, saying '  what():  std::bad_alloc'", Termination.CRASH, NO_MEMORY_LEFT),
        ("gave no name: was ended by signal SIGABRT, saying 'std::bad_alloc'", Termination.INIT_FAILED, NO_MEMORY_LEFT),
        ("was ended by signal SIGFPE", Termination.CRASH, DIVIDES_BY_0),
        ("was ended by signal SIGSEGV", Termination.CRASH, LEAVES_ITS_MEMORY),
        ("gave no name: was ended by signal SIGSEGV", Termination.INIT_FAILED, f"{LEAVES_ITS_MEMORY} {FEWER_MEANS}"),
    ],
)
def test_what_the_end_of_a_program_means_is_said(detail, termination, sentence):
    game = SimpleNamespace(moves=[], refused="", termination=termination, detail=detail)
    assert explain_fault(game, 0, None, LIMITS) == sentence


def test_an_engine_that_gives_up_before_its_name_is_told_that_it_can_open_no_files():
    gives_up = EngineSpec("mine", (sys.executable, "-c", "raise SystemExit('cannot open book.txt')"))
    detail = "gave no name: exited with exit code 1, saying 'cannot open book.txt'"
    game = SimpleNamespace(moves=[], refused="", termination=Termination.INIT_FAILED, detail=detail)
    assert explain_fault(game, 0, gives_up, LIMITS) == FEWER_MEANS


def test_a_program_that_ends_or_cannot_be_heard_is_no_fault_of_the_listener():
    assert explain_talk(listen(EngineSpec("mine", (sys.executable, "-c", "raise SystemExit(3)")), LIMITS, 1)) == ""


def test_a_very_long_line_is_read_in_no_time():
    assert explain_answer("ab" + "7" * 1_000_000).startswith("It wrote 'ab777")
