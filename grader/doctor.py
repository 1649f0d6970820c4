"""`python -m grader doctor`: does the confinement hold on this machine? Each property is tried, none is assumed.

For each a small program of `grader.probes` is run confined as a submission's would be, and what it got is judged from
outside. What does not hold is said with what to do about it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.assignment import ROOT
from grader.sandbox import TMP_BYTES, ProcessLimits, Sandbox, find_sandbox

PROBES = Path(__file__).with_name("probes.py")
LIMITS = ProcessLimits(memory_mib=512, cpu_s=5, processes=24, file_size_mib=16)
LIMIT_S = 20.0
GONE_S = 3.0
TOKEN = "GRADER_DOCTOR_TOKEN"
BUBBLEWRAP = "install the package bubblewrap (Debian, Ubuntu: apt-get install bubblewrap) and allow user namespaces"
SECCOMP = "use a kernel with seccomp, on x86_64 or aarch64"
UNPRIVILEGED = "do not grade as root, or install the package bubblewrap"


@dataclass(frozen=True)
class Finding:
    """One property on this machine.

    Attributes:
        seen: what was tried and what came of it.
        advice: what to do where it does not hold.
    """

    name: str
    holds: bool
    seen: str
    advice: str

    @property
    def line(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}  {self.name:16} {self.seen}" + (
            "" if self.holds else f" To do: {self.advice}."
        )


class Patient:
    """A sandbox and a scratch folder to try things in; each probe is a fresh start."""

    def __init__(self, sandbox: Sandbox, scratch: Path) -> None:
        self.sandbox, self.scratch = sandbox, scratch

    @contextmanager
    def started(self, *probe: object, limits: ProcessLimits = LIMITS) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """The probe's process and the mark in its environment; ended as a worker is."""
        token = secrets.token_hex(8)
        command = [sys.executable, "-I", "-S", str(PROBES), *map(str, probe)]
        wrapped = self.sandbox.wrap(command, limits=limits, read_only=[PROBES], scratch=self.scratch)
        process = subprocess.Popen(
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", TOKEN: token},
            start_new_session=True,
        )
        try:
            yield process, token
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            if process.stdout:
                process.stdout.close()

    def ask(self, *probe: object, limits: ProcessLimits = LIMITS) -> Any:
        """What the probe got; None where it was ended or gave no answer."""
        with self.started(*probe, limits=limits) as (process, _):
            try:
                answer, _ = process.communicate(timeout=LIMIT_S)
                return json.loads(answer)
            except (subprocess.TimeoutExpired, ValueError):
                return None


def _files(patient: Patient) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="grader-secret-") as folder:
        secret = Path(folder, "secret")
        secret.write_text("hidden", encoding="ascii")
        os.chmod(folder, 0o755)
        tried = [secret, ROOT / "assignment.toml", ROOT / "grader" / "checks" / "positions.py", Path("/etc/passwd")]
        found = patient.ask("read", *tried)
    return found == [], f"Files outside were looked for; {_count(found, 'could be read')}."


def _writes(patient: Patient) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="grader-open-") as folder:
        os.chmod(folder, 0o777)
        found = patient.ask("write", folder, "/", "/dev", "/var/tmp")
    return found == [], f"A file was written in folders other than the scratch; {_count(found, 'let it')}."


