"""Measure how long other programs kept a program from running.

For each thread, Linux counts how long it was ready to run but waited for a core: its run delay, the second number in
/proc/PID/task/TID/schedstat. A thread that sleeps or is stopped does not wait, so this number distinguishes a starved program
from an idle one. It disappears when the thread ends, so it is read several times a second while an
answer is pending.

If several threads waited at the same time, only the longest wait counts, never the sum: a hundred threads that wait for one
core have waited once. Nor does waiting count while another thread of the program is running: threads that compete with
each other have only themselves to blame. So a program cannot gain time to sleep by starting many threads. A program that hands
its core on as soon as it gets it waits for nearly all of the time, so waiting counts only up to MOST_WAITS times the CPU
time used. What this process itself computed meanwhile, to read a flood of output for instance, is not withheld either.

If the system does not count run delays, /proc/stat gives an upper bound: a program can only have waited while other programs
had the cores. If that file is not available either, all of the time may have been withheld. Time that a hypervisor took
from the cores (steal) also counts as withheld; run delays do not include it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import monotonic, thread_time
from typing import NamedTuple

from arena.engine.guardian import PROC, read_file

OPEN_FILES = 8  # how many processes are read at every question; the rest of a larger tree is read only if the answer takes long
MOST_WAITS = 100  # a program that shares a core fairly with 100 others waits 100 times as long as it computes
FREE_S = 1.0  # waiting that counts whatever the program computes
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# The columns of a core in /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
_CORE = re.compile(rb"cpu(\d+)((?: \d+){8})")
_BUSY, _STEAL = (0, 1, 2, 5, 6, 7), 7


@cache
def has_run_delays() -> bool:
    """Return whether this system counts how long threads wait for a core; if not, the file is missing or contains zeros."""
    try:
        return int(read_file(f"{PROC}/self/schedstat").split()[0]) > 0
    except (OSError, ValueError, IndexError):
        return False


@dataclass
class _Step:
    """The interval from one look to the next.

    Attributes:
        length_s: wall-clock seconds.
        idle_s: the seconds of the interval in which no thread of the program ran.
        waits: thread -> seconds that it waited in the interval, as far as known yet.
    """

    length_s: float
    idle_s: float
    waits: dict[int, float] = field(default_factory=dict)

    @property
    def withheld_s(self) -> float:
        """The seconds of the interval that other programs withheld."""
        return min(self.idle_s, max(self.waits.values(), default=0.0))


class Withheld:
    """Measures the time withheld from a program, one question at a time.

    Args:
        members: returns the process ids of the program.
    """

    def __init__(self, members: Callable[[], Collection[int]]) -> None:
        self._members = members
        self._files: dict[int, int] = {}  # process -> its open schedstat, which is read at every question
        self._delays: dict[int, float] = {}  # thread -> its run delay when it was last read during this question
        self._earlier: dict[int, float] = {}  # thread -> its run delay when it was last read before this question
        self._steps: list[_Step] = []  # the steps of this question
        self._begun_s = self._looked_s = self._looked_cpu_s = self._waited_s = self._own_s = 0.0
        self._cores: dict[int, Core] | None = None  # as read at the first look

    def begin(self, known: Iterable[int]) -> None:
        """Begin a question.

        Args:
            known: the process ids of the program that are known without a search.
        """
        self._begun_s = self._looked_s = monotonic()
        self._looked_cpu_s = self._waited_s = 0.0
        self._own_s = thread_time()
        self._steps, self._cores = [], None
        if not has_run_delays():
            return
        for pid in known:
            if pid not in self._files and len(self._files) < OPEN_FILES:
                try:
                    self._files[pid] = os.open(f"{PROC}/{pid}/schedstat", os.O_RDONLY)
                except OSError:
                    continue
        self._earlier.update(self._delays)
        self._delays = self._first_threads()

    def glance(self, cpu_s: float) -> None:
        """Record how long the first threads of the processes with open files have waited since the last look; this is cheap.

        Args:
            cpu_s: CPU seconds that the program has used since the question began, as in the methods below.
        """
        if self._files:
            self._take(self._first_threads(), cpu_s)

    def look(self, cpu_s: float) -> None:
        """Record how long each thread of the program has waited since the last look."""
        if self._cores is None:
            self._cores = core_times()
        if has_run_delays():
            delays = dict(run_delays(self._members()))
            self._take(delays, cpu_s)
            self._delays, self._earlier = delays, {}  # this drops the threads that have ended

    def _take(self, delays: dict[int, float], cpu_s: float) -> None:
        now = monotonic()
        length_s = now - self._looked_s
        self._steps.append(_Step(length_s, max(0.0, length_s - (cpu_s - self._looked_cpu_s))))
        self._looked_s, self._looked_cpu_s = now, cpu_s
        for thread, delay in delays.items():
            before = self._delays.get(thread)
            if before is None or before > delay:  # not read at the last look; it cannot have waited for longer than this step
                before = max(self._earlier.get(thread, 0.0), delay - length_s)
            self._spread(thread, delay - before)
        self._delays.update(delays)

    def _spread(self, thread: int, wait_s: float) -> None:
        """Assign a newly discovered wait to the most recent steps, where it must have happened.

        The system counts a wait when the wait ends, so it may have begun before the last look.
        """
        for step in reversed(self._steps):
            if wait_s <= 0:
                break
            before_s, known_s = step.withheld_s, step.waits.get(thread, 0.0)
            step.waits[thread] = min(step.length_s, known_s + wait_s)
            wait_s -= step.waits[thread] - known_s
            self._waited_s += step.withheld_s - before_s

    def seconds(self, cpu_s: float, exact: bool) -> float:
        """Return the seconds that may have been withheld since the question began. The same thread must have begun it.

        Args:
            cpu_s: CPU seconds that the program has used since then.
            exact: whether to read /proc/stat as well; without it, the result may be too small.
        """
        own_s = thread_time() - self._own_s
        waited_s = max(0.0, min(self._waited_s - own_s, MOST_WAITS * cpu_s + FREE_S))
        if self._cores is None or (has_run_delays() and not exact):  # None: the answer came before the first look
            return waited_s
        passed_s, used = monotonic() - self._begun_s, used_since(self._cores, core_times())
        is_real = sum(core.all_s for core in used) > passed_s / 2  # the numbers of an emulated /proc stand still
        if has_run_delays():
            return waited_s + (sum(core.stolen_s for core in used) / len(used) if is_real else 0.0)
        if not is_real:
            return passed_s
        return most_withheld_s(used, cpu_s)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _first_threads(self) -> dict[int, float]:
        """Return the run delay of the first thread of each process whose file is open."""
        delays = {}
        for pid, file in list(self._files.items()):
            try:
                delays[pid] = _run_delay_s(os.pread(file, 128, 0))
            except OSError:  # the process has ended
                os.close(self._files.pop(pid))
        return delays


def run_delays(pids: Iterable[int]) -> Iterator[tuple[int, float]]:
    """Yield the living threads of these processes, each with its run delay in seconds."""
    for pid in pids:
        try:
            threads = os.listdir(f"{PROC}/{pid}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                yield int(thread), _run_delay_s(read_file(f"{PROC}/{pid}/task/{thread}/schedstat"))
            except OSError:
                continue


def _run_delay_s(schedstat: bytes) -> float:
    return int(schedstat.split()[1]) / 1e9


class Core(NamedTuple):
    """How one core has spent its time since the system started, in seconds."""

    busy_s: float
    stolen_s: float
    all_s: float


def core_times() -> dict[int, Core]:
    """Return core number -> times for the cores that this thread may use; empty if the system does not show them."""
    try:
        lines = read_file(f"{PROC}/stat").split(b"\n")
        own = os.sched_getaffinity(0)
    except (OSError, AttributeError):
        return {}
    times = {}
    for line in lines:
        match = _CORE.match(line)
        if match and int(match[1]) in own:
            ticks = [int(word) for word in match[2].split()]
            busy = sum(ticks[column] for column in _BUSY)
            times[int(match[1])] = Core(busy * _TICK_S, ticks[_STEAL] * _TICK_S, (busy + sum(ticks[3:5])) * _TICK_S)
    return times


def used_since(before: Mapping[int, Core], now: Mapping[int, Core]) -> list[Core]:
    """Return the times between two calls of `core_times`, for each core that both know."""
    return [Core(*(b - a for a, b in zip(before[i], now[i], strict=True))) for i in before if i in now]


def most_withheld_s(used: Sequence[Core], own_s: float) -> float:
    """Return an upper bound on the seconds that other programs withheld from a program; 0 if no core is known.

    A program waits only while all cores are taken: no longer than other programs had all of them, and no longer than the least
    busy core was busy.

    Args:
        used: what each core was used for meanwhile.
        own_s: CPU seconds that the program itself used.
    """
    busy = [core.busy_s for core in used]
    return max(0.0, min((sum(busy) - own_s) / len(busy), *busy)) if busy else 0.0
