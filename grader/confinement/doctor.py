"""`python -m grader doctor`: does the confinement hold on this machine? Each property is tested; none is assumed.

For each property a small program from `grader.confinement.probes` runs confined like a submission, and its result is checked
from outside. A property that does not hold is reported with a remedy.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.files import remove
from common.processes import kill_group
from grader.assignment import ROOT
from grader.confinement.sandbox import (
    LEVELS,
    PROBES_FILE,
    TMP_BYTES,
    TMP_FILES,
    ProcessLimits,
    Sandbox,
    find_sandbox,
    try_level,
)

LIMITS = ProcessLimits(memory_mib=512, cpu_s=5, processes=24, file_size_mib=16)
LIMIT_S = 20.0
GONE_S = 3.0
NAMESPACES = "by namespaces"  # a placeholder for the remedy that the sandbox gives for this machine
SECCOMP = "Use a kernel with seccomp, on x86_64 or aarch64."
LINUX = "Use Linux, where this limit binds."


@dataclass(frozen=True)
class Finding:
    """The result for one property on this machine.

    Attributes:
        seen: what was tried, and what happened.
        advice: the remedy if it does not hold.
    """

    name: str
    holds: bool
    seen: str
    advice: str

    @property
    def line(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}  {self.name:16} {self.seen}"


class NoAnswer(Exception):
    """Raised when a probe did not print a result."""


class Patient:
    """A sandbox to test, with a scratch folder; each probe runs in a new process."""

    def __init__(self, sandbox: Sandbox, scratch: Path) -> None:
        self.sandbox, self.scratch = sandbox, scratch

    @contextmanager
    def started(self, *probe: object, limits: ProcessLimits = LIMITS) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        """Start a probe; yield its process and the mark in its command line. It is killed at the end, like a worker."""
        mark = f"probe={secrets.token_hex(8)}"
        command = [sys.executable, "-I", "-S", "-X", mark, str(PROBES_FILE), *map(str, probe)]
        wrapped = self.sandbox.wrap(command, limits=limits, read_only=[PROBES_FILE], scratch=self.scratch)
        process = subprocess.Popen(
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin"},
            start_new_session=True,
        )
        try:
            yield process, mark
        finally:
            kill_group(process)
            if process.stdout:
                process.stdout.close()

    def ask(self, *probe: object, limits: ProcessLimits = LIMITS) -> Any:
        """Run the probe and return its result; raise NoAnswer if there is no result."""
        with self.started(*probe, limits=limits) as (process, _):
            return _answer(process)


def _answer(process: subprocess.Popen[bytes]) -> Any:
    """Return the result that a probe prints before it ends; raise NoAnswer if there is no result."""
    try:
        answer, _ = process.communicate(timeout=LIMIT_S)
        return json.loads(answer)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise NoAnswer from error


def _files(patient: Patient) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="grader-secret-") as folder:
        secret = Path(folder, "secret")
        secret.write_text("hidden", encoding="ascii")
        os.chmod(folder, 0o755)
        tried = [
            secret,
            ROOT / "assignment.toml",
            ROOT / "grader" / "judge" / "support" / "drawn_positions.py",
            Path("/etc/passwd"),
        ]
        found = patient.ask("read", *tried)
    return found == [], f"Of the outside files that were tried, {_count(found, 'could be read')}."


def _writes(patient: Patient) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="grader-open-") as folder:
        os.chmod(folder, 0o777)
        found = patient.ask("write", folder, "/", "/dev", "/var/tmp")
    return found == [], f"Of the folders other than the scratch folder, {_count(found, 'could be written to')}."


def _network(patient: Patient) -> tuple[bool, str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        reached = patient.ask("connect", server.getsockname()[1])
    return reached is False, f"A service on this machine {'was' if reached else 'could not be'} reached."


def _processes(patient: Patient) -> tuple[bool, str]:
    # Process ids inside the sandbox are small, so only large ids from outside can be told apart from them.
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as other:
        own = [pid for pid in (os.getpid(), other.pid) if pid > 50]
        found = patient.ask("processes", *own)
        other.kill()
    return found == [], f"Of the grader's processes, {_count(found, 'could be seen')}."


def _reaching(patient: Patient) -> tuple[bool, str]:
    found = patient.ask("reach", os.getpid())
    return (
        found == [],
        f"Of the processes outside, {_count(found, 'could be signalled or have their memory opened')}.",
    )


def _user(patient: Patient) -> tuple[bool, str]:
    found = patient.ask("user")
    holds = found["uid"] != 0 and found["no_new_privileges"]
    more = "cannot gain privileges" if found["no_new_privileges"] else "can gain privileges"
    return holds, f"Programs run as user {found['uid']} and {more}."


def _children(patient: Patient) -> tuple[bool, str]:
    started = patient.ask("children", LIMITS.processes + 16)
    return started == 0, f"A program that may not start processes started {started}."


def _compilers_children(patient: Patient) -> tuple[bool, str]:
    started = patient.ask("children", LIMITS.processes + 16, limits=replace(LIMITS, children=True))
    holds = 0 < started < LIMITS.processes + 16
    return holds, f"A program like a compiler started {started} processes at once under a limit of {LIMITS.processes}."


def _threads(patient: Patient) -> tuple[bool, str]:
    started = patient.ask("threads", LIMITS.processes + 16)
    # Without namespaces the limit includes the user's other programs, some of which may have ended in the meantime.
    holds = 0 < started < LIMITS.processes + 16
    return holds, f"A program started {started} threads at once under a limit of {LIMITS.processes}."


def _memory(patient: Patient) -> tuple[bool, str]:
    got = patient.ask("allocate", LIMITS.memory_mib + 256)
    return (
        got is False,
        f"{LIMITS.memory_mib + 256} MiB were {'granted' if got else 'refused'} under a limit of {LIMITS.memory_mib} MiB.",
    )


def _uncounted(patient: Patient) -> tuple[bool, str]:
    got = patient.ask("uncounted")
    return got is False, f"Memory that is not charged to any process was {'granted' if got else 'refused'}."


def _disk(patient: Patient) -> tuple[bool, str]:
    written = [patient.ask("fill", place) for place in (patient.scratch, "/tmp", "/dev/shm")]
    most = max(written)
    return most <= TMP_BYTES, f"At most {most >> 20} MiB could be written in one place; the limit is {TMP_BYTES >> 20} MiB."


def _files_made(patient: Patient) -> tuple[bool, str]:
    places, patiently = (patient.scratch, "/tmp", "/dev/shm"), replace(LIMITS, cpu_s=int(LIMIT_S))
    made = [patient.ask("crowd", place, TMP_FILES + 1000, limits=patiently) for place in places]
    most = max(made)
    return most <= TMP_FILES, f"At most {most} files could be made in one place; the limit is {TMP_FILES}."


def _file_size(patient: Patient) -> tuple[bool, str]:
    small = patient.ask("fill", patient.scratch, limits=replace(LIMITS, file_size_mib=1))
    return small == 0, f"Writing beyond the limit on file size was {'accepted' if small else 'refused'}."


def _namespace(patient: Patient) -> tuple[bool, str]:
    made = patient.ask("namespace")
    return made is False, f"A nested user namespace could {'be' if made else 'not be'} created."


def _deaf(patient: Patient) -> tuple[bool, str]:
    with patient.started("deaf") as (process, mark):
        assert process.stdout
        if process.stdout.readline() != b"true\n":
            raise NoAnswer
        os.killpg(process.pid, signal.SIGTERM)
    left = _left(mark)
    return not left, f"A program that ignores signals {'survived' if left else 'did not survive'} being killed."


def _daemon(patient: Patient) -> tuple[bool, str]:
    with patient.started("daemon", limits=replace(LIMITS, children=True)) as (process, mark):
        _answer(process)
    left = _left(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left, f"A process that left its session and its parent {'outlived' if left else 'did not outlive'} its program."


def _cpu(patient: Patient) -> tuple[bool, str]:
    limits = replace(LIMITS, cpu_s=1)
    patient.ask("burn", 0.1, limits=limits)  # shows that the probe runs under this limit
    try:
        burnt = patient.ask("burn", 3, limits=limits)
    except NoAnswer:
        burnt = False
    return not burnt, f"A program that wanted 3 s of CPU time {'got them' if burnt else 'was stopped'} under a limit of 1 s."


PROPERTIES: dict[str, tuple[Callable[[Patient], tuple[bool, str]], str]] = {
    "files": (_files, NAMESPACES),
    "writing": (_writes, NAMESPACES),
    "network": (_network, NAMESPACES),
    "processes": (_processes, NAMESPACES),
    "reaching others": (_reaching, NAMESPACES),
    "user": (_user, NAMESPACES),
    "children": (_children, SECCOMP),
    "compiler": (_compilers_children, NAMESPACES),
    "threads": (_threads, NAMESPACES),
    "memory": (_memory, LINUX),
    "uncounted memory": (_uncounted, SECCOMP),
    "disk": (_disk, NAMESPACES),
    "number of files": (_files_made, NAMESPACES),
    "file size": (_file_size, LINUX),
    "CPU time": (_cpu, LINUX),
    "nested namespace": (_namespace, SECCOMP),
    "signals": (_deaf, NAMESPACES),
    "daemon": (_daemon, NAMESPACES),
}


def _count(found: list[Any], what: str) -> str:
    return f"{len(found) or 'none'} {what}" + (f" ({', '.join(map(str, found))})" if found else "")


def _left(mark: str) -> list[int]:
    """Return the processes with this mark that are still running after GONE_S seconds."""
    until = time.monotonic() + GONE_S
    while (left := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def _marked(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def examine(sandbox: Sandbox, names: Iterable[str] = PROPERTIES) -> list[Finding]:
    """Test these properties, by default all, of one level."""
    scratch = Path(tempfile.mkdtemp(prefix="grader-scratch-")).resolve()
    try:
        return [_examine_one(name, Patient(sandbox, scratch)) for name in names]
    finally:
        remove(scratch)


def _examine_one(name: str, patient: Patient) -> Finding:
    look, advice = PROPERTIES[name]
    try:
        holds, seen = look(patient)
    except NoAnswer:
        holds, seen = False, "The program that tried this gave no result."
    return Finding(name, holds, seen, patient.sandbox.remedy if advice == NAMESPACES else advice)


def main(level: str | None, announce: Callable[[str], None]) -> int:
    """Announce which properties hold at this level, by default the strongest that works here; return 0 if all hold, else 1."""
    sandbox = find_sandbox(level)
    for stronger in LEVELS[: LEVELS.index(sandbox.level)]:
        why_not = try_level(stronger)
        announce(f"Level {stronger}: {'works here' if isinstance(why_not, Sandbox) else f'does not work here, {why_not}'}.")
    announce(f"Level {sandbox.level}. {sandbox.sentence}")
    findings = examine(sandbox)
    for finding in findings:
        announce(finding.line)
    failed = [finding for finding in findings if not finding.holds]
    announce(f"{len(findings) - len(failed)} of {len(findings)} properties hold.")
    for advice in dict.fromkeys(finding.advice for finding in failed):
        announce(f"To do for {', '.join(finding.name for finding in failed if finding.advice == advice)}: {advice}")
    return 1 if failed else 0