def _network(patient: Patient) -> tuple[bool, str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        reached = patient.ask("connect", server.getsockname()[1])
    return reached is False, f"A service of this machine {'was' if reached else 'could not be'} reached."


def _processes(patient: Patient) -> tuple[bool, str]:
    # Numbers inside are small, so ours must be large to be looked for there.
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as other:
        own = [pid for pid in (os.getpid(), other.pid) if pid > 50]
        found = patient.ask("processes", *own)
        other.kill()
    return found == [], f"The grader's processes were looked for; {_count(found, 'could be seen')}."


def _user(patient: Patient) -> tuple[bool, str]:
    found = patient.ask("user") or {"uid": 0, "no_new_privileges": False}
    holds = found["uid"] != 0 and found["no_new_privileges"]
    more = "cannot get more rights" if found["no_new_privileges"] else "can get more rights"
    return holds, f"Programs run as user {found['uid']} and {more}."


def _children(patient: Patient) -> tuple[bool, str]:
    started = patient.ask("children", LIMITS.processes + 16)
    return started == 0, f"{started} processes were started by a program that may start none."


def _compilers_children(patient: Patient) -> tuple[bool, str]:
    started = patient.ask("children", LIMITS.processes + 16, limits=replace(LIMITS, children=True))
    holds = started is not None and 0 < started < LIMITS.processes
    return holds, f"{started} processes at once were started under a limit of {LIMITS.processes}, as for a compiler."


def _threads(patient: Patient) -> tuple[bool, str]:
    started = patient.ask("threads", LIMITS.processes + 16)
    holds = started is not None and 0 < started < LIMITS.processes
    return holds, f"{started} threads at once were started under a limit of {LIMITS.processes}."


def _memory(patient: Patient) -> tuple[bool, str]:
    got = patient.ask("allocate", LIMITS.memory_mib + 256)
    return (
        got is False,
        f"{LIMITS.memory_mib + 256} MiB {'were had' if got else 'were refused'}, the limit being {LIMITS.memory_mib}.",
    )


def _uncounted(patient: Patient) -> tuple[bool, str]:
    got = patient.ask("uncounted")
    return got is False, f"Memory that counts for no process could {'be had' if got else 'not be had'}."


def _disk(patient: Patient) -> tuple[bool, str]:
    written = [patient.ask("fill", place) for place in (patient.scratch, "/tmp", "/dev/shm")]
    most = max(bytes_ if bytes_ is not None else sys.maxsize for bytes_ in written)
    return most <= TMP_BYTES, f"At most {most >> 20} MiB could be written in one place, where {TMP_BYTES >> 20} are meant."


def _file_size(patient: Patient) -> tuple[bool, str]:
    small = patient.ask("fill", patient.scratch, limits=replace(LIMITS, file_size_mib=1))
    return small in (0, None), "A file beyond the limit of a file's size was written to; it was " + (
        "refused." if small in (0, None) else "accepted."
    )


def _namespace(patient: Patient) -> tuple[bool, str]:
    made = patient.ask("namespace")
    return made is False, f"A nested user namespace could {'be' if made else 'not be'} made."


def _deaf(patient: Patient) -> tuple[bool, str]:
    with patient.started("deaf") as (process, token):
        assert process.stdout
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGTERM)
    left = _left(token)
    return not left, f"A program that ignores signals {'outlived' if left else 'did not outlive'} its end."


def _daemon(patient: Patient) -> tuple[bool, str]:
    with patient.started("daemon", limits=replace(LIMITS, children=True)) as (process, token):
        try:
            process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            pass
    left = _left(token)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left, f"A process that left its session and its parent {'outlived' if left else 'did not outlive'} the program."


def _cpu(patient: Patient) -> tuple[bool, str]:
    burnt = patient.ask("burn", 3, limits=replace(LIMITS, cpu_s=1))
    return burnt is None, f"3 s of CPU time were {'used' if burnt else 'cut short'}, the limit being 1."


PROPERTIES: dict[str, tuple[Callable[[Patient], tuple[bool, str]], str]] = {
    "files": (_files, BUBBLEWRAP),
    "writing": (_writes, BUBBLEWRAP),
    "network": (_network, BUBBLEWRAP),
    "processes": (_processes, BUBBLEWRAP),
    "user": (_user, UNPRIVILEGED),
    "children": (_children, SECCOMP),
    "compiler": (_compilers_children, UNPRIVILEGED),
    "threads": (_threads, UNPRIVILEGED),
    "memory": (_memory, "use Linux, where RLIMIT_AS binds"),
    "uncounted memory": (_uncounted, SECCOMP),
    "disk": (_disk, BUBBLEWRAP),
    "file size": (_file_size, "use Linux, where RLIMIT_FSIZE binds"),
    "CPU time": (_cpu, "use Linux, where RLIMIT_CPU binds"),
    "nested namespace": (_namespace, SECCOMP),
    "signals": (_deaf, BUBBLEWRAP),
    "daemon": (_daemon, BUBBLEWRAP),
}


def _count(found: Any, what: str) -> str:
    if found is None:
        return "the probe gave no answer"
    return f"{len(found) or 'none'} {what}" + (f" ({', '.join(map(str, found))})" if found else "")


def _left(token: str) -> list[int]:
    """Processes that carry the mark and are still there after a while."""
    until = time.monotonic() + GONE_S
    while (left := _marked(token)) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _marked(token: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{TOKEN}={token}".encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def examine(sandbox: Sandbox) -> list[Finding]:
    """Try every property of one level."""
    scratch = Path(tempfile.mkdtemp(prefix="grader-scratch-")).resolve()
    try:
        patient = Patient(sandbox, scratch)
        return [Finding(name, *look(patient), advice) for name, (look, advice) in PROPERTIES.items()]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def main(level: str | None, announce: Callable[[str], None]) -> int:
    """Print what holds at this level, or at the strongest that works here; 0 if all holds."""
    sandbox = find_sandbox(level)
    announce(f"Level {sandbox.level}. {sandbox.sentence}")
    findings = examine(sandbox)
    for finding in findings:
        announce(finding.line)
    failed = [finding for finding in findings if not finding.holds]
    announce(f"{len(findings) - len(failed)} of {len(findings)} properties hold.")
    return 1 if failed else 0
