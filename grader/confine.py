"""The last step before a submission's program starts: limits are set, privileges dropped, then `exec`.

Run as a script by the interpreter, inside whatever namespaces `grader.sandbox` made around it:

    python -I -S confine.py --memory-mib 1024 --cpu-s 60 --processes 64 --file-size-mib 16 --cwd DIR [--uid N] -- PROGRAM

A program is one process with threads, unless --children is given, so that its address space is all the memory it can have
and nothing outlives it: a filter of system calls (seccomp) withholds new processes, namespaces, tracing and memory that
counts for no process.

It uses the standard library only and imports nothing of the grader, since it runs where the grader cannot be seen.
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

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
CLONE_THREAD, CLONE_NEWUSER = 0x10000, 0x10000000
ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
OPEN_FILES = 512

# Linux numbers its system calls for each kind of processor: (audit architecture, clone, {what starts a process}, {the rest}).
_CALLS = {
    "x86_64": (
        0xC000003E,
        56,
        {"fork": 57, "vfork": 58},
        {"ptrace": 101, "unshare": 272, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "mount": 165}
        | {"memfd_create": 319, "memfd_secret": 447, "shmget": 29, "msgget": 68, "bpf": 321, "perf_event_open": 298}
        | {"userfaultfd": 323, "io_uring_setup": 425, "add_key": 248, "request_key": 249, "keyctl": 250},
    ),
    "aarch64": (
        0xC00000B7,
        220,
        {},
        {"ptrace": 117, "unshare": 97, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40}
        | {"memfd_create": 279, "memfd_secret": 447, "shmget": 194, "msgget": 186, "bpf": 280, "perf_event_open": 241}
        | {"userfaultfd": 282, "io_uring_setup": 425, "add_key": 217, "request_key": 218, "keyctl": 219},
    ),
}
CLONE3 = 435  # its flags lie in memory, where no filter sees them; the C library then uses clone


def call_filter(machine: str, children: bool) -> bytes:
    """The filter as a program of the kernel's packet machine (struct sock_filter), empty for an unknown processor."""
    if machine not in _CALLS:
        return b""
    architecture, clone, starting, rest = _CALLS[machine]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    refuse = step(give, REFUSE | errno.EPERM)
    # Offsets in struct seccomp_data: 0 the call's number, 4 the architecture, 16 the first argument.
    program = [step(load, 4), step(equal, architecture, 1, 0), refuse, step(load, 0)]
    program += [step(at_least, 0x40000000, 0, 1), refuse]  # x32, a second numbering
    program += [step(equal, CLONE3, 0, 1), step(give, REFUSE | errno.ENOSYS)]
    for number in [*rest.values(), *([] if children else starting.values())]:
        program += [step(equal, number, 0, 1), refuse]
    program += [step(equal, clone, 0, 4), step(load, 16)]
    program += [step(any_bit, CLONE_NEWUSER, 0, 1) if children else step(any_bit, CLONE_THREAD, 1, 0), refuse]
    return b"".join([*program, step(give, ALLOW), step(give, ALLOW)])


def die_with_parent() -> None:
    """Have this process killed when its parent ends, however that ends; a change of user undoes it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def install(program: bytes) -> None:
    """Put the filter on this process and all that it becomes; OSError where the kernel has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if program:
        steps = ctypes.create_string_buffer(program, len(program))
        whole = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))  # struct sock_fprog
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(whole), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")


def main() -> None:
    """Parse, confine, exec. Exit code 126 when the program cannot be started, like a shell's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory-mib", type=int, required=True)
    parser.add_argument("--cpu-s", type=int, required=True)
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--file-size-mib", type=int, required=True)
    parser.add_argument("--children", action="store_true")
    parser.add_argument("--uid", type=int)
    parser.add_argument("--cwd", required=True)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()

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
        file.write("1000")  # where memory runs out, it is not the grader that has to go
    if options.uid is not None:
        os.setgroups([])
        os.setresgid(options.uid, options.uid, options.uid)
        os.setresuid(options.uid, options.uid, options.uid)
    die_with_parent()
    # After the change of user: the kernel counts processes of the user that asks, and never binds root.
    limit(resource.RLIMIT_NPROC, options.processes)
    try:
        install(call_filter(platform.machine(), options.children))
    except OSError as error:
        print(f"cannot confine: {error.strerror}: {os.strerror(error.errno or 0)}", file=sys.stderr)
        sys.exit(126)
    try:
        os.chdir(options.cwd)
        os.execvp(options.program[0], options.program)
    except OSError as error:
        print(f"cannot start {options.program[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(126)


if __name__ == "__main__":
    main()
