"""The last step before a submission's program starts: set limits, drop privileges, then `exec`.

The interpreter runs this file as a script, inside whatever namespaces `grader.confinement.sandbox` has set up:

    python -I -S confine.py --memory-mib 1024 --cpu-s 60 --processes 64 --file-size-mib 16 --cwd DIR [--uid N] -- PROGRAM

With --uid-among FIRST END the user id is drawn from [FIRST, END) at each start.

Unless --children is given, a program is a single process with threads, so its address space is all the memory it can have,
and nothing outlives it. A filter of system calls (seccomp) blocks new processes, namespaces, tracing, and memory that is not
charged to any process. Calls that would change on which core or with which priority the program runs change nothing, but seem
to succeed. With --reads or --writes, if the kernel has Landlock, a Landlock domain blocks all other files, TCP, and signals to
outside processes. With --bare there are no namespaces; the filter then also blocks sockets, queues of messages, calls that
reach into other processes or make a file signal them, and changes of a file's owner, mode or times (which Landlock does not
cover; these calls seem to succeed).

This module uses only the standard library and imports nothing from the grader, since it runs where the grader is not visible.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS = 1, 8, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
PR_GET_SECUREBITS, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP = 27, 28, 1 << 2
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
CAPABILITY_VERSION_3 = 0x20080522
CLONE_THREAD, CLONE_NEWUSER = 0x10000, 0x10000000
ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO; errno 0 looks like success
OPEN_FILES = 512

# Linux numbers its system calls differently on each kind of processor: {name: (x86_64, aarch64)}. ARCHITECTURES has the
# audit architecture of each.
Calls = Mapping[str, tuple[int | None, int | None]]
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = (56, 220)
CLONE3 = 435  # its flags are in memory, where a filter cannot see them; if it is refused, the C library uses clone
STARTING: Calls = {"fork": (57, None), "vfork": (58, None)}
REFUSED: Calls = (
    {"ptrace": (101, 117), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "open_by_handle_at": (304, 265)}
    | {"process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438)}
    | {"memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194)}
    | {"semget": (64, 190), "msgget": (68, 186)}
    | {"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425)}
    | {"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)}
)
# A program may change neither when nor on which core it runs; these calls seem to succeed, since libraries make them. On a core
# that other programs keep busy, a program that lets them all go first can wait as long as it likes, and it would count as
# starved (`arena.engine.withheld`): a lost game would be undecided, and played again.
PRETENDED: Calls = (
    {"setpriority": (141, 140), "ioprio_set": (251, 30)}
    | {"sched_setparam": (142, 118), "sched_setscheduler": (144, 119)}
    | {"sched_setaffinity": (203, 122), "sched_setattr": (314, 274)}
)
# These are refused as well where there are no namespaces.
REFUSED_BARE: Calls = (
    {"socket": (41, 198), "socketpair": (53, 199), "tkill": (200, 130), "pidfd_send_signal": (424, 424)}
    | {"pidfd_open": (434, 434), "migrate_pages": (256, 238), "move_pages": (279, 239), "process_madvise": (440, 440)}
    | {"process_mrelease": (448, 448)}
    # Queues and shared memory that exist already: without an IPC namespace they belong to all programs of the user.
    | {"shmat": (30, 196), "shmctl": (31, 195), "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191)}
    | {"msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181)}
)
PRETENDED_BARE: Calls = (
    {"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None)}
    | {"fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None)}
    | {"futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)}
    | {"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)}
    | {"setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469)}
)
# For these calls some values of the second argument are refused: a file can send a signal to the process that owns it.
# F_SETOWN, F_SETSIG and F_SETOWN_EX; FIOSETOWN and SIOCSPGRP.
REFUSED_COMMANDS_BARE = (((72, 25), (8, 10, 15)), ((16, 29), (0x8901, 0x8902)))  # of fcntl and ioctl
# For these calls the first argument must be the program's own process, or 0, which means the same.
OWN_PROCESS_BARE: Calls = {
    "kill": (62, 129),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "prlimit64": (302, 261),
}

# Landlock: system calls (the same on all processors), and rights by the version (ABI) that introduced them.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
LANDLOCK_VERSION, LANDLOCK_PATH_BENEATH = 1, 1
FS_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # version -> number of rights; they are the lowest bits
FS_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
FS_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # the rights that apply to a file: execute, write, read, truncate, ioctl
NET_TCP, SCOPED = 0b11, 0b11  # bind and connect, since version 4; abstract sockets and signals, since version 6


def call_filter(machine: str, children: bool, bare: bool = False) -> bytes:
    """Return the filter as a BPF program (an array of struct sock_filter); empty for an unknown processor.

    Args:
        children: whether the program may start other processes.
        bare: whether there are no namespaces; this process is then the only one that may be signalled.
    """
    if machine not in ARCHITECTURES:
        return b""
    column = list(ARCHITECTURES).index(machine)
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    def numbers(calls: Calls) -> list[int]:
        return [number for pair in calls.values() if (number := pair[column]) is not None]

    refuse, allow = step(give, REFUSE | errno.EPERM), step(give, ALLOW)
    # Offsets in struct seccomp_data: 0 for the call's number, 4 for the architecture, 16 and 24 for the first two arguments.
    program = [step(load, 4), step(equal, ARCHITECTURES[machine], 1, 0), refuse, step(load, 0)]
    program += [step(at_least, 0x40000000, 0, 1), refuse]  # x32 is a second numbering of the calls
    program += [step(equal, CLONE3, 0, 1), step(give, REFUSE | errno.ENOSYS)]
    for number in numbers(REFUSED) + ([] if children else numbers(STARTING)) + (numbers(REFUSED_BARE) if bare else []):
        program += [step(equal, number, 0, 1), refuse]
    for number in numbers(PRETENDED) + (numbers(PRETENDED_BARE) if bare else []):
        program += [step(equal, number, 0, 1), step(give, REFUSE)]
    for number in numbers(OWN_PROCESS_BARE) if bare else []:
        program += [
            step(equal, number, 0, 5),
            step(load, 16),
            step(equal, 0, 2, 0),
            step(equal, os.getpid(), 1, 0),
            refuse,
            allow,
        ]
    for both, commands in REFUSED_COMMANDS_BARE if bare else ():
        program += [step(equal, both[column], 0, len(commands) + 3), step(load, 24)]
        program += [step(equal, command, len(commands) - i, 0) for i, command in enumerate(commands)]
        program += [allow, refuse]
    program += [step(equal, CLONE[column], 0, 4), step(load, 16)]
    program += [step(any_bit, CLONE_NEWUSER, 0, 1) if children else step(any_bit, CLONE_THREAD, 1, 0), refuse]
    return b"".join([*program, allow, allow])


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> int:
    """Return the result of a C library call; raise OSError if it is negative."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def die_with_parent() -> None:
    """Have this process killed when its parent ends for any reason; a change of user undoes this."""
    _libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def install(program: bytes) -> None:
    """Install the filter for this process and every program that it executes; raise OSError if the kernel cannot."""
    libc = _libc()
    _done(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if program:
        steps = ctypes.create_string_buffer(program, len(program))
        whole = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))  # struct sock_fprog
        _done(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(whole), 0, 0), "seccomp")


