"""What an engine writes and does counts in the same way every time, and messages say what it did."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from game_records import game_record
from misbehaving import misbehaving
from waiting import PATIENCE_S, eventually

from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, Limits
from arena.engine.stopwatch import Spent
from arena.match.as_text import how_it_ended
from arena.rules import SWAP, Termination

ROOT = Path(__file__).resolve().parents[2]
NAME = "import os, sys, time\nsys.stdin.readline()\nos.write(1, b'name\\n')\n"


def engine(code):
    """Return a started engine that gives its name and then runs the code."""
    found = EngineProcess(EngineSpec("engine", (sys.executable, "-S", "-c", NAME + code)))
    found.start(0)
    return found


def fault_of(playing, question=SWAP):
    with pytest.raises(EngineFailure) as failure:
        playing.ask(question)
    return failure.value


def test_a_line_is_too_long_however_it_arrives():
    with engine("for line in sys.stdin: os.write(1, b' ' * 5000 + b'7 7\\n')") as playing:
        fault = fault_of(playing)
    assert fault.termination == Termination.MALFORMED and "more than 4096 bytes" in str(fault)


def test_an_answer_before_the_question_takes_no_time():
    with engine("for line in sys.stdin: time.sleep(0.2); os.write(1, b'7 7\\n7 8\\n')") as playing:
        playing.ask(SWAP)
        assert playing.spent.wall_s >= 0.2
        fault = fault_of(playing, (1, 1))
    assert fault.termination == Termination.MALFORMED and playing.spent == Spent()


def test_an_engine_that_has_exited_cannot_answer_through_a_child():
    with engine("if os.fork(): sys.exit(3)\nfor line in sys.stdin: os.write(1, b'7 7\\n')") as playing:
        playing._tree.resume()  # it may have been stopped, after its name, before it could exit
        playing._tree.popen.wait(20)
        fault = fault_of(playing)
    assert fault.termination == Termination.CRASH and "exit code 3" in str(fault)


def test_an_engine_that_closes_its_input_is_told_so():
    with engine("os.close(0); sys.stdin = None; time.sleep(60)") as playing:
        playing._tree.resume()
        assert eventually(lambda: not Path(f"/proc/{playing._tree.popen.pid}/fd/0").exists(), PATIENCE_S)
        fault = fault_of(playing)
    assert fault.termination == Termination.CRASH and str(fault) == "closed its input"


def test_a_name_cannot_command_the_terminal():
    code = "import sys; sys.stdin.readline(); print('na\\033[2Jme\\u202e', flush=True); sys.stdin.read()"
    with EngineProcess(EngineSpec("engine", (sys.executable, "-c", code))) as playing:
        assert re.fullmatch(r"na \[2Jme", playing.start(0))


def test_a_game_names_an_agent_that_gave_no_name():
    game = replace(
        game_record(0), names=("", ""), faulty=0, winner=1, detail="gave no name", termination=Termination.INIT_FAILED
    )
    assert how_it_ended(game) == "agent 1 wins: agent 0 gave no name (init_failed)."


def test_a_memory_limit_beyond_all_numbers_is_none():
    with EngineProcess(misbehaving(), Limits(memory_mib=10**15)) as playing:
        playing.start(0)


def test_a_lower_memory_limit_of_the_user_stays():
    code = (
        "import os, resource, sys; sys.path[:0] = ['.', 'tests']\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from misbehaving import misbehaving\n"
        "from arena.engine.engine_process import EngineProcess, Limits\n"
        "with EngineProcess(misbehaving(), Limits(memory_mib=4096)) as playing:\n"
        "    playing.start(0)\n"
        "    print(resource.prlimit(playing._tree.popen.pid, resource.RLIMIT_AS)[1] >> 20)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "3072", done.stderr
