"""Probes: what a hostile program would try first, in a few lines each; `grader.confinement.doctor` runs them in the sandbox.

    python -I -S probes.py NAME ARGUMENT...

Each probe prints its result as one line of JSON. Each limits itself, so that it does no harm if the confinement does not hold.
This module uses only the standard library and imports nothing from the grader, since it runs where the grader is not visible.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLONE_NEWUSER = 0x10000000
PIECE_BYTES = 4 << 20
MOST_WRITTEN_BYTES = 256 << 20
WAIT_S = 30


def read(*paths: str) -> list[str]:
    """Return the files that can be read."""
    return [path for path in paths if _opens(path)]


def _opens(path: str) -> bool:
    try:
        return bool(Path(path).read_bytes())
    except OSError:
        return False


def write(*folders: str) -> list[str]:
    """Return the folders in which a file can be created."""
    found = []
    for folder in folders:
        path = Path(folder, f"probe-{os.getpid()}")
        try:
            path.write_bytes(b"written")
            path.unlink()
        except OSError:
            continue
        found.append(folder)
    return found


def connect(port: str) -> bool:
    """Return whether a service on this machine answers."""
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=2).close()
    except OSError:
        return False
    return True


def processes(*ids: str) -> list[str]:
    """Return the processes that can be seen."""
    return [pid for pid in ids if Path("/proc", pid, "stat").exists()]


def user() -> dict[str, Any]:
    """Return the user id, and whether the kernel prevents set-user-id programs from giving more privileges."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    return {"uid": os.getuid(), "no_new_privileges": fields.get("NoNewPrivs") == "1"}


def children(most: str) -> int:
    """Return how many of `most` processes could be started at once; they end when their pipe is closed."""
    waits, wakes = os.pipe()
    started: list[int] = []
    try:
        while len(started) < int(most):
            pid = os.fork()
            if pid == 0:
                os.close(wakes)
                os.read(waits, 1)
                os._exit(0)
            started.append(pid)
    except OSError:
        pass
    os.close(wakes)
    for pid in started:
        os.waitpid(pid, 0)
    return len(started)


def reach(*ids: str) -> list[str]:
    """Return the processes that can be signalled or whose memory can be opened, including process 1 and the parent."""
    found = []
    waits, wakes = os.pipe()
    for pid in ids:
        # A file can be told to send a signal, such as SIGKILL, to the process that owns it.
        for signals in (lambda pid: os.kill(pid, 0), lambda pid: fcntl.fcntl(waits, fcntl.F_SETOWN, pid)):
            try:
                signals(int(pid))
            except OSError:
                continue
            found.append(pid)
    os.close(waits)
    os.close(wakes)
    for pid in (*ids, "1", str(os.getppid())):
        try:
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
        except OSError:
            continue
        found.append(pid)
    return list(dict.fromkeys(found))


def threads(most: str) -> int:
    """Return how many of `most` threads could be started at once."""
    done, started = threading.Event(), 0
    threading.stack_size(64 << 10)
    try:
        while started < int(most):
            threading.Thread(target=done.wait, daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    done.set()
    return started


def fill(folder: str) -> int:
    """Return how many bytes can be written to a folder, in many files."""
    written = 0
    files: list[Path] = []
    try:
        while written < MOST_WRITTEN_BYTES:
            path = Path(folder, f"fill-{len(files)}")
            files.append(path)
            written += path.write_bytes(bytes(PIECE_BYTES))
    except OSError:
        pass
    for path in files:
        path.unlink(missing_ok=True)
    return written


def crowd(folder: str, most: str) -> int:
    """Return how many of `most` empty files can be created in a folder."""
    made = 0
    try:
        while made < int(most):
            Path(folder, f"file-{made}").touch(exist_ok=False)
            made += 1
    except OSError:
        pass
    for number in range(made):
        Path(folder, f"file-{number}").unlink()
    return made


def allocate(mib: str) -> bool:
    """Return whether this much memory can be allocated; it is not touched."""
    try:
        return len(bytearray(int(mib) << 20)) > 0
    except MemoryError:
        return False


def uncounted() -> bool:
    """Return whether memory can be had that is not charged to any process: an anonymous file (memfd) or System V semaphores."""
    libc = ctypes.CDLL(None, use_errno=True)
    semaphores = libc.semget(0, 1, 0o600)  # 0 is IPC_PRIVATE
    if semaphores >= 0:
        libc.semctl(semaphores, 0, 0)  # 0 is IPC_RMID: without an IPC namespace they would outlive this program
        return True
    try:
        os.close(os.memfd_create("probe"))
    except (OSError, AttributeError):
        return False
    return True


def namespace() -> bool:
    """Return whether a user namespace can be created, in which this program would be root."""
    return ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) == 0


def deaf() -> bool:
    """Ignore all signals that can be ignored, and keep running."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    print("true", flush=True)
    time.sleep(WAIT_S)
    return True


def daemon() -> bool:
    """Leave behind a process that has its own session and no parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 3)  # so that a reader of this program's output does not wait for the process left behind
        time.sleep(WAIT_S)
        os._exit(0)
    time.sleep(0.2)
    return True


def burn(seconds: str) -> bool:
    """Use this much CPU time."""
    while time.process_time() < float(seconds):
        pass
    return True


PROBES: dict[str, Callable[..., Any]] = {
    probe.__name__: probe
    for probe in (
        read,
        write,
        connect,
        processes,
        user,
        children,
        reach,
        threads,
        fill,
        crowd,
        allocate,
        uncounted,
        namespace,
        deaf,
        daemon,
        burn,
    )
}

if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](*sys.argv[2:])), flush=True)
