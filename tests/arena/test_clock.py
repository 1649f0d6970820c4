"""The clock counts the CPU time of everything an engine runs, allows none on the opponent's time, and ends idle engines."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from misbehaving import PROGRAM, misbehaving
from waiting import eventually

from arena.engine import cores, stopwatch, withheld
from arena.engine.cores import one_core
from arena.engine.engine_process import Clock, EngineFailure, EngineProcess, EngineSpec, Limits
from arena.engine.guardian import MARK, environment_mark, process_ids
from arena.engine.process import has_cpu_clock, is_dead
from arena.engine.stopwatch import Allowance
from arena.engine.withheld import Core, has_run_delays
from arena.rules import SWAP

ROOT = Path(__file__).resolve().parents[2]
THOUGHT_S = 0.4

withheld_is_known = pytest.mark.skipif(not has_run_delays(), reason="this system does not count run delays")
pytestmark = pytest.mark.skipif(not has_cpu_clock(), reason="this system does not show other programs' CPU time")


def process(fault, at=1, **limits):
    started = EngineProcess(misbehaving(fault, at), Limits(**{"move_s": 5.0, "init_s": 10.0, **limits}))
    started.start(0)
    return started


@pytest.mark.parametrize("fault", ["think", "child_thinks"])
def test_cpu_time_of_the_engine_and_of_its_children_is_counted(fault):
    with process(fault) as playing:
        playing.ask(SWAP)
        # Once a child has been waited for, its time is known only in ticks of 10 ms.
        assert THOUGHT_S - 0.02 <= playing.spent.cpu_s < THOUGHT_S + 0.3
        playing.ask((0, 0))
        assert playing.spent.cpu_s < 0.2


def test_the_time_of_children_that_nobody_waits_for_is_counted():
    """None of the three thinks for as long as the limit allows."""
    with process("children_forgotten", move_s=2 * THOUGHT_S) as playing, pytest.raises(EngineFailure, match="of CPU time"):
        playing.ask(SWAP)
    assert playing.spent.cpu_s >= 2 * THOUGHT_S


def test_a_child_that_ends_unwaited_for_leaves_no_time_for_later_answers():
    with process("children_forgotten") as playing:
        playing.ask(SWAP)
        first = playing.spent.cpu_s
        playing.ask((0, 0))
    assert first > 1.5 * THOUGHT_S and playing.spent.cpu_s < 0.2


def test_thinking_beyond_the_limit_loses_and_the_sentence_tells_both_clocks():
    with process("think", move_s=0.2) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert failure.value.termination == "timeout" and "0.2 s of CPU time" in str(failure.value)
    assert playing.spent.cpu_s > 0.2


@withheld_is_known
def test_a_busy_core_makes_no_answer_late_by_either_clock(busy_core):
    """With four other programs on the core, 0.4 s of CPU time takes about 2 s."""
    nobodys_s = busy_core()
    with process("think", move_s=0.7, wall_cap_s=0.9) as playing:
        playing.ask(SWAP)
        spent = playing.spent
    nobodys_s = busy_core() - nobodys_s
    assert spent.cpu_s < 0.7 < 0.9 < spent.wall_s
    assert max(0.2, 0.5 * (spent.wall_s - nobodys_s)) < spent.withheld_s <= spent.wall_s - spent.cpu_s


@withheld_is_known
@pytest.mark.parametrize("fault", ["late", "think_and_sleep"])
def test_one_that_sleeps_on_a_busy_core_is_late_all_the_same(busy_core, fault):
    with process(fault, move_s=0.6, wall_cap_s=1.0) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert failure.value.termination == "timeout" and "1 s of wall-clock time" in str(failure.value)
    assert playing.spent.wall_s - playing.spent.withheld_s > 0.95


@pytest.mark.parametrize("fault", ["late", "think"])
def test_an_answer_that_reaches_only_the_longest_limit_is_doubtful_and_nobodys_fault(monkeypatch, fault):
    with process(fault) as playing:
        monkeypatch.setattr(Limits, "allowance", lambda *_: Allowance(cpu_s=5.0, wall_s=30.0, longest_s=0.3))
        with pytest.raises(EngineFailure) as failure:
            playing.ask(SWAP)
    assert failure.value.termination == "undecided" and "too long to tell" in str(failure.value)


def test_a_start_that_is_doubtful_is_no_failed_start(monkeypatch):
    monkeypatch.setattr(Limits, "allowance", lambda *_: Allowance(cpu_s=5.0, wall_s=30.0, longest_s=0.3))
    with EngineProcess(misbehaving("silent_at_init"), Limits()) as starting, pytest.raises(EngineFailure) as failure:
        starting.start(0)
    assert failure.value.termination == "undecided" and str(failure.value).startswith("gave no name within ")


def test_where_run_delays_are_unknown_a_sleeper_is_late_on_an_idle_core_and_doubtful_on_a_busy_one(monkeypatch):
    monkeypatch.setattr(withheld, "has_run_delays", lambda: False)
    monkeypatch.setattr(Limits, "allowance", lambda *_: Allowance(cpu_s=5.0, wall_s=0.5, longest_s=1.5))
    for busy, termination in ((0.0, "timeout"), (1.0, "undecided")):
        monkeypatch.setattr(withheld, "core_times", lambda busy=busy: {0: Core(busy * time.monotonic(), 0.0, time.monotonic())})
        with process("late") as playing, pytest.raises(EngineFailure) as failure:
            playing.ask(SWAP)
        assert failure.value.termination == termination


def test_an_engine_is_told_which_clock_counts(tmp_path):
    script = tmp_path / "tell.sh"
    script.write_text('#!/bin/sh\nread side\necho "$GOMOKU_CLOCK"\n')
    script.chmod(0o755)
    for clock in Clock:
        with EngineProcess(EngineSpec(str(script)), Limits(clock=clock)) as playing:
            assert playing.start(0) == clock.value


def test_the_same_answer_is_late_by_the_wall_clock(busy_core):
    with process("think", move_s=0.7, clock=Clock.WALL) as playing, pytest.raises(EngineFailure, match=r"within 0\.7 s$"):
        playing.ask(SWAP)


def test_one_that_sleeps_ends_at_the_cap_of_wall_clock_time():
    with process("late", move_s=0.2) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert 1.3 < playing.spent.wall_s < 30  # without the cap it would have slept for a minute
    assert "1.4 s of wall-clock time, during which it computed for 0.0" in str(failure.value)
    assert str(failure.value).endswith("if it printed an answer, it did not flush its output")


class Idle:
    """A program that sleeps."""

    withheld, known = withheld.Withheld(set), ()

    def cpu_s(self):
        return 0.0


def test_time_in_which_the_whole_machine_stood_still_makes_no_answer_late(monkeypatch):
    """As after `docker pause`: the program cannot run either while the referee does not look for ten minutes."""
    now = [0.0]
    for module in (stopwatch, withheld):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    watch = stopwatch.Stopwatch(Idle(), Allowance(5.0, 11.0, 110.0))
    for step_s in (*[0.2] * 10, 600.0, *[0.2] * 30):
        now[0] += step_s
        watch.look()
    assert watch.stop().wall_s == pytest.approx(2 + stopwatch.LONGEST_STEP_S + 6)
    now[0] += 1.5
    watch.look()
    now[0] += 0.2
    with pytest.raises(stopwatch.OutOfTime) as late:
        watch.look()
    assert not late.value.doubtful


def test_an_answer_without_the_end_of_its_line_is_quoted():
    with process("no_newline", move_s=0.2) as playing, pytest.raises(EngineFailure) as failure:
        playing.ask(SWAP)
    assert str(failure.value).endswith("has no end of line")


@pytest.mark.parametrize(("fault", "at_least"), [("ponder", 0.03), ("daemon", 0.03), ("wiped", 0.03), ("none", 0.0)])
def test_nobody_thinks_on_the_opponents_time(fault, at_least):
    with process(fault, at=99) as playing:
        tree = playing._tree
        tree.resume()
        before = tree.cpu_s()
        time.sleep(0.3)
        assert tree.cpu_s() - before >= at_least  # if it could think here, the clock would see it
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


def test_games_side_by_side_are_given_different_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "LOCKS", tmp_path)  # so that no other match on this machine has a core
    own = sorted(os.sched_getaffinity(0))

    def taken():
        with one_core() as core:
            return core, os.sched_getaffinity(0)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # a thread begins with the cores of the one that starts it
        with one_core() as first:
            assert first == own[0] and os.sched_getaffinity(0) == {first}
            if len(own) > 1:
                assert pool.submit(taken).result() == (own[1], {own[1]})
    assert sorted(os.sched_getaffinity(0)) == own


def test_games_that_find_no_free_core_share_the_cores_in_turn(tmp_path, monkeypatch):
    """An engine with threads that plans by the wall clock would use too much CPU time on several cores."""
    monkeypatch.setattr(cores, "LOCKS", tmp_path)
    own = os.sched_getaffinity(0)
    shared = []
    with contextlib.ExitStack() as stack:
        for _ in own:
            stack.enter_context(one_core())
            os.sched_setaffinity(0, own)
        for _ in own:
            with one_core() as core:
                shared.append(os.sched_getaffinity(0))
                assert core is None and len(shared[-1]) == 1
    assert set().union(*shared) == own


def test_a_game_is_played_where_the_file_system_has_no_locks(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(cores, "LOCKS", tmp_path)
    monkeypatch.setattr("fcntl.flock", refused)
    own = os.sched_getaffinity(0)
    with one_core() as core:
        assert core is None and len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == own


@pytest.mark.parametrize("fault", ["none", "ponder", "ignore_sigterm", "leave_child", "daemon"])
def test_kill_9_of_the_referee_leaves_no_engine(fault):
    code = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from arena.engine.engine_process import EngineProcess, EngineSpec
engine = EngineProcess(EngineSpec("x", (sys.executable, "-S", {str(PROGRAM)!r}, {fault!r})))
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
    assert eventually(lambda: not engines()), (MARK, engines())
