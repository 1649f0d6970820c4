"""Ctrl-C while threads work."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

from common.interrupts import each_in_threads
from tests.machine import ROOT

# Presses Ctrl-C at 60 moments, while calls are prepared or while one ends every half millisecond.
PRESSED = """
import os, signal, threading, time
from contextlib import closing

from common.interrupts import each_in_threads

signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
before = threading.active_count()
for moment in range(60):
    stopping = threading.Event()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.002 * moment)
        with closing(each_in_threads(lambda item: stopping.wait(0.001), range(3000), 2, stopping.set)) as calls:
            for call in calls:
                call.result()
    except KeyboardInterrupt:
        assert threading.active_count() == before, "a thread is left"
    else:
        raise SystemExit("the work ended before it was interrupted")
"""


def test_ctrl_c_ends_the_work_whenever_it_comes():
    subprocess.run([sys.executable, "-c", PRESSED], cwd=ROOT, timeout=120, check=True)


def test_calls_are_yielded_as_they_end_and_a_fault_stays_with_its_call():
    def work(item):
        time.sleep(0.2 if item == 0 else 0)
        return 1 / (item - 1)

    calls = list(each_in_threads(work, [0, 1, 2], 2, lambda: None))
    assert [call.result() for call in calls if call.exception() is None] == [1.0, -1.0]
    assert [type(call.exception()) for call in calls].count(ZeroDivisionError) == 1


def test_a_generator_that_is_closed_asks_the_calls_in_progress_to_end_and_begins_no_other():
    stopping, begun = threading.Event(), []

    def work(item):
        begun.append(item)
        return item == 0 or stopping.wait(60)

    with closing(each_in_threads(work, range(10), 2, stopping.set)) as calls:
        assert next(calls).result() is True
    assert stopping.is_set() and len(begun) <= 4


PRESSED_ELSEWHERE = """
import os, signal, sys
from contextlib import closing

from common.interrupts import each_in_threads

with closing(each_in_threads(str, range(3), 1, lambda: None)) as calls:
    next(calls)
    os.kill(os.getpid(), signal.SIGINT)
    print("noted", flush=True)
"""


def test_a_ctrl_c_between_two_results_is_not_lost_when_nobody_asks_for_another():
    done = subprocess.run([sys.executable, "-c", PRESSED_ELSEWHERE], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "noted\n" and "KeyboardInterrupt" in done.stderr


def test_a_handler_of_the_callers_own_stays_in_place():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        for call in each_in_threads(str, range(3), 1, lambda: None):
            signal.raise_signal(signal.SIGINT)
            assert call.result() in "012"
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == 3
