"""A runnable tree: the clean framework and, on top, the files that a submission may bring.

A student cannot replace the Board, train.py or the referee, because only collected files are laid over the framework.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from grader.assignment import ROOT, Assignment, matches
from grader.errors import UsageError
from grader.submission import Submission

MARKER = ".workspace"


def framework_files(assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Relative paths of the framework's files, by the assignment's allow-list."""
    places = {pattern.split("/")[0] for pattern in assignment.framework}
    found = []
    for place in sorted(places):
        start = root / place
        for path in sorted(start.rglob("*")) if start.is_dir() else sorted(root.glob(place)):
            relative = path.relative_to(root).as_posix()
            if path.is_file() and not path.is_symlink() and matches(relative, assignment.framework):
                found.append(relative)
    return found


def build_workspace(assignment: Assignment, submission: Submission, destination: Path, *, root: Path = ROOT) -> Path:
    """Lay the framework and the submission's files into `destination`.

    An earlier workspace there is replaced; anything else that is not an empty folder is refused.

    Returns:
        `destination`, resolved.

    Raises:
        UsageError: `destination` holds something that is not a workspace.
    """
    destination = destination.resolve()
    if destination.exists() and not destination.is_dir():
        raise UsageError(f"expected a new or empty folder for the workspace; {destination} is a file")
    if destination.is_dir() and any(destination.iterdir()):
        if not (destination / MARKER).is_file():
            raise UsageError(f"expected a new or empty folder for the workspace; {destination} holds other files")
        shutil.rmtree(destination)
    destination.mkdir(parents=True, exist_ok=True)
    (destination / MARKER).write_text(f"{submission.name} {submission.digest}\n", encoding="utf-8")
    for relative in framework_files(assignment, root):
        target = destination / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / relative, target)
    for relative, content in submission.files.items():
        target = destination / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    package = destination / "AlphaZero"
    if package.is_dir() and not (package / "__init__.py").exists():
        (package / "__init__.py").touch()
    return destination
