"""Confinement of a submission's programs: one interface and four levels; the strongest that works on this machine is used.

    namespaces  a root with only /usr, the interpreter, the named folders (read-only) and a scratch folder; no network; its
                own process, ipc and host names (grader.confinement.own_root)
    bubblewrap  the same with the program bubblewrap, since some systems let it create namespaces but forbid it to other
                programs; the number of files in memory is not limited
    landlock    no namespaces: the kernel's Landlock blocks access to files, and a filter of system calls blocks the network
                and access to other processes; the names of other programs can be seen, and the disk can be filled
    rlimits     only the filter, and limits on memory, CPU, processes and file size

If the grader is root, programs run under their own user ids. The grader never assumes that a level works, but tests it by
starting a program under it. Every result records the level and what it withholds.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_IXOTH

from common.errors import UsageError
from grader.assignment import ROOT
from grader.confinement.confine import ARCHITECTURES, landlock_version

LEVELS = ("namespaces", "bubblewrap", "landlock", "rlimits")
WITH_NAMESPACES = LEVELS[:2]
CONFINE = Path(__file__).with_name("confine.py")
OWN_ROOT = Path(__file__).with_name("own_root.py")
PROBES_FILE = Path(__file__).with_name("probes.py")
# Each confined program gets one of these ids, above those of regular users; a container may have only the second range.
USER_IDS = (range(100_000, 150_000), range(30_000, 60_000))
PROBE_LIMIT_S = 20
TMP_BYTES = 64 << 20  # size of each in-memory file system that programs may write to
TMP_FILES = 4096  # most files in each of them
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
# Files from which programs learn about the machine if they are not hidden: number and kind of processors, amount of memory.
ABOUT_MACHINE = ("/dev/random", "/dev/urandom", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
CAPABILITIES = {"CAP_DAC_OVERRIDE": 1, "CAP_DAC_READ_SEARCH": 2, "CAP_SETGID": 6, "CAP_SETUID": 7}
READ_CAPABILITIES = (
    "CAP_DAC_READ_SEARCH",
    "CAP_DAC_OVERRIDE",
)  # to reach files whatever their mode; containers have only the second
CONTAINERS = ("/.dockerenv", "/run/.containerenv")
# Settings that can forbid namespaces: name, the value that forbids them, and the value that allows them.
SWITCHES = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("user.max_user_namespaces", "0", "15000"),
)


@dataclass(frozen=True)
class ProcessLimits:
    """What one confined program may use; memory is address space per process.

    Attributes:
        processes: the number of processes and threads.
        children: whether the program may start other processes, as a compiler does; if not, its total memory is limited.
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
        own_user: whether programs run under their own user id (only if the grader itself is root).
        capability: the one of READ_CAPABILITIES that programs keep because they need files that only root can reach; with
            namespaces or Landlock they still cannot open any others.
    """

    level: str
    own_user: bool
    capability: str = ""

    @property
    def weak(self) -> bool:
        """Whether submissions need the caller's consent, since they could read or write the files of the grader."""
        # In kernels before 6.2, Landlock does not block truncation.
        truncates = self.level == "landlock" and not self.own_user and landlock_version() < 3
        return self.level == "rlimits" or truncates or shows_the_grader() is not None

    @property
    def properties(self) -> dict[str, object]:
        """The properties of the level that every report records."""
        return {
            "level": self.level,
            "weak": self.weak,
            "network": self.level not in WITH_NAMESPACES and platform.machine() not in ARCHITECTURES,
            "sees_other_processes": self.level not in WITH_NAMESPACES,
            "sees_machine_files": self.level == "rlimits" or shows_the_grader() is not None,
            "fills_disk": self.level not in WITH_NAMESPACES,
            "own_user": self.own_user,
        }

    @property
    def sentence(self) -> str:
        """The text about the level in a report, with a remedy if it is weak."""
        if self.level != "rlimits" and (folder := shows_the_grader()):
            return (
                f"Weak confinement ({self.level}): programs can read the grader's own files, which are in {folder}, a folder "
                "that every program needs. Use a virtual environment in its own folder, and a repository outside the system's."
            )
        if self.weak:
            lacks = "can reach all files that their user may read or write"
            if self.level == "landlock":
                lacks = "can truncate files that their user may write"
            return f"Weak confinement ({self.level}): programs {lacks}. {self.remedy}"
        if self.level == "landlock":
            return (
                "Programs run without network and can open only their own files (landlock). Without namespaces they can see "
                "which other programs are running, and fill the disk."
            )
        return f"Programs run without network and see only their own files ({self.level})."

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
        """Return the command line that runs `command` confined; without a scratch folder it may run several times at once.

        Args:
            command: program and arguments; the program has the same path inside.
            limits: the limits of the process tree.
            read_only: files and folders that must be visible inside, under the same path.
            scratch: the only folder that may be written; the program's user becomes its owner. With namespaces it is an
                in-memory file system of limited size, which disappears with the program. So are /tmp and /dev/shm; without
                namespaces these cannot be written.
            keeps: use the scratch folder itself even with namespaces, so that it can be read afterwards.
            cwd: the folder to start in; by default `scratch` if given, otherwise `/`.
        """
        inner = [sys.executable, "-I", "-S", str(CONFINE)]
        inner += ["--memory-mib", str(limits.memory_mib), "--cpu-s", str(limits.cpu_s)]
        inner += ["--processes", str(limits.processes), "--file-size-mib", str(limits.file_size_mib)]
        inner += ["--cwd", str(cwd or scratch or "/")]
        if limits.children:
            inner += ["--children"]
        if self.own_user and scratch is not None:
            uid = secrets.choice(own_user_ids())
            inner += ["--uid", str(uid)]
            os.chown(scratch, uid, uid)
        elif self.own_user:
            # Drawn at each start: a match runs the same command several times at once, and the kernel limits a user's threads.
            inner += ["--uid-among", str(own_user_ids().start), str(own_user_ids().stop)]
        folders = [*map(Path, SYSTEM), *interpreter_folders()]
        shown = [*folders, *_outside(folders, interpreter_files()), CONFINE, *read_only]
        shown = [path for path in dict.fromkeys(shown) if path.exists()]
        needed = [*shown, *interpreter_links(), *([scratch] if scratch else [])]
        if capability := self.capability or self._capability_for(needed):
            inner += ["--capability", str(CAPABILITIES[capability])]
        memory = [Path("/tmp"), Path("/dev/shm"), *([scratch] if scratch and not keeps else [])]
        bound = [scratch] if scratch and keeps else []
        if self.level in WITH_NAMESPACES:
            inner += _each("--reads", ["/"]) + _each("--writes", [*DEVICES, *memory, *bound])
            build = self._own_root if self.level == "namespaces" else self._bubblewrap
            links = _outside([*shown, *bound], interpreter_links())
            return [*build(shown, memory, bound, links), "--", *inner, "--", *command]
        inner += ["--bare"]
        if self.level == "landlock":
            inner += _each("--reads", [*shown, *ABOUT_MACHINE])
            inner += _each("--writes", [*DEVICES, *([scratch] if scratch else [])])
        return [*inner, "--", *command]

    def _capability_for(self, paths: Sequence[Path]) -> str:
        """Return the capability that a program needs to reach these paths; "" if it needs none.

        Namespaces make them reachable for every user. At the level rlimits nothing else protects files, so a program gets the
        capability only if others cannot pass through a folder above a path.

        Raises:
            UsageError: the program needs it, and there is none to give.
        """
        if self.level != "rlimits" or not self.own_user:
            return ""
        above = {folder for path in paths for folder in (*path.absolute().parents, *path.resolve().parents)}
        closed = sorted(folder for folder in above if not folder.stat().st_mode & S_IXOTH)
        if not closed:
            return ""
        if reading := _reading("rlimits"):
            return reading[0]
        raise UsageError(
            "expected folders that other users can pass, since programs run under a user id of their own; "
            f"{closed[0]} is closed: choose another folder, or run chmod o+x {closed[0]}"
        )

    def _own_root(
        self, shown: Sequence[Path], memory: Sequence[Path], bound: Sequence[Path], links: Sequence[Path]
    ) -> list[str]:
        arguments = [sys.executable, "-I", "-S", str(OWN_ROOT), "--bytes", str(TMP_BYTES), "--inodes", str(TMP_FILES)]
        arguments += _each("--keep", [CAPABILITIES[name] for name in self._needed]) if self.own_user else ["--user"]
        arguments += _each("--show", shown) + _each("--memory", memory) + _each("--bind", bound)
        return arguments + [word for link in links for word in ("--link", str(link), str(link.resolve()))]

    def _bubblewrap(
        self, shown: Sequence[Path], memory: Sequence[Path], bound: Sequence[Path], links: Sequence[Path]
    ) -> list[str]:
        arguments = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"]
        arguments += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        # Root does not use a user namespace, so that the program can be given another user id inside (see
        # grader.confinement.confine).
        arguments += (
            ["--cap-drop", "ALL", *_each("--cap-add", self._needed)]
            if self.own_user
            else ["--unshare-user", "--cap-drop", "ALL"]
        )
        # Otherwise bubblewrap would create the parent folders for root only, and the program's user could not enter them.
        inside = [*shown, *memory, *bound, *links]
        above = {parent for path in inside for parent in path.parents} - set(memory) - set(map(Path, SYSTEM))
        kinds: dict[Path, tuple[str, ...]] = dict.fromkeys(above - {Path("/"), Path("/dev")}, ("--perms", "0755", "--dir"))
        kinds |= dict.fromkeys(shown, ("--ro-bind",))
        kinds |= dict.fromkeys(memory, ("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs"))
        kinds |= dict.fromkeys(bound, ("--bind",))
        kinds |= {link: ("--symlink", str(link.resolve())) for link in links}
        for path, words in sorted(kinds.items()):  # a folder comes before its contents
            arguments += [*words, str(path), *([str(path)] if words[-1] in ("--ro-bind", "--bind") else [])]
        # The root and /dev are in-memory file systems too, but without a size limit, so they become read-only.
        return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]

    @property
    def remedy(self) -> str:
        """Advice on how to get a stronger level on this machine."""
        best = find_sandbox()
        if LEVELS.index(best.level) < LEVELS.index(self.level):
            return f"The level {best.level} works on this machine: leave out the option that asks for {self.level}."
        if self.level in WITH_NAMESPACES:
            return "Grade as an ordinary user." if os.geteuid() == 0 and not self.own_user else "No level is stronger."
        for name, forbids, allows in SWITCHES if os.geteuid() else ():  # none of them affects root
            setting = Path("/proc/sys", *name.split("."))
            if setting.exists() and setting.read_text(encoding="ascii").strip() == forbids:
                return f"Namespaces are forbidden on this machine: allow them with sudo sysctl -w {name}={allows}."
        if os.geteuid() == 0 or any(Path(mark).exists() for mark in CONTAINERS):
            return "This container forbids namespaces: start it with docker run --privileged (or podman run --privileged)."
        return "Namespaces are forbidden to this user: repeat the command with sudo."

    @property
    def _needed(self) -> list[str]:
        """The capabilities needed until the program has its own user id, and the one that it keeps."""
        return ["CAP_SETUID", "CAP_SETGID", *([self.capability] if self.capability else [])]


