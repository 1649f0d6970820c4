"""Waiting for a core counts as withheld time, once however many threads wait; sleeping does not."""

import os
import subprocess
import sys
import time
from itertools import zip_longest

import pytest

from arena.engine import withheld
from arena.engine.process import Descendants, has_cpu_clock
from arena.engine.withheld import Core, Withheld, core_times, has_run_delays

ONE_THREAD_AFTER_ANOTHER = """
import threading, time
def spin():
    until = time.thread_time() + 0.25
    while time.thread_time() < until: pass
input()
for _ in range(2):
    thread = threading.Thread(target=spin)
    thread.start()
    thread.join()
print("done", flush=True)
input()
"""


@pytest.fixture
def clock(monkeypatch):
    """Provide a clock that stands still until it is set, on a system that counts run delays.

    This process itself computes nothing meanwhile.
    """
    now = [100.0]
    monkeypatch.setattr(withheld, "monotonic", lambda: now[0])
    monkeypatch.setattr(withheld, "thread_time", lambda: 3.0)
    monkeypatch.setattr(withheld, "has_run_delays", lambda: True)
    monkeypatch.setattr(withheld, "core_times", dict)
    return now


@pytest.fixture
def looks(clock, monkeypatch):
    """Look repeatedly, every 0.2 s, at threads with these run delays; return the withheld seconds at the end.

    `cpu` is the CPU time of the program up to each look.
    """

    def make(*delays, begin=None, cpu=(), used_s=10.0):
        found = Withheld(set)
        monkeypatch.setattr(found, "_first_threads", lambda: dict(begin or {}))
        found.begin(())
        for each, cpu_s in zip_longest(delays, cpu, fillvalue=0.0):
            clock[0] += 0.2
            monkeypatch.setattr(withheld, "run_delays", lambda _, each=each: each.items())
            found.look(cpu_s)
        return pytest.approx(found.seconds(used_s, exact=False), abs=1e-3)

    return make


def test_a_thread_that_sleeps_is_withheld_nothing_whatever_it_waited_before_the_question(looks):
    assert looks({1: 7.0}, {1: 7.0}, {1: 7.0}, begin={1: 7.0}) == 0


def test_what_one_thread_waited_adds_up_over_the_looks(looks):
    assert looks({1: 7.1}, {1: 7.25}, {1: 7.25}, begin={1: 7.0}) == 0.25


def test_a_program_that_hands_on_its_core_whenever_it_gets_it_is_not_starved(looks):
    waiting = [{1: 0.2 * n} for n in range(1, 51)]
    assert looks(*waiting, used_s=0.001) == withheld.MOST_WAITS * 0.001 + withheld.FREE_S
    assert looks(*waiting, used_s=0.1) == 10


def test_what_this_process_computed_meanwhile_is_not_withheld(looks, monkeypatch):
    own = iter([3.0, 3.3])
    monkeypatch.setattr(withheld, "thread_time", lambda: next(own))
    assert looks({1: 0.2}, {1: 0.4}, begin={1: 0.0}) == 0.1


def test_threads_that_wait_at_the_same_time_wait_once(looks):
    assert looks(dict.fromkeys(range(100), 0.19), dict.fromkeys(range(100), 0.38)) == 0.38


def test_threads_that_wait_for_each_other_earn_no_time_to_sleep(looks):
    """Four threads share a core for 0.4 s, so that each waits for three quarters of that time; then all sleep."""
    waiting, done = dict.fromkeys(range(4), 0.15), dict.fromkeys(range(4), 0.3)
    assert looks(waiting, done, done, done, cpu=(0.2, 0.4, 0.4, 0.4)) == 0
    lumps = [{1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.4}, {1: 0.6, 2: 0.4}]  # reported when the waits are over
    assert looks(*lumps, begin={1: 0.0, 2: 0.0}, cpu=(0.2, 0.4, 0.6, 0.8)) == 0


def test_a_program_whose_threads_wait_for_each_other_and_for_others_has_waited_while_none_of_them_ran(looks):
    waiting = [dict.fromkeys(range(4), 0.18 * n) for n in (1, 2, 3)]
    assert looks(*waiting, cpu=(0.05, 0.10, 0.15)) == 0.45


def test_threads_that_wait_one_after_the_other_are_added_though_they_end(looks):
    assert looks({1: 0.15}, {2: 0.16}, {3: 0.17}, {}) == 0.48


def test_a_wait_is_counted_whole_when_it_ends_long_after_the_last_look(looks):
    assert looks({1: 3.0}, {1: 3.0}, {1: 3.6}, begin={1: 3.0}) == 0.6


def test_waits_that_go_on_at_every_look_are_counted_whole(looks):
    """The delay reported at a look is sometimes less and sometimes more than the time since the previous look."""
    assert looks({1: 0.15}, {1: 0.36}, {1: 0.54}, {1: 0.75}) == 0.75


