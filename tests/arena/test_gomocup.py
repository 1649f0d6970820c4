"""Gomocup engines in either seat, and course engines under a Gomocup manager."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from misbehaving import PROGRAM, misbehaving
from waiting import eventually

from arena.engine.engine_process import EngineProcess, EngineSpec, GameOffer, Limits
from arena.engine.gomocup_engine import GomocupEngine
from arena.engine.process import is_dead
from arena.engine.specs import parse_agent
from arena.match.match import ThreadRunner, play_match
from arena.match.referee import play_game
from arena.match.setup import GameTask, MatchSetup
from arena.rules import SWAP

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(move_s=2.0, told_move_s=0.25, init_s=3.0)
SHORT = Limits(move_s=0.4, init_s=0.4, wall_cap_s=0.4)
INFORMATION = [
    "INFO timeout_turn 250",
    "INFO timeout_match 0",
    "INFO max_memory 0",
    "INFO rule 0",
    "INFO game_type 1",
    "INFO time_left 2147483647",
]


@pytest.fixture
def windows(pbrain, tmp_path):
    """Return a function that makes specs of the Gomocup engine, which logs every line that it receives."""

    def make(fault="none", at=2, log=None):
        env = {} if log is None else {"PBRAIN_LOG": str(tmp_path / log)}
        command = (str(pbrain), fault, str(at))
        return EngineSpec(path=f"gomocup:{pbrain}", command=command, env=env, protocol="gomocup", any_size=True)

    return make


def behind_the_adapter(*engine):
    command = (sys.executable, "-m", "arena.engine.gomocup", *map(str, engine))
    return EngineSpec(path="gomocup:adapter", command=command, cwd=str(ROOT), protocol="gomocup", any_size=True)


# ------------------------------------------------------------------------------------------ Gomocup engines in the arena


def test_a_free_opening_is_no_fault_of_the_engine_that_hears_it(windows):
    game = play_game(GameTask(misbehaving("corner", 1), windows("exit", 1), LIMITS, free_opening=True))
    assert game.moves[0] == (0, 0) and game.termination != "illegal_opening"


def test_what_an_engine_is_told_in_a_game(windows, tmp_path):
    with GomocupEngine(windows(log="black"), LIMITS) as engine:
        assert engine.start(0) == "windows of five"
        assert engine.ask(SWAP) == (7, 7)
        engine.ask((0, 3))
    assert (tmp_path / "black").read_text().splitlines() == ["START 15", "ABOUT", *INFORMATION, "BEGIN", "TURN 0,3", "END"]


def test_the_opponents_swap_is_sent_as_a_board(windows, tmp_path):
    game = play_game(GameTask(windows(log="black"), misbehaving("swap", 2), LIMITS))
    assert game.swapped and (game.termination, game.winner, game.faulty) == ("five", 0, None)
    (x, y), (a, b), (c, d) = game.moves[:3]
    told = (tmp_path / "black").read_text().splitlines()
    assert told[10:16] == ["RESTART", "BOARD", f"{x},{y},2", f"{a},{b},1", f"{c},{d},2", "DONE"]
    assert told[16].startswith("TURN ")


def test_an_engine_without_restart_is_started_again(windows, tmp_path):
    game = play_game(GameTask(windows("no_restart", log="black"), misbehaving("swap", 2), LIMITS))
    assert game.swapped and game.faulty is None
    told = (tmp_path / "black").read_text().splitlines()
    assert told[10:12] == ["RESTART", "START 15"] and told[12:19] == [*INFORMATION, "BOARD"]


@pytest.mark.parametrize(
    ("fault", "at", "black", "termination", "words"),
    [
        ("silent", 2, True, "timeout", "its last comment was 'ERROR my tables are broken'"),
        ("silent", 1, False, "timeout", "gave no answer within 0.4 s"),
        ("crash", 2, False, "crash", "SIGABRT"),
        ("exit", 2, True, "crash", "exit code 3; its last comment was 'MESSAGE I leave'"),
        ("words", 2, True, "malformed", "instead of x,y"),
        ("no_comma", 2, False, "malformed", "instead of x,y"),
        ("three_numbers", 2, True, "malformed", "instead of x,y"),
        ("unasked", 2, True, "malformed", "spoke before it was asked: '9,9'"),
        ("huge_line", 2, True, "malformed", "more than 4096 bytes"),
        ("off_board", 2, True, "illegal_move", "off the 15x15 board"),
        ("negative", 1, False, "illegal_move", "off the 15x15 board"),
        ("swap", 2, False, "illegal_move", '"-1,-1", which is off the board'),
        ("corner", 1, True, "illegal_opening", "outside the central 7x7"),
        ("no_start", 1, True, "init_failed", "'ERROR this size is not for me' instead of OK to START 15"),
        ("flood", 2, True, "timeout", "gave no answer within 0.4 s"),
        ("silent_start", 1, False, "init_failed", "its last comment was 'MESSAGE thinking about it'"),
    ],
)
def test_a_misbehaving_engine_loses_by_the_same_names(windows, fault, at, black, termination, words):
    bad = windows(fault, at)
    game = play_game(GameTask(*((bad, misbehaving()) if black else (misbehaving(), bad)), SHORT))
    seat = 0 if black else 1
    assert (game.termination, game.faulty, game.winner) == (termination, seat, 1 - seat)
    assert words in game.detail


def test_comments_between_the_questions_are_no_fault(windows):
    game = play_game(GameTask(windows("chatter"), windows("chatter"), LIMITS))
    assert (game.termination, game.faulty) == ("five", None)


def test_an_engine_without_a_name_is_called_by_its_file(windows):
    with GomocupEngine(windows("no_name"), LIMITS) as engine:
        assert engine.start(1) == "pbrain-windows"


def test_an_idle_engine_is_stopped(windows):
    with GomocupEngine(windows(), LIMITS) as engine:
        engine.start(0)
        engine.ask(SWAP)
        stat = Path(f"/proc/{engine._tree.popen.pid}/stat")
        assert eventually(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T")


def test_another_size_of_board(windows, tmp_path):
    game = play_game(GameTask(windows(log="black"), windows(), LIMITS, size=9))
    assert game.size == 9 and game.termination in ("five", "draw")
    assert (tmp_path / "black").read_text().startswith("START 9\n") and game.moves[0] == (4, 4)


@pytest.mark.parametrize(("opponent", "plays"), [("sample", 20), ("baseline", 4)])
def test_games_at_either_seat_end_by_the_rules(pbrain, engines, opponent, plays):
    agents = parse_agent(f"gomocup:{pbrain}"), parse_agent(str(engines / opponent))
    result = play_match(MatchSetup(agents, plays, 2, LIMITS), ThreadRunner(2))
    assert {game.black for game in result.games} == {0, 1}
    assert {game.termination.value for game in result.games} <= {"five", "draw"}
    assert result.wins(0) == plays or opponent == "baseline"


# ----------------------------------------------------------------------------------- course engines under a manager


def converse(text, *engine, **env):
    """Return the adapter's output lines and exit code for a manager's commands."""
    command = [sys.executable, "-m", "arena.engine.gomocup", *map(str, engine)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, timeout=30, env={**os.environ, **env})
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines(), done.returncode


def scripted(fault="none", at=2):
    return sys.executable, "-S", PROGRAM, fault, at


def test_a_game_as_black_and_one_as_white():
    said, code = converse(
        "START 15\r\nINFO rule 1\r\nBEGIN\r\nTURN 0,3\r\nTURN 1,3\r\n\r\nRESTART\r\nTURN 7,7\r\nEND\r\n", *scripted()
    )
    assert said == ["OK", "7,7", "4,5", "7,12", "OK", "7,6"] and code == 0


def test_commands_that_cannot_be_followed_get_a_sentence_and_change_nothing():
    said, code = converse(
        "BEGIN\nSTART 20\nSTART x\nSTART 15\nTURN 15,3\nTURN 3\nSTRANGE 1\nBEGIN\nBEGIN\nTURN 7,7\nTURN 0,3\n", *scripted()
    )
    begins = ["ERROR expected START 15", "ERROR expected a board of 15x15", "ERROR expected START with", "OK"]
    begins += ["ERROR expected a point of the 15x15", "ERROR expected a point as x,y", "UNKNOWN STRANGE"]
    begins += ["7,7", "ERROR expected BEGIN on an empty board", "ERROR expected an empty point", "4,5"]
    assert len(said) == len(begins) and all(line.startswith(begin) for line, begin in zip(said, begins, strict=True))
    assert code == 0


def board(*stones):
    return "BOARD\n" + "".join(f"{stone}\n" for stone in stones) + "DONE\n"


@pytest.mark.parametrize(
    ("before", "stones", "answer"),
    [
        ("", [], "7,7"),
        ("", ["7,7,2"], "7,6"),
        ("BEGIN\n", ["0,3,2", "7,7,1"], "4,5"),
        ("BEGIN\nRESTART\n", ["7,7,1", "0,3,2"], "4,5"),
        ("BEGIN\nSTART 15\n", ["7,7,1", "0,3,2"], "4,5"),
        ("TURN 7,7\n", ["7,7,2", "7,6,1", "8,8,2"], "5,4"),
        ("BEGIN\nTURN 0,3\nRESTART\n", ["7,7,2", "0,3,1", "4,5,2"], "7,12"),
        ("BEGIN\n", ["7,7,2"], "7,6"),
    ],
    ids=["empty", "one stone", "goes on", "after RESTART", "after START", "as white", "swap", "a new game"],
)
def test_a_board_that_the_course_protocol_can_follow(before, stones, answer):
    said, code = converse(f"START 15\n{before}{board(*stones)}", *scripted())
    assert said[-1] == answer and code == 0


@pytest.mark.parametrize(
    ("before", "stones"),
    [
        ("", ["7,7,1"]),
        ("", ["7,7,1", "8,8,2"]),
        ("BEGIN\n", ["7,7,1"]),
        ("BEGIN\n", ["7,7,2", "8,8,2"]),
        ("BEGIN\n", ["7,7,1", "8,8,2", "9,9,2"]),
        ("BEGIN\nTURN 0,3\n", ["7,7,1", "8,8,2"]),
        ("TURN 7,7\nTURN 8,8\n", ["7,7,1", "7,6,2", "8,8,1"]),
        ("", ["7,7,3"]),
        ("", ["7,7,2", "7,7,2"]),
        ("", ["7,7,2", "nonsense"]),
        ("", ["99,7,2"]),
    ],
)
def test_every_other_board_is_an_error_and_the_game_goes_on(before, stones):
    said, code = converse(f"START 15\n{before}{board(*stones)}ABOUT\n", *scripted())
    assert said[-2].startswith("ERROR expected ") and said[-1].startswith("name=") and code == 0


def test_the_engine_is_told_the_time_the_seed_and_that_there_is_no_swap(tmp_path):
    script = tmp_path / "tell.sh"
    script.write_text(
        '#!/bin/sh\nread side\necho "$GOMOKU_MOVE_TIME_S $GOMOKU_SEED $GOMOKU_NO_SWAP $side"\nread x\necho 7 7\nread x\n'
    )
    script.chmod(0o755)
    said, _ = converse("ABOUT\nSTART 15\nINFO timeout_turn 1500\nBEGIN\nABOUT\n", script, GOMOKU_SEED="12")
    assert said[0].startswith('name="tell.sh", version="1.0", author=') and said[-1].startswith('name="1.5 12 1 0", ')
    said, _ = converse("START 15\nTURN 7,8\nABOUT\n", script, GOMOKU_MOVE_TIME_S="0.5")
    assert said[-1].startswith('name="0.5  1 1", ')


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("exit", "exit code 3"),
        ("words", "instead of two numbers"),
        ("swap", "answered with a swap, which Gomocup does not have"),
        ("crash_at_init", "gave no name: exited with exit code 1, saying 'no memory for my tables'"),
    ],
)
def test_a_failing_engine_is_an_error_with_a_sentence_and_the_end(fault, words):
    said, code = converse("START 15\nTURN 7,7\nTURN 8,8\nTURN 9,9\n", *scripted(fault))
    assert said[-1].startswith("ERROR the engine ") and words in said[-1] and code == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [(["nowhere"], "nothing is there"), (["gomocup:{sample}"], "needs no adapter"), (["Minimax"], "is a folder")],
)
def test_a_wrong_call_gets_one_sentence(engines, call, words):
    call = [word.format(sample=engines / "sample") for word in call]
    done = subprocess.run(
        [sys.executable, "-m", "arena.engine.gomocup", *call], capture_output=True, text=True, cwd=ROOT, timeout=30
    )
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1 and words in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_adapter_that_is_killed_leaves_no_engine(engines, number):
    command = [sys.executable, "-m", "arena.engine.gomocup", str(engines / "sample")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, bufsize=1)
    process.stdin.write("START 15\nBEGIN\n")
    assert process.stdout.readline() == "OK\n" and "," in process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.send_signal(number)
    process.communicate()
    assert eventually(lambda: all(is_dead(int(child)) for child in children))


# ------------------------------------------------------------------- end to end: course engine, adapter, arena


def test_a_course_engine_behind_the_adapter_plays_in_the_arena(engines):
    agents = behind_the_adapter(engines / "baseline"), parse_agent(str(engines / "sample"))
    result = play_match(MatchSetup(agents, 2, 5, LIMITS), ThreadRunner(2))
    assert result.wins(0) == 2 and {game.termination.value for game in result.games} == {"five"}
    assert {game.names[0] for game in result.games} == {"baseline"}


def test_a_swap_reaches_a_course_engine_behind_the_adapter(engines):
    game = play_game(GameTask(behind_the_adapter(engines / "baseline"), misbehaving("swap", 2), LIMITS, seed=1))
    assert game.swapped and (game.termination, game.winner, game.faulty) == ("five", 0, None)


def test_the_adapter_hands_the_seed_on(engines):
    games = [play_game(GameTask(behind_the_adapter(engines / "sample"), misbehaving("win"), LIMITS, seed=7)) for _ in range(2)]
    assert games[0].moves == games[1].moves and games[0].faulty is None


def test_engines_of_ours_do_not_swap_where_there_is_no_swap(engines):
    def fourth_ply(name, seed, **env):
        with EngineProcess(EngineSpec(path=str(engines / name), env=env), LIMITS, GameOffer(seed=seed)) as engine:
            engine.start(1)
            second = engine.ask((7, 7))
            return engine.ask((7, 8) if second != (7, 8) else (8, 7))

    for name in ("sample", "baseline", "reference"):
        seed = next(seed for seed in range(9) if fourth_ply(name, seed) == SWAP)
        assert fourth_ply(name, seed, GOMOKU_NO_SWAP="1") != SWAP
