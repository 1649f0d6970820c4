"""Give a confined program its own namespaces and root with plain system calls: what bubblewrap does, without bubblewrap.

    python -I -S own_root.py --bytes N --inodes N --show PATH... --memory PATH... [--bind PATH] [--link PATH TARGET...]
        -- PROGRAM ARGUMENT...

The program sees the --show paths read-only, in-memory file systems of bounded size at the --memory paths, the --bind folder,
the --link paths as symbolic links, a few devices and its own processes; it has no network. It is the second process in its
namespaces; the first process waits for it, and when the first one ends, all others end too. The process started from outside
ends as the program does, with the same exit code or signal; if it is killed, the namespaces end.

With --user this runs in a user namespace, which an unprivileged user can create. Without --user it must be started by root; it
then keeps the --keep capabilities, so that the program can be given another user id later (see `grader.confinement.confine`).

This module uses only the standard library and imports nothing from the grader, since it runs where the grader is not visible.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Mapping, Sequence

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000  # this call has the same number on all processors
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_READ, PR_CAPBSET_DROP = 1, 4, 23, 24
CAPABILITY_VERSION_3, CAPABILITIES = 0x20080522, 64

OUTSIDE = "/.outside"  # where the machine's root is mounted until it is detached
DEVICES = ("null", "zero", "full", "random", "urandom")
# The parts of /proc that container engines hide or protect, since they reveal or change something about the whole machine.
PROC_READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")
PROC_HIDDEN = ("acpi", "asound", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats")

LIBC = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError if the result of a C library call is negative."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)."""
    words = [word.encode() if word is not None else None for word in (source, target, kind)]
    check(LIBC.mount(*words, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def protect(target: str, flags: int, recursive: bool = True) -> None:
    """Add flags to a mount and, if recursive, to all mounts below it (mount_setattr(2), Linux 5.12)."""
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    below = AT_RECURSIVE if recursive else 0
    check(LIBC.syscall(MOUNT_SETATTR, AT_FDCWD, target.encode(), below, attributes, len(attributes)), f"protect {target}")


def make_visible(path: str, source: str, flags: int) -> None:
    """Make a file or folder of the machine visible at a path in the new root; create the path if it does not exist."""
    if os.path.isdir(OUTSIDE + source):
        os.makedirs(path, exist_ok=True)
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(OUTSIDE + source, path, None, MS_BIND | MS_REC)
    protect(path, flags)


def build_root(shown: Sequence[str], memory: Sequence[str], bound: Sequence[str], links: Mapping[str, str], size: str) -> None:
    """Replace the root by one that contains only these paths, and make it read-only.

    Args:
        shown: paths that are visible read-only.
        memory: paths that each get an in-memory file system which everybody may write to.
        bound: paths of the machine that may be read and written.
        links: paths that become symbolic links, with their targets.
        size: mount options that bound the size of each in-memory file system.
    """
    sources = {path: os.path.realpath(path) for path in [*shown, *bound]}
    os.umask(0o022)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=4k")
    os.chdir("/tmp")
    os.mkdir(OUTSIDE[1:], 0o700)
    check(LIBC.pivot_root(b".", OUTSIDE[1:].encode()), "pivot_root")
    os.chdir("/")

    os.mkdir("/proc")
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.mkdir("/dev")
    for name in DEVICES:
        make_visible(f"/dev/{name}", f"/dev/{name}", MS_NOSUID | MS_NOEXEC)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")
    os.symlink("/proc/self/fd", "/dev/fd")
    _mask_proc()

    kinds = dict.fromkeys(shown, "shown") | dict.fromkeys(memory, "memory") | dict.fromkeys(bound, "bound")
    kinds |= dict.fromkeys(links, "link")
    for path, kind in sorted(kinds.items(), key=lambda item: item[0].split("/")):  # a folder comes before its contents
        if kind == "memory":
            os.makedirs(path, exist_ok=True)
            mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{size}")
        elif kind == "link":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(links[path], path)
        else:
            make_visible(path, sources[path], MS_NOSUID | MS_NODEV | (MS_RDONLY if kind == "shown" else 0))
    check(LIBC.umount2(OUTSIDE.encode(), MNT_DETACH), "let go of the machine's root")
    os.rmdir(OUTSIDE)
    protect("/", MS_RDONLY, recursive=False)


def _mask_proc() -> None:
    for name in PROC_READ_ONLY:
        if os.path.exists(f"/proc/{name}"):
            mount(f"/proc/{name}", f"/proc/{name}", None, MS_BIND | MS_REC)
            protect(f"/proc/{name}", MS_RDONLY)
    for name in PROC_HIDDEN:
        if os.path.isdir(f"/proc/{name}"):
            mount("tmpfs", f"/proc/{name}", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=0555,nr_inodes=1")
        elif os.path.exists(f"/proc/{name}"):
            mount("/dev/null", f"/proc/{name}", None, MS_BIND)


def enter_user_namespace() -> None:
    """Become privileged in a new user namespace, with the same user and group ids."""
    uid, gid = os.geteuid(), os.getegid()
    check(LIBC.unshare(CLONE_NEWUSER), "a user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def drop_capabilities() -> None:
    """Drop all capabilities of this process."""
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    check(LIBC.capset(header, bytes(24)), "capset")


def drop_bounds(kept: Sequence[int]) -> None:
    """Make sure that programs started from here can gain no capabilities except these."""
    for number in range(CAPABILITIES):
        if number not in kept and LIBC.prctl(PR_CAPBSET_READ, number, 0, 0, 0) == 1:
            check(LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), "drop capabilities")


def let_go(null: int) -> None:
    """Close stdin, stdout and stderr here, so only the program has them and a reader sees their end when it closes them."""
    for number in range(3):
        os.dup2(null, number)
    os.close(null)


def first_process(program: list[str], report: int, null: int) -> None:
    """Start the program, wait for all processes that end, and write the program's status to `report` when it has ended."""
    pid = os.fork()
    if pid == 0:
        os.close(report)
        os.setsid()
        try:
            os.execvp(program[0], program)
        except OSError as error:
            print(f"cannot start {program[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(126)
    let_go(null)
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # the program may have the same user id and must not reach into this process
    drop_capabilities()
    while True:
        ended, status = os.wait()
        if ended == pid:
            os.write(report, struct.pack("=i", status))
            return


def end_as(status: int) -> None:
    """End this process in the way that another process with this wait status ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def die_with_parent() -> None:
    """Have this process killed when its parent ends for any reason."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    """Parse the arguments, build the namespaces, start the program and wait; exit with 126 if the machine does not allow it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--inodes", type=int, required=True)
    for name in ("--show", "--memory", "--bind"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--link", nargs=2, action="append", default=[])
    parser.add_argument("--keep", type=int, action="append", default=[])
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    die_with_parent()
    try:
        if options.user:
            enter_user_namespace()
        with contextlib.suppress(OSError):  # a kernel may have no control groups
            check(LIBC.unshare(CLONE_NEWCGROUP), "a control group namespace")
        check(LIBC.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS), "namespaces")
        null = os.open("/dev/null", os.O_RDWR)  # opened now, since the root changes for this process too
        status_in, status_out = os.pipe()
        alive_in, alive_out = os.pipe()  # when it reaches its end, the first process knows that this one is gone
        first = os.fork()
        if first == 0:
            die_with_parent()
            os.close(alive_out)
            if select.select([alive_in], [], [], 0)[0]:
                os._exit(126)
            size = f"size={options.bytes},nr_inodes={options.inodes}"
            build_root(options.show, options.memory, options.bind, dict(options.link), size)
            drop_bounds(options.keep)
            first_process(options.program, status_out, null)
            os._exit(0)
    except OSError as error:
        print("cannot confine:", *filter(None, [error.filename, error.strerror]), file=sys.stderr, flush=True)
        os._exit(126)
    os.close(status_out)
    let_go(null)
    drop_capabilities()
    told = os.read(status_in, 4)
    _, status = os.waitpid(first, 0)
    end_as(struct.unpack("=i", told)[0] if told else status)


if __name__ == "__main__":
    main()
