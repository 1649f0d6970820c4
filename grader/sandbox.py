"""Confinement of a submission's programs: one interface, three levels, the strongest that this machine offers.

    bubblewrap  a new root with only /usr, the interpreter, the named folders (read-only) and a scratch; no network; own
                process, ipc and user ids
    unshare     no network, own process and ipc namespaces; the file system is the machine's, read by an unprivileged user
                where the grader runs as root and that user can reach the interpreter
    rlimits     limits on memory, CPU, processes and file size alone

A level is probed by starting a program under it, never assumed. Every result records the level and what it withholds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.errors import UsageError

LEVELS = ("bubblewrap", "unshare", "rlimits")
CONFINE = Path(__file__).with_name("confine.py")
FIRST_UID = 100_000  # above the users of a machine; each confined program gets one of 50 000 of its own
PROBE_LIMIT_S = 20
TMP_BYTES = 64 << 20  # of each of the places in memory that may be written


@dataclass(frozen=True)
class ProcessLimits:
    """What one confined program may use; memory is address space a process.

    Attributes:
        processes: threads are counted too.
        children: whether it may start other processes, as a compiler does; without, its memory is bounded as a whole.
    """

    memory_mib: int
    cpu_s: int
    processes: int
    file_size_mib: int
    children: bool = False


@dataclass(frozen=True)
class Sandbox:
    """One level of confinement on this machine.

    Attributes:
        level: one of LEVELS.
        own_user: programs run under a user id of their own (only where the grader itself is root).
    """

    level: str
    own_user: bool

    @property
    def weak(self) -> bool:
        """Whether submissions are refused without the caller's consent, since they could write what the grader writes: without
        namespaces, or with the machine's files in sight and no user of their own."""
        return self.level == "rlimits" or not (self.own_user or (self.level == "bubblewrap" and os.geteuid()))

    @property
    def properties(self) -> dict[str, object]:
        """What the level withholds, for every report."""
        return {
            "level": self.level,
            "network": self.level == "rlimits",
            "sees_other_processes": self.level == "rlimits",
            "sees_machine_files": self.level != "bubblewrap",
            "own_user": self.own_user,
        }

    @property
    def sentence(self) -> str:
        """One sentence for a report, with what would make it stronger."""
        if self.level == "bubblewrap" and not self.weak:
            return "Programs ran without network, seeing only their own files (bubblewrap)."
        user = "" if self.own_user or os.geteuid() else ", as the user root"
        reach = {"bubblewrap": "their own files", "unshare": "all files that this user may read or write"}
        lacks = reach.get(self.level, f"{reach['unshare']}, processes and the network")
        mends = "grading as an ordinary user" if self.level == "bubblewrap" else "installing the package bubblewrap"
        return f"Weak confinement ({self.level}{user}): {lacks} were in reach; {mends} mends this."

    def wrap(
        self,
        command: Sequence[str],
        *,
        limits: ProcessLimits,
        read_only: Sequence[Path] = (),
        scratch: Path | None = None,
        keeps: bool = False,
        cwd: Path | None = None,
    ) -> list[str]:
        """The command line that runs `command` confined.

        Args:
            command: program and arguments; the program is seen under the same path inside.
            limits: of the process tree.
            read_only: files and folders that must be visible inside, under the same path.
            scratch: the one folder that may be written; its owner is changed to the program's user. Under bubblewrap it
                is a file system of its own in memory, of bounded size, gone with the program.
            keeps: that it is the folder itself also there, so that what the program wrote can be read afterwards.
            cwd: the folder to start in; `scratch`, else `/`.
        """
        inner = [sys.executable, "-I", "-S", str(CONFINE)]
        inner += ["--memory-mib", str(limits.memory_mib), "--cpu-s", str(limits.cpu_s)]
        inner += ["--processes", str(limits.processes), "--file-size-mib", str(limits.file_size_mib)]
        inner += ["--cwd", str(cwd or scratch or "/")]
        if limits.children:
            inner += ["--children"]
        if self.own_user:
            uid = FIRST_UID + int.from_bytes(os.urandom(2), "big") % 50_000
            inner += ["--uid", str(uid)]
            if scratch is not None:
                os.chown(scratch, uid, uid)
        inner += ["--", *command]
        if self.level == "bubblewrap":
            return [*self._bubblewrap(read_only, scratch, keeps), "--", *inner]
        if self.level == "unshare":
            user = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
            namespaces = ["--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL", "--mount-proc"]
            return ["setpriv", "--pdeathsig", "KILL", "unshare", *user, *namespaces, "--", *inner]
        return inner

    def _bubblewrap(self, read_only: Sequence[Path], scratch: Path | None, keeps: bool) -> list[str]:
        arguments = ["bwrap", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"]
        for place in ("/tmp", "/dev/shm"):
            arguments += ["--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", place]
        arguments += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        if os.geteuid() == 0:
            # Without a user namespace, so that the program can be given another user id inside (see grader.confine).
            arguments += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            arguments += ["--unshare-user", "--cap-drop", "ALL"]
        for place in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
            path = Path(place)
            if path.is_symlink():
                arguments += ["--symlink", os.readlink(path), place]
            elif path.is_dir():
                arguments += ["--ro-bind", place, place]
        for needed in ("/etc/ld.so.cache", "/etc/alternatives"):
            arguments += ["--ro-bind-try", needed, needed]
        shown = list(dict.fromkeys([*interpreter_folders(), CONFINE, *read_only]))
        # Folders on the way would be made for root alone, and the program's user could not pass them.
        above = {parent for path in [*shown, *([scratch] if scratch else [])] for parent in path.parents}
        for parent in sorted(above - {Path("/"), Path("/tmp"), Path("/usr")}):
            arguments += ["--perms", "0755", "--dir", str(parent)]
        for path in shown:
            arguments += ["--ro-bind", str(path), str(path)]
        if scratch is not None and keeps:
            arguments += ["--bind", str(scratch), str(scratch)]
        elif scratch is not None:
            arguments += ["--perms", "0777", "--size", str(TMP_BYTES), "--tmpfs", str(scratch)]
        # The root and /dev are file systems in memory too, without a size.
        return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]


