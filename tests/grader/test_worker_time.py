"""What a worker's time limit counts: its own computing, not what other programs took; in doubt nobody is at fault."""

import time
from random import Random

import pytest
from odd_workers import PLAYER, choose, fault

from arena.engine.process import has_cpu_clock
from arena.engine.stopwatch import Allowance, Stopwatch
from arena.engine.withheld import has_run_delays
from grader.confinement import worker_client
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade


def waited(wall_s, cpu_s):
    spent = f"although less than {cpu_s:g} s of CPU time were used: the program was waiting."
    return f"No reply within {wall_s:g} s of wall-clock time, {spent}"


@pytest.mark.skipif(not has_cpu_clock(), reason="this system does not show the CPU time of other processes")
def test_waiting_for_the_core_counts_not_as_much_as_computing(worker):
    asked = worker("time.sleep(0.8)")
    asked.call("choose", positions=[], **PLAYER)
    assert choose(asked, limit_s=0.5) == [1]
    assert fault(worker("time.sleep(9)"), limit_s=0.5) == waited(2.0, 0.5)


THINKS = "until = time.process_time() + 0.4\n        while time.process_time() < until: pass"


@pytest.mark.skipif(not has_run_delays(), reason="this system does not count run delays")
def test_a_busy_core_makes_no_answer_late(worker, monkeypatch, busy_core):
    """Beside four other programs 0.4 s of CPU time take about 2 s; the limit allows 1.5 s of wall clock."""
    monkeypatch.setattr(worker_client, "cpu_allowance", lambda limit_s: Allowance(limit_s, 1.5, 60.0))
    asked = worker(THINKS)
    started = time.monotonic()
    assert choose(asked) == [1]
    assert time.monotonic() - started > 1.5
    assert fault(worker("time.sleep(9)"), limit_s=7) == waited(1.5, 7)


def test_an_answer_that_came_while_the_grader_itself_waited_is_in_time(worker, monkeypatch):
    look = Stopwatch.look

    def late_look(self):
        time.sleep(1.5)
        look(self)

    monkeypatch.setattr(Stopwatch, "look", late_look)
    monkeypatch.setattr(worker_client, "cpu_allowance", lambda limit_s: Allowance(limit_s, 1.0, 60.0))
    assert choose(worker("time.sleep(0.6)")) == [1]
    assert fault(worker("time.sleep(9)"), limit_s=7) == waited(1.0, 7)


@pytest.fixture
def starved(monkeypatch):
    """A machine so busy that whoever has not answered within 0.7 s is in doubt."""

    def allowance(limit_s):
        return Allowance(limit_s, 60.0, 60.0 if limit_s == worker_client.START_LIMIT_S else 0.7)

    monkeypatch.setattr(worker_client, "cpu_allowance", allowance)


@pytest.fixture
def starts(monkeypatch):
    """Counts the workers that are started."""
    made, start = [], Worker._start
    monkeypatch.setattr(Worker, "_start", lambda self: made.append(start(self)))
    return made


def test_a_doubtful_answer_is_asked_for_again_and_is_then_nobodys_fault(worker, starved, starts):
    asked = worker("time.sleep(60)")
    asked.seed_rng, one_seed = Random(1), Random(1)
    one_seed.getrandbits(32)
    with pytest.raises(CouldNotGrade, match=r"^this machine was too busy: the program computed for 0 of 1 s"):
        choose(asked)
    assert len(starts) == 1 + worker_client.BUSY_REPEATS
    assert asked.seed_rng.getstate() == one_seed.getstate()  # the same question each time
    assert asked.call("choose", positions=[], **PLAYER) == []


def test_an_answer_that_was_doubtful_once_counts_when_it_comes_from_a_fresh_worker(worker, starved, starts, tmp_path):
    slow = tmp_path / "workspace" / "slow"
    asked = worker(f"time.sleep(60 if os.path.exists({str(slow)!r}) else 0)")
    slow.touch()
    close = asked.close
    asked.close = lambda: (slow.unlink(missing_ok=True), close())
    assert choose(asked) == [1] and len(starts) == 2


def test_a_doubtful_answer_of_a_worker_that_holds_a_network_is_not_asked_for_again(worker, starved, starts):
    asked = worker(more={"AlphaZero/policy_value_net_torch.py": b"import time; time.sleep(60)"})
    with pytest.raises(CouldNotGrade, match="too busy"):
        asked.call("net_create", width=3, height=3, block=1)
    assert len(starts) == 1
