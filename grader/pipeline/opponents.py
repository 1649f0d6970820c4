"""The engines of `[opponents]`: the files that they consist of, and their programs."""

from __future__ import annotations

import hashlib
import os
import posixpath
import subprocess
from collections.abc import Sequence
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment
from grader.pipeline.engine_build import SOURCE_SUFFIXES, first_error
from grader.pipeline.includes import included_names, without_comments

DIGEST_CHARACTERS = 16  # of the sources, in the name of a binary


def engine_files(assignment: Assignment, root: Path = ROOT) -> set[str]:
    """Return the relative paths of all files that the opponents consist of, with the header that engines include.

    Raises:
        UsageError: a file is missing.
    """
    return set().union(*(_files(name, paths, assignment, root) for name, paths in assignment.opponents.items()))


def build_opponent(name: str, assignment: Assignment, root: Path = ROOT) -> Path:
    """Return the path of an engine of `[opponents]`; see `build_listed`."""
    return build_listed(name, assignment.opponents[name], assignment, root)


def build_listed(name: str, listed: Sequence[str], assignment: Assignment, root: Path = ROOT) -> Path:
    """Return the path of an engine that consists of these files; compile it if they, the header or the command are new.

    The name of the binary has their digest, so an engine built from other files never takes its place. Sources are compiled
    unless another file of the engine includes them; files that are included need not be listed.

    Raises:
        UsageError: a file is missing, or the sources do not compile.
    """
    files = _files(name, listed, assignment, root)
    included = set().union(*files.values())
    sources = [path for path in listed if path.endswith(SOURCE_SUFFIXES) and path not in included]
    command = [*assignment.compile_command, *(str(root / path) for path in sources)]
    digest = hashlib.sha256("\0".join(command).encode())
    for path in sorted(files):
        digest.update(hashlib.sha256((root / path).read_bytes()).digest())
    binary = root / "build" / "opponents" / f"{name}-{digest.hexdigest()[:DIGEST_CHARACTERS]}"
    if binary.exists():
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    fresh = binary.with_name(f".{name}.{os.getpid()}")
    done = subprocess.run([*command, "-o", str(fresh)], cwd=root, capture_output=True, text=True)
    if done.returncode:
        reason = first_error(done.stderr)
        raise UsageError(f"the opponent {name} of assignment.toml ({', '.join(listed)}) does not compile: {reason}")
    fresh.replace(binary)
    return binary


def _files(name: str, listed: Sequence[str], assignment: Assignment, root: Path) -> dict[str, set[str]]:
    """Return path -> the files that it includes, for the header, the files listed, and all that these include."""
    found: dict[str, set[str]] = {}
    waiting = [f"{assignment.engine_folder}/{assignment.engine_header}", *listed]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        try:
            content = (root / path).read_bytes()
        except OSError as error:
            raise UsageError(f"expected a file of the opponent {name} at {root / path}: {error.strerror}") from error
        # The compiler looks beside the file, then in the engine folder.
        folders = (posixpath.dirname(path), assignment.engine_folder)
        names = included_names(without_comments(content))
        places = {posixpath.normpath(f"{folder}/{each}") for folder in folders for each in names}
        found[path] = {place for place in places - {path} if not place.startswith("../") and (root / place).is_file()}
        waiting += found[path]
    return found