def landlock_version() -> int:
    """Return the version of Landlock in the kernel; 0 if it has none."""
    return max(0, _libc().syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_VERSION))


def restrict_files(reads: Sequence[str], writes: Sequence[str]) -> None:
    """Block this process from all files except these paths and everything below them, from TCP, and from signals to others.

    It blocks as much of this as the kernel's Landlock can: truncation since version 3, TCP since version 4, signals since
    version 6. Without Landlock it does nothing.

    Args:
        reads: files and folders that may be read and executed; a path that does not exist is skipped.
        writes: files and folders that may also be written.

    Raises:
        OSError: the kernel has Landlock but refuses.
    """
    version = landlock_version()
    if not version:
        return
    libc = _libc()
    handled = (1 << FS_RIGHTS[max(since for since in FS_RIGHTS if since <= version)]) - 1
    attributes = struct.pack("=QQQ", handled, NET_TCP, SCOPED)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _done(libc.syscall(LANDLOCK_CREATE, ctypes.c_char_p(attributes), len(attributes), 0), "Landlock")
    for paths, rights in ((reads, FS_READ), (writes, handled)):
        for path in paths:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            allowed = handled & rights & (-1 if os.path.isdir(path) else FS_FILE)
            rule = struct.pack("=Qi", allowed, place)
            _done(libc.syscall(LANDLOCK_ADD, ruleset, LANDLOCK_PATH_BENEATH, ctypes.c_char_p(rule), 0), f"Landlock: {path}")
            os.close(place)
    _done(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _done(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0), "Landlock")
    os.close(ruleset)