def _each(option: str, values: Sequence[object]) -> list[str]:
    """Return the option and a value, once for each value."""
    return [word for value in values for word in (option, str(value))]


def interpreter_folders() -> list[Path]:
    """Return the folders of this interpreter and its packages, both with links resolved and unresolved."""
    # Not the folder above the executable's: for a link or a script such as ~/bin/python3, that is a whole home.
    named = [Path(sys.base_prefix), Path(sys.base_exec_prefix), Path(sys.prefix)]
    places = [*(place.resolve() for place in named), *named]
    return [p for p in dict.fromkeys(places) if p != Path("/usr") and p != Path("/")]


def shows_the_grader() -> Path | None:
    """Return the folder that every program sees although the grader is in it; None if there is none, as there should be."""
    shown = (path.resolve() for path in (*map(Path, SYSTEM), *interpreter_folders()))
    return next((folder for folder in shown if ROOT.is_relative_to(folder)), None)


def interpreter_files() -> list[Path]:
    """Return the file that `sys.executable` leads to, which may be a script, and the program that runs now."""
    return list(dict.fromkeys(Path(path).resolve() for path in (sys.executable, "/proc/self/exe")))


def interpreter_links() -> list[Path]:
    """Return the paths through which `sys.executable` leads to the interpreter: all start it, and none is its real path.

    A virtual environment links to the interpreter that made it, by the name under which that one was started. This may be a
    link in any folder.
    """
    path = sys.executable
    found = [path]
    while os.path.islink(path):
        target, named, real = os.readlink(path), os.path.dirname(path), os.path.realpath(os.path.dirname(path))
        path = os.path.join(real, target)
        # Where folders on the way are links, a relative target has two names.
        found += [os.path.normpath(os.path.join(named, target)), os.path.normpath(path)]
    real_path = Path(sys.executable).resolve()
    return [link for link in dict.fromkeys(map(Path, found)) if link != real_path and link.resolve() == real_path]


