"""The last step before a submission's program starts: limits are set, privileges dropped, then `exec`.

Run as a script by the interpreter, inside whatever namespaces `grader.sandbox` made around it:

    python -I -S confine.py --memory-mib 1024 --cpu-s 60 --processes 64 --file-size-mib 16 --cwd DIR [--uid N] -- PROGRAM

It uses the standard library only and imports nothing of the grader, since it runs where the grader cannot be seen.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import sys

PR_SET_NO_NEW_PRIVS = 38


def main() -> None:
    """Parse, confine, exec. Exit code 126 when the program cannot be started, like a shell's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory-mib", type=int, required=True)
    parser.add_argument("--cpu-s", type=int, required=True)
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--file-size-mib", type=int, required=True)
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
    if options.uid is not None:
        os.setgroups([])
        os.setresgid(options.uid, options.uid, options.uid)
        os.setresuid(options.uid, options.uid, options.uid)
    # After the change of user: the kernel counts processes of the user that asks, and never binds root.
    limit(resource.RLIMIT_NPROC, options.processes)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    try:
        os.chdir(options.cwd)
        os.execvp(options.program[0], options.program)
    except OSError as error:
        print(f"cannot start {options.program[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(126)


if __name__ == "__main__":
    main()
