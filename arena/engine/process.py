"""A program and everything it starts, treated as one unit: measure its CPU time, and stop, resume and kill it.

Processes are found by a mark in their environment, which children inherit, and by their parents. So a process that leaves its
session or clears its environment is still found. A process that does both and outlives its parent escapes, unless a process
namespace such as the grader's contains it. Linux shows marks and parents under /proc. On other systems only the program's own
session is known, and CPU time cannot be measured.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from arena.engine.guardian import MARK, PROC, children, environment_mark, process_ids, read_file
from arena.engine.withheld import Withheld

KILL_WAIT_S = 1.0
RESCAN_S = 0.02
OPEN_FILES = 1 << 14
LOADING_S = 0.25  # a process whose environment stays empty for longer is not a program of ours that is being loaded
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@cache
def has_cpu_clock() -> bool:
    """Return whether this system reports the CPU time of other processes."""
    return PROC.is_dir() and sys.platform == "linux"


def _newest() -> bytes:
    """Return a word that changes whenever a process or thread is created; it is empty if the system offers no such word.

    On Linux this is the last field of /proc/loadavg: the id assigned most recently in this process's namespace or one below.
    """
    handle = _loadavg()
    return os.pread(handle, 128, 0).rsplit(b" ", 1)[-1] if handle >= 0 else b""


@cache
def _loadavg() -> int:
    return _open(f"{PROC}/loadavg")


def _open(path: str) -> int:
    """Open a system file and keep it open, since it is read at every move; return -1 if there is no such file."""
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return -1


@cache
def _guarded_prefix(pid: int) -> str:
    """Return the prefix of all marks of this process, and start a guardian that kills the marked processes when it ends."""
    _allow_open_files()
    prefix = f"{pid}-{secrets.token_hex(4)}-"
    script = str(Path(__file__).with_name("guardian.py"))
    null = subprocess.DEVNULL
    # Nothing is ever written to the guardian's standard input, which is closed when this process ends for whatever reason.
    guardian = subprocess.Popen(
        [sys.executable, "-I", "-S", script, prefix],
        stdin=subprocess.PIPE,
        stdout=null,
        stderr=null,
        env={},
        start_new_session=True,
    )
    _guardians.append(guardian)
    return prefix


def _allow_open_files() -> None:
    """Raise this process's limit of open files as far as it may: a game holds up to 25, and there is a game for each core."""
    with contextlib.suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


_guardians: list[subprocess.Popen[bytes]] = []  # keep references, since garbage collection would close their inputs