def test_what_a_thread_waited_in_an_earlier_question_is_not_counted_again(clock, monkeypatch):
    found = Withheld(set)
    for delay, waited_s in ((5.0, 0.2), (5.05, 0.05)):
        monkeypatch.setattr(withheld, "run_delays", lambda _, delay=delay: {1: delay}.items())
        found.begin(())
        clock[0] += 0.2
        found.look(0.0)
        assert found.seconds(0.0, exact=False) == pytest.approx(waited_s, abs=1e-3)


def test_a_thread_that_was_not_seen_before_has_waited_no_longer_than_since_the_last_look(looks):
    assert looks({1: 0.0}, {1: 0.0, 2: 50.0}, begin={1: 0.0}) == 0.2


def test_another_thread_under_the_number_of_one_that_ended_begins_at_nothing(looks):
    assert looks({1: 5.1}, {1: 0.1}, {1: 0.2}, begin={1: 5.0}) == 0.3


def cores(**seconds):
    """Return core number -> times, from arguments such as `c0=(busy, stolen, all)`."""
    return {int(name[1:]): Core(*values) for name, values in seconds.items()}


@pytest.mark.parametrize(
    ("now", "cpu_s", "most"),
    [
        (cores(c0=(8.0, 0.0, 8.0)), 2.0, 6.0),  # other programs had the core whenever the program itself did not
        (cores(c0=(2.0, 0.0, 8.0)), 2.0, 0.0),  # the core was idle except for the program itself
        (cores(c0=(8.0, 0.0, 8.0), c1=(0.5, 0.0, 8.0)), 0.0, 0.5),  # the second core was free
        (cores(c0=(8.0, 0.0, 8.0), c1=(8.0, 0.0, 8.0)), 2.0, 7.0),
        ({}, 2.0, 8.0),  # nothing is known
        (cores(c0=(0.0, 0.0, 0.0)), 2.0, 8.0),  # an emulated /proc whose numbers stand still
    ],
)
def test_without_run_delays_no_more_is_withheld_than_others_can_have_had(clock, monkeypatch, now, cpu_s, most):
    monkeypatch.setattr(withheld, "has_run_delays", lambda: False)
    monkeypatch.setattr(withheld, "core_times", lambda: dict.fromkeys(now, Core(0.0, 0.0, 0.0)))
    found = Withheld(set)
    found.begin(())
    found.look(0.0)
    clock[0] += 8.0
    monkeypatch.setattr(withheld, "core_times", lambda: now)
    assert found.seconds(cpu_s, exact=True) == pytest.approx(most)


def test_what_a_hypervisor_took_is_withheld_as_well(clock, monkeypatch):
    monkeypatch.setattr(withheld, "core_times", lambda: cores(c0=(clock[0], clock[0] / 4, clock[0])))
    found = Withheld(set)
    found.begin(())
    monkeypatch.setattr(withheld, "run_delays", lambda _: {}.items())
    found.look(0.0)
    clock[0] += 8.0
    assert found.seconds(0.0, exact=False) == 0.0
    assert found.seconds(0.0, exact=True) == pytest.approx(2.0)


@pytest.mark.skipif(not has_cpu_clock(), reason="this system does not show other programs' processes")
def test_the_cores_of_this_process_are_read_from_the_system():
    found = core_times()
    assert set(found) == os.sched_getaffinity(0)
    assert all(0 <= stolen <= busy <= whole for busy, stolen, whole in found.values())


@pytest.mark.skipif(not has_run_delays(), reason="this system does not count run delays")
def test_threads_that_have_ended_were_seen_waiting_and_sleepers_were_not(busy_core):
    program = subprocess.Popen([sys.executable, "-c", ONE_THREAD_AFTER_ANOTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tree = Descendants(program.pid)
    try:
        program.stdin.write(b"\n")
        program.stdin.flush()
        os.set_blocking(program.stdout.fileno(), False)
        tree.withheld.begin(tree.known)
        nobodys_s = busy_core()
        started, before_s, said = time.monotonic(), tree.cpu_s(), None
        while not said:
            time.sleep(0.1)
            tree.withheld.look(tree.cpu_s() - before_s)
            said = program.stdout.read()
        passed_s, nobodys_s = time.monotonic() - started, busy_core() - nobodys_s
        waited_s = tree.withheld.seconds(0.5, exact=False)
        assert passed_s > 1.0  # half a second of work alongside four other programs
        assert max(0.2, 0.6 * (passed_s - 0.5 - nobodys_s)) < waited_s <= passed_s
        tree.withheld.begin(tree.known)
        for _ in range(5):
            time.sleep(0.1)
            tree.withheld.look(0.0)
        assert tree.withheld.seconds(0.0, exact=False) < 0.1
    finally:
        program.kill()
        program.communicate()
        tree.withheld.close()