def _outside(folders: Sequence[Path], paths: Sequence[Path]) -> list[Path]:
    """Return those of the paths that lie in none of the folders."""
    return [path for path in paths if not any(path.is_relative_to(folder) for folder in folders)]


@cache
def own_user_ids() -> range:
    """Return the user ids for programs; empty if this process may not change to them."""
    mapped = [list(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    for ids in USER_IDS if {"CAP_SETUID", "CAP_SETGID"} <= _held() and os.geteuid() == 0 else ():
        if any(first <= ids.start and ids.stop <= first + count for first, _, count in mapped):
            return ids
    return range(0)


@cache
def _held() -> frozenset[str]:
    """Return those of CAPABILITIES that this process has."""
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    mask = next((int(line.split()[1], 16) for line in status if line.startswith("CapEff:")), 0)
    return frozenset(name for name, number in CAPABILITIES.items() if mask >> number & 1)


def _reading(level: str) -> list[str]:
    """Return the capability with which programs at this level can reach closed folders, if there is one to give."""
    reading = [name for name in READ_CAPABILITIES if name in _held()][:1]
    # At the level rlimits nothing else protects files, so with the second one programs could write to all of them.
    return [] if level == "rlimits" and reading == ["CAP_DAC_OVERRIDE"] else reading


def _candidates(level: str) -> Iterator[Sandbox]:
    """Yield the variants of a level, best first; under their own user id, programs may be unable to reach what they need."""
    if own_user_ids():
        plain, reaching = [Sandbox(level, True)], [Sandbox(level, True, name) for name in _reading(level)]
        # The files may be anywhere. Namespaces make them reachable for every user; Landlock only allows opening them.
        yield from reaching + plain if level == "landlock" else plain + reaching
    if not own_user_ids() or level == "rlimits":
        yield Sandbox(level, False)


@contextmanager
def passing_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for temporary files that is removed at the end, even if this process is killed meanwhile.

    Others can pass through the folder but not list it.
    """
    folder = Path(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(8)}")
    wait_and_remove = ["/bin/sh", "-c", 'read -r _; rm -rf -- "$1"', "sh", str(folder)]  # the input ends with this process
    with subprocess.Popen(wait_and_remove, stdin=subprocess.PIPE, start_new_session=True):
        folder.mkdir(mode=0o700)
        folder.chmod(0o711)
        yield folder


def _failure(sandbox: Sandbox) -> str:
    """Return why a program cannot start, read a package, or read a folder laid out like a workspace; "" if it can."""
    limits = ProcessLimits(memory_mib=1024, cpu_s=10, processes=64, file_size_mib=1)
    code = "import importlib.util, sys; [open(p).close() for p in (sys.argv[1], importlib.util.find_spec('numpy').origin)]"
    with passing_folder("grader-probe-") as folder:
        laid = Path(folder, "laid").resolve()
        laid.mkdir()
        shutil.copyfile(PROBES_FILE, laid / PROBES_FILE.name)
        command = [sys.executable, "-I", "-c", f"{code}; print('inside')", str(laid / PROBES_FILE.name)]
        try:
            done = subprocess.run(
                sandbox.wrap(command, limits=limits, read_only=[laid]),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_LIMIT_S,
                cwd="/",
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode == 0 and done.stdout.strip() == b"inside":
        return ""
    words = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return words[-1] if words else f"a program that was started ended with exit code {done.returncode}"


@cache
def try_level(level: str) -> Sandbox | str:
    """Return the sandbox of a level, or why the level does not work on this machine."""
    if level == "bubblewrap" and shutil.which("bwrap") is None:
        return "the package bubblewrap is not installed"
    if level == "landlock" and not landlock_version():
        return "this kernel has no Landlock"
    if level == "landlock" and platform.machine() not in ARCHITECTURES:
        return f"there is no filter of system calls for {platform.machine()}"
    failures = []
    for sandbox in _candidates(level):
        failures.append(_failure(sandbox))
        if not failures[-1]:
            return sandbox
    return failures[0]


@cache
def find_sandbox(level: str | None = None) -> Sandbox:
    """Return the sandbox of the strongest level that works on this machine, or of the requested level.

    Raises:
        UsageError: the requested level is unknown or does not work on this machine.
    """
    if level is not None and level not in LEVELS:
        raise UsageError(f"expected a sandbox level among {', '.join(LEVELS)}; got {level!r}")
    found: Sandbox | str = ""
    for name in [level] if level else LEVELS:
        found = try_level(name)
        if isinstance(found, Sandbox):
            return found
    raise UsageError(f"expected the sandbox level {level or LEVELS[-1]} to work on this machine; {found}")
