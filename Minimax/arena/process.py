"""A program and everything that it starts, as one thing: its CPU time, stopping and resuming it, ending it whole.

Processes are found by a mark in their environment, which children inherit, and by parentage, so that one that leaves its
session or wipes its environment is still seen. One that does both and outlives its parent is held only by a process
namespace, such as the grader's. Linux shows both under /proc; elsewhere the program's own session is all that is known,
and there is no CPU time.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from Minimax.arena.guardian import MARK, PROC, children, environment_mark, process_ids

KILL_WAIT_S = 1.0
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_numbers = itertools.count()


def has_cpu_clock() -> bool:
    """Whether this system shows the CPU time of other processes."""
    return PROC.is_dir() and sys.platform == "linux"


@cache
def _guarded_prefix(pid: int) -> str:
    """What the marks of this process begin with; a guardian ends all that carry it when this process is gone."""
    prefix = f"{pid}-{secrets.token_hex(4)}-"
    script = str(Path(__file__).with_name("guardian.py"))
    null = subprocess.DEVNULL
    # Its standard input is never written: it ends with this process, however that ends.
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


_guardians: list[subprocess.Popen[bytes]] = []  # kept, since collecting one would close its input


class ProcessTree:
    """A started program with three unblocked pipes.

    Args:
        argv: program and arguments.
        env: its whole environment but for the mark.
        cwd: its working folder.
        memory_mib: address space a process, unlimited if None.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None, memory_mib: int | None = None
    ) -> None:
        self.mark = f"{_guarded_prefix(os.getpid())}{next(_numbers)}"
        self._own: set[int] = set()
        self._foreign: set[int] = set()
        self._stopped: set[int] = set()
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, cwd=cwd, env={**env, MARK: self.mark}, start_new_session=True
        )
        assert self.popen.stdin is not None and self.popen.stdout is not None and self.popen.stderr is not None
        self.stdin, self.stdout, self.stderr = self.popen.stdin, self.popen.stdout, self.popen.stderr
        for stream in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(stream.fileno(), False)
        if memory_mib is not None and hasattr(resource, "prlimit"):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self.popen.pid, resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))

    def members(self) -> set[int]:
        """Process ids of the program and what it started, the dead that nobody has waited for among them."""
        running = process_ids()
        self._foreign &= running
        self._own &= running
        if self.popen.returncode is None:
            self._own.add(self.popen.pid)
        for pid in running - self._foreign - self._own:
            (self._own if environment_mark(pid) == self.mark else self._foreign).add(pid)
        waiting = list(self._own)
        while waiting:
            new = set(children(waiting.pop())) - self._own
            self._own |= new
            waiting.extend(new)
        return set(self._own)

    def cpu_s(self) -> float:
        """CPU seconds used so far by all of them, 0 where the system does not tell."""
        return sum(_cpu_s(pid) for pid in self.members()) if has_cpu_clock() else 0.0

    def stop(self) -> None:
        """Let none of them run until `resume`."""
        while new := self.members() - self._stopped:
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            self._stopped |= new

    def resume(self) -> None:
        """Let them run again."""
        for pid in self._stopped:
            _signal(pid, signal.SIGCONT)
        self._stopped.clear()

    def kill(self) -> None:
        """End all of them and wait until they are gone."""
        for stream in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                stream.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        until = time.monotonic() + KILL_WAIT_S
        while time.monotonic() < until:
            for pid in self.members():
                _signal(pid, signal.SIGKILL)
            if self.popen.poll() is not None and all(is_dead(pid) for pid in self.members()):
                return
            time.sleep(0.001)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def is_dead(pid: int) -> bool:
    """Gone, or only not yet waited for by its parent."""
    try:
        return (PROC / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def _cpu_s(pid: int) -> float:
    """CPU seconds of a process, all its threads, and of those children that it has waited for."""
    try:
        # The kernel's number for "CPU clock of process pid" (Linux, posix-timers.h: ~pid << 3 | CPUCLOCK_SCHED).
        own = time.clock_gettime(~pid << 3 | 2)
        fields = (PROC / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()
    except OSError:
        return 0.0
    return own + (int(fields[13]) + int(fields[14])) * _TICK_S


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself for a signal without a name."""
    return next((known.name for known in signal.Signals if known == number), str(number))
