"""The clock: CPU time of everything an engine runs, nothing while the opponent thinks, and an end for what sleeps."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from Minimax.arena.cores import one_core
from Minimax.arena.engine import Clock, EngineFailure, EngineProcess, EngineSpec, Limits
from Minimax.arena.guardian import MARK, environment_mark, process_ids
from Minimax.arena.process import has_cpu_clock, is_dead
from Minimax.arena.rules import SWAP

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = Path(__file__).with_name("misbehaving_engine.py")
THOUGHT_S = 0.4

pytestmark = pytest.mark.skipif(not has_cpu_clock(), reason="this system does not show other programs' CPU time")


def engine(fault, at=2):
    return EngineSpec(path=fault, command=(sys.executable, "-S", str(FIXTURE), fault, str(at)))


def process(fault, at=1, **limits):
    started = EngineProcess(engine(fault, at), Limits(**{"move_s": 5.0, "init_s": 10.0, **limits}))
    started.start(0)
    return started


@pytest.fixture
def busy_core():
    """This thread, and what it starts, on a core that three other programs want too."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    # In sessions of their own, as the engine is: schedulers share a core among sessions first.
    command = [sys.executable, "-S", "-c", "while True: pass"]
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(4)]
    yield
    for other in others:
        other.kill()
        other.wait()
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize("fault", ["think", "child_thinks"])
def test_cpu_time_of_the_engine_and_of_its_children_is_counted(fault):
    with process(fault) as playing:
        playing.ask(SWAP)
        # A child's time is known in ticks of 10 ms once it has been waited for.
        assert THOUGHT_S - 0.02 <= playing.spent.cpu_s < THOUGHT_S + 0.3
        playing.ask((0, 0))
        assert playing.spent.cpu_s < 0.2


def test_thinking_beyond_the_limit_loses_and_the_sentence_tells_both_clocks():
    with process("think", move_s=0.2) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert failure.value.termination == "timeout" and "0.2 s of CPU time" in str(failure.value)
    assert playing.spent.cpu_s > 0.2


def test_a_busy_core_makes_no_answer_late_by_the_cpu_clock(busy_core):
    with process("think", move_s=0.7, wall_cap_s=30) as playing:
        playing.ask(SWAP)
        assert playing.spent.cpu_s < 0.7 < playing.spent.wall_s


def test_the_same_answer_is_late_by_the_wall_clock(busy_core):
    with process("think", move_s=0.7, clock=Clock.WALL) as playing, pytest.raises(EngineFailure, match=r"within 0\.7 s$"):
        playing.ask(SWAP)


def test_one_that_sleeps_ends_at_the_cap_of_wall_clock_time():
    with process("late", move_s=0.2) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert 1.3 < playing.spent.wall_s < 3
    assert "1.4 s of wall clock, of which it was computing for 0.0" in str(failure.value)


@pytest.mark.parametrize(("fault", "at_least"), [("ponder", 0.03), ("daemon", 0.03), ("wiped", 0.03), ("none", 0.0)])
def test_nobody_thinks_on_the_opponents_time(fault, at_least):
    with process(fault, at=99) as playing:
        tree = playing._tree
        tree.resume()
        before = tree.cpu_s()
        time.sleep(0.3)
        assert tree.cpu_s() - before >= at_least  # it would think, and be seen thinking
        tree.stop()
        before = tree.cpu_s()
        time.sleep(0.5)
        assert tree.cpu_s() - before < 0.01
        members = tree.members()
        playing.ask(SWAP)
    assert all(is_dead(pid) for pid in members)


def test_memory_beyond_the_limit_is_refused():
    with process("allocate", memory_mib=512) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert failure.value.termination == "crash" and "MemoryError" in str(failure.value)


def test_games_side_by_side_are_given_different_cores():
    cores = sorted(os.sched_getaffinity(0))
    with one_core() as first, one_core() as second:
        assert first in [*cores, None] and (second != first or first is None)  # None: another match has them
        assert second is None or os.sched_getaffinity(0) == {second}
    assert sorted(os.sched_getaffinity(0)) == cores


@pytest.mark.parametrize("fault", ["none", "ponder", "ignore_sigterm", "leave_child", "daemon"])
def test_kill_9_of_the_referee_leaves_no_engine(fault):
    code = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from Minimax.arena.engine import EngineProcess, EngineSpec
engine = EngineProcess(EngineSpec("x", (sys.executable, "-S", {str(FIXTURE)!r}, {fault!r})))
engine.start(0)
print("started", flush=True)
time.sleep(60)
"""
    referee = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert referee.stdout.readline() == b"started\n"

    def engines():
        return [pid for pid in process_ids() if (environment_mark(pid) or "").startswith(f"{referee.pid}-")]

    assert engines()
    referee.send_signal(signal.SIGKILL)
    referee.communicate()
    for _ in range(200):
        if not engines():
            break
        time.sleep(0.02)
    assert engines() == [], MARK