def interpreter_folders() -> list[Path]:
    """The folders that this interpreter and its packages live in, also by the names that it is started by."""
    named = [Path(sys.base_prefix), Path(sys.prefix), Path(sys.executable).parent.parent]
    places = [*(place.resolve() for place in named), Path(sys.executable).resolve().parent.parent, *named]
    return [p for p in dict.fromkeys(places) if p != Path("/usr") and p != Path("/")]


def _works(sandbox: Sandbox) -> bool:
    limits = ProcessLimits(memory_mib=1024, cpu_s=10, processes=64, file_size_mib=1)
    try:
        done = subprocess.run(
            sandbox.wrap([sys.executable, "-I", "-S", "-c", "print('inside')"], limits=limits),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_LIMIT_S,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == b"inside"


def require_strong(sandbox: Sandbox, allow_weak: bool) -> None:
    """UsageError where a submission, which nobody has read, would run under a weak level without the caller's consent."""
    if sandbox.weak and not allow_weak:
        raise UsageError(
            "expected a confinement in which submissions, which nobody has read, cannot write what the grader writes; this "
            f"machine offers {sandbox.level} alone: python -m grader doctor says what is lacking, --allow-weak-sandbox grades "
            "all the same"
        )


@cache
def find_sandbox(level: str | None = None) -> Sandbox:
    """The strongest level that works here, or the one asked for.

    Raises:
        UsageError: the level asked for is unknown or does not work on this machine.
    """
    if level is not None and level not in LEVELS:
        raise UsageError(f"expected a sandbox level among {', '.join(LEVELS)}; got {level!r}")
    for name in [level] if level else LEVELS:
        program = {"bubblewrap": "bwrap", "unshare": "unshare"}.get(name)
        if program and shutil.which(program) is None:
            continue
        # As root first with a user of its own; that user may be unable to reach an interpreter in root's home.
        for own_user in (True, False) if os.geteuid() == 0 else (False,):
            sandbox = Sandbox(name, own_user)
            if _works(sandbox):
                return sandbox
    raise UsageError(f"expected the sandbox level {level or LEVELS[-1]} to work on this machine; starting a program failed")