class ProcessTree:
    """A running program with three non-blocking pipes.

    Args:
        argv: program and arguments.
        env: the whole environment of the program, except for the mark.
        cwd: the working folder of the program.
        memory_mib: limit on the address space of each process, in MiB; None for no limit.

    Attributes:
        withheld: measures the time that other programs withhold from the program.

    Raises:
        OSError: the program cannot be started.
    """

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None, memory_mib: int | None = None
    ) -> None:
        # Random, since a program may change its own mark: it must not be able to guess that of another program.
        self.mark = f"{_guarded_prefix(os.getpid())}{secrets.token_hex(8)}"
        self._own: set[int] = set()
        self._foreign = process_ids()  # none of these belongs to the program, which has not started yet
        self._unclear: dict[int, float] = {}  # process id -> when it was first seen
        self._stopped: set[int] = set()
        self.withheld = Withheld(self.members)
        self._meter = _CpuMeter()
        self._seen, self._settled, self._scanned_s = b"", False, -math.inf
        before = _newest()
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, cwd=cwd, env={**env, MARK: self.mark}, start_new_session=True
        )
        assert self.popen.stdin is not None and self.popen.stdout is not None and self.popen.stderr is not None
        self._counted = _newest() != before  # false if /proc is emulated
        self._own.add(self.popen.pid)
        self.stdin, self.stdout, self.stderr = self.popen.stdin, self.popen.stdout, self.popen.stderr
        self._stat = _open(f"{PROC}/{self.popen.pid}/stat")
        for stream in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(stream.fileno(), False)
        if memory_mib is not None and hasattr(resource, "prlimit"):
            _limit_memory(self.popen.pid, memory_mib << 20)

    @property
    def known(self) -> set[int]:
        """The members found by the last search."""
        return self._own

    def members(self, search: bool = False) -> set[int]:
        """Return the process ids of the program and everything it started, including zombies.

        Args:
            search: examine every process even if none was created since the last search.
        """
        newest, now = _newest(), time.monotonic()
        unchanged = self._counted and newest == self._seen
        # Nothing may have changed between two searches in a row, since an id is assigned a moment before its process becomes
        # visible. Ids are reused, but not within RESCAN_S.
        if search or self._unclear or not (unchanged and self._settled and now - self._scanned_s < RESCAN_S):
            self._scan()
            self._seen, self._settled, self._scanned_s = newest, unchanged, now
        return set(self._own)

    def _scan(self) -> None:
        running = process_ids()
        self._foreign &= running
        self._own &= running
        if self.popen.returncode is None:
            self._own.add(self.popen.pid)
        unclear, now = {}, time.monotonic()
        for pid in running - self._foreign - self._own:
            mark, first_seen_s = environment_mark(pid), self._unclear.get(pid, now)
            if mark is None and now - first_seen_s < LOADING_S and not is_dead(pid):
                unclear[pid] = first_seen_s
            else:
                (self._own if mark == self.mark else self._foreign).add(pid)
        waiting = list(self._own)
        while waiting:
            new = set(children(waiting.pop())) - self._own
            self._own |= new
            waiting.extend(new)
        self._unclear = {pid: since for pid, since in unclear.items() if pid not in self._own}

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far by all processes of the tree; 0 if the system does not report them."""
        if not has_cpu_clock():
            return 0.0
        return self._meter.read(self.members(), {self.popen.pid: self._stat})

    def stop(self) -> None:
        """Stop all processes of the tree until `resume`."""
        while (new := self.members() - self._stopped) or self._unclear:
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            self._stopped |= new

    def resume(self) -> None:
        """Let the stopped processes run again."""
        for pid in self._stopped:
            _signal(pid, signal.SIGCONT)
        self._stopped.clear()

    def kill(self) -> None:
        """Kill all processes of the tree and wait until they are gone."""
        self.stop()  # stop first: closing its input may end the program, and then it no longer shows its children
        for stream in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                stream.close()
        if self._stat >= 0:
            os.close(self._stat)
            self._stat = -1
        self.withheld.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        until, pause_s = time.monotonic() + KILL_WAIT_S, 0.0001
        while time.monotonic() < until:
            for pid in self.members():
                _signal(pid, signal.SIGKILL)
            if self.popen.poll() is not None and all(is_dead(pid) for pid in self.members(search=True)) and not self._unclear:
                return
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.002)


def _limit_memory(pid: int, most: int) -> None:
    """Limit the address space of a process to `most` bytes; a lower limit that it has inherited stays."""
    with contextlib.suppress(ProcessLookupError):
        _, inherited = resource.prlimit(pid, resource.RLIMIT_AS)
        limit = min(most, sys.maxsize, *([] if inherited == resource.RLIM_INFINITY else [inherited]))
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def is_dead(pid: int) -> bool:
    """Return whether a process has ended, even if its parent has not waited for it yet."""
    try:
        return _fields(read_file(f"{PROC}/{pid}/stat"))[0] in (b"Z", b"X")
    except OSError:
        return True


class Descendants:
    """A process that was started elsewhere, and all its descendants, for use with `arena.engine.stopwatch.Stopwatch`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.withheld = Withheld(self.members)
        self._meter = _CpuMeter()

    @property
    def known(self) -> set[int]:
        """The same as `members()`, which does not have to search the whole system here."""
        return self.members()

    def members(self) -> set[int]:
        """Return the process ids; only the first one if the system does not show children."""
        members, waiting = set[int](), [self._pid]
        while waiting:
            new = {waiting.pop()} - members
            members |= new
            waiting += [child for pid in new for child in children(pid)]
        return members

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far by all these processes; 0 if the system does not report them."""
        return self._meter.read(self.members()) if has_cpu_clock() else 0.0


class _CpuMeter:
    """Adds up the CPU time of a program's processes, including those that have ended; the sum never decreases.

    The time of a process that has ended is known in two ways: its parent has waited for it and counts it (in ticks), or it was
    read here while the process was running. The kernel forgets the time of a child whose parent ignores SIGCHLD, so the second
    way is needed as well. Neither sum exceeds the true one, so the larger of the two counts.
    """

    def __init__(self) -> None:
        self._running: dict[int, float] = {}  # process -> its own CPU seconds when they were last read
        self._ended: dict[int, float] = {}  # the same for the processes that have ended since
        self._waited_s = 0.0  # the most that all parents together have counted for their children

    def read(self, pids: Iterable[int], open_stats: Mapping[int, int] | None = None) -> float:
        """Return the CPU seconds of these processes, and of the earlier ones that have ended.

        Args:
            pids: all processes of the program.
            open_stats: process -> descriptor of its open /proc/PID/stat; -1 if it could not be opened.
        """
        running, waited_s = {}, 0.0
        for pid in pids:
            stat = -1 if open_stats is None else open_stats.get(pid, -1)
            try:
                # The kernel's number for "CPU clock of process pid" (Linux, posix-timers.h: ~pid << 3 | CPUCLOCK_SCHED).
                own_s = time.clock_gettime(~pid << 3 | 2)
                fields = _fields(os.pread(stat, 2048, 0) if stat >= 0 else read_file(f"{PROC}/{pid}/stat"))
            except OSError:
                continue
            running[pid] = own_s
            waited_s += (int(fields[13]) + int(fields[14])) * _TICK_S
        for pid in self._running.keys() - running.keys():
            self._ended[pid] = self._ended.get(pid, 0.0) + self._running[pid]
        for pid in self._ended.keys() & running.keys():
            if running[pid] >= self._ended[pid]:  # it runs on: Linux may leave out a child while another one is ending
                del self._ended[pid]
        self._running, self._waited_s = running, max(self._waited_s, waited_s)
        return sum(running.values()) + max(sum(self._ended.values()), self._waited_s)


def _fields(stat: bytes) -> list[bytes]:
    """Return the fields after the program's name in /proc/PID/stat; the first is the state, field 3 in proc(5)."""
    return stat.rsplit(b")", 1)[1].split(maxsplit=15)


def signal_name(number: int) -> str:
    """Return the name of a signal, such as `SIGKILL` for 9, or the number itself if the signal has no name."""
    return next((known.name for known in signal.Signals if known == number), str(number))