def set_capabilities(kept: Sequence[int]) -> None:
    """Drop all capabilities of this process except these, which the programs that it executes inherit."""
    libc, mask = _libc(), sum(1 << number for number in kept)
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    # Effective, permitted and inheritable sets: first their lower halves, then the upper ones.
    _done(libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(struct.pack("=6I", low, low, low, high, high, high))), "capset")
    for number in kept:
        _done(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0), "ambient capability")


def answer_access_as_open() -> None:
    """Have access(2) count the capabilities of a program that is not root, as open(2) does; otherwise it ignores them.

    A compiler asks access(2) whether it can use TMPDIR. If the answer is no because the user cannot pass through a folder
    above it, the compiler takes /tmp, which is closed. Without the capability CAP_SETPCAP this does nothing.
    """
    libc = _libc()
    libc.prctl(PR_SET_SECUREBITS, libc.prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) | SECBIT_NO_SETUID_FIXUP, 0, 0, 0)


def become(uid: int) -> None:
    """Change from root to another user with only its own group; capabilities are kept until `set_capabilities`."""
    _libc().prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def tasks_of_user() -> int:
    """Return how many processes and threads this user has on the machine, not counting this one."""
    count, own = -1, os.getuid()
    for entry in Path("/proc").glob("[0-9]*/task"):
        with contextlib.suppress(OSError):
            count += len(os.listdir(entry)) if entry.parent.stat().st_uid == own else 0
    return max(count, 0)


def main() -> None:
    """Parse the arguments, confine this process and exec the program; exit with 126, as a shell does, if it cannot start."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory-mib", type=int, required=True)
    parser.add_argument("--cpu-s", type=int, required=True)
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--file-size-mib", type=int, required=True)
    parser.add_argument("--children", action="store_true")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--uid", type=int)
    parser.add_argument("--uid-among", type=int, nargs=2, metavar=("FIRST", "END"))
    parser.add_argument("--capability", type=int, action="append", default=[])
    parser.add_argument("--reads", action="append", default=[])
    parser.add_argument("--writes", action="append", default=[])
    parser.add_argument("--cwd", required=True)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    if options.uid_among:
        first, end = options.uid_among
        options.uid = first + int.from_bytes(os.urandom(4), "big") % (end - first)

    def limit(kind: int, value: int) -> None:
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))

    limit(resource.RLIMIT_AS, options.memory_mib << 20)
    limit(resource.RLIMIT_CPU, options.cpu_s)
    limit(resource.RLIMIT_FSIZE, options.file_size_mib << 20)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # if memory runs out, this process is killed rather than the grader
    # The kernel counts all tasks of a user. A user id reserved for this program has no other tasks; a regular user may have.
    others = tasks_of_user() if options.bare and options.uid is None else 0
    try:
        if options.reads or options.writes:
            restrict_files(options.reads, options.writes)  # before the change of user, who may be unable to reach these places
        if options.capability:
            answer_access_as_open()
        if options.uid is not None:
            become(options.uid)
        set_capabilities(options.capability)
        die_with_parent()
        # After the change of user: the kernel counts the processes of the current user, and never limits root.
        limit(resource.RLIMIT_NPROC, options.processes + others)
        install(call_filter(platform.machine(), options.children, options.bare))
    except OSError as error:
        print("cannot confine:", *filter(None, [error.filename, error.strerror]), file=sys.stderr)
        sys.exit(126)
    try:
        os.chdir(options.cwd)
        os.execvp(options.program[0], options.program)
    except OSError as error:
        print(f"cannot start {options.program[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(126)


if __name__ == "__main__":
    main()
