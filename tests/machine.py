"""Another kind of machine for a command: `python tests/machine.py [--user] [--without-namespaces] -- COMMAND ARGUMENT...`

    --user                 an ordinary user (started by root), in whose home, closed to all others, the interpreter and this
                           repository lie if they lie in one that this user cannot reach
    --without-namespaces   as in a container: no process of the command can make a namespace or mount anything

Both hold for the command and what it starts, and leave the machine as it is.
"""

from __future__ import annotations

import argparse
import errno
import os
import platform
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader.confinement import own_root
from grader.confinement.confine import ARCHITECTURES, CLONE, CLONE3, REFUSED, become, install, set_capabilities
from grader.confinement.sandbox import interpreter_folders

ROOT = Path(__file__).resolve().parents[1]
USER = 61_234
MAKES_NAMESPACE = 0x7E020000  # the flags of clone(2) for namespaces


def open_home(home: Path, kept: list[Path]) -> None:
    """Put a home of USER in the place of `home`, with nothing in it but some folders of the former one; for this process."""
    aside = [(path, os.open(path, os.O_PATH)) for path in kept]
    own_root.mount("tmpfs", str(home), "tmpfs", 0, f"mode=0700,uid={USER},gid={USER}")
    for path, place in aside:
        for folder in [*reversed(path.parents), path]:
            if folder.is_relative_to(home) and not folder.exists():
                folder.mkdir()
                os.chown(folder, USER, USER)
        own_root.mount(f"/proc/self/fd/{place}", str(path), None, own_root.MS_BIND | own_root.MS_REC)
        os.close(place)


def become_user() -> None:
    """Become USER, able to reach this interpreter and this repository."""
    own_root.check(own_root.LIBC.unshare(own_root.CLONE_NEWNS), "a mount namespace")
    own_root.mount("none", "/", None, own_root.MS_REC | own_root.MS_PRIVATE)
    closed: dict[Path, list[Path]] = {}
    for folder in sorted({folder.resolve() for folder in [*interpreter_folders(), ROOT]}):
        home = next((path for path in reversed(folder.parents) if not path.stat().st_mode & 0o001), None)
        if home:
            closed.setdefault(home, []).append(folder)
    for home, folders in closed.items():
        open_home(home, folders)
    become(USER)
    set_capabilities([])


def forbid_namespaces() -> None:
    """Have all calls fail that make or join a namespace, or mount."""
    machine = platform.machine()
    column = list(ARCHITECTURES).index(machine)
    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06
    refuse, allow = (give, 0, 0, 0x50000 | errno.EPERM), (give, 0, 0, 0x7FFF0000)
    program = [(load, 0, 0, 0)]
    for name in ("unshare", "setns", "mount"):
        program += [(equal, 0, 1, REFUSED[name][column]), refuse]
    program += [(equal, 0, 1, CLONE3), (give, 0, 0, 0x50000 | errno.ENOSYS)]
    program += [(equal, 0, 3, CLONE[column]), (load, 0, 0, 16), (any_bit, 0, 1, MAKES_NAMESPACE), refuse, allow]
    install(b"".join(struct.pack("=HBBI", *step) for step in program))


def main() -> None:
    """Change this process and become the command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--without-namespaces", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    if options.user:
        become_user()
    if options.without_namespaces:
        forbid_namespaces()
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
