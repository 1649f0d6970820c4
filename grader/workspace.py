"""A runnable tree: the clean framework and, on top, the files that a submission may bring.

A student cannot replace the Board, train.py or the referee, because only collected files are laid over the framework.
"""

from __future__ import annotations

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

    Laid out again, an earlier workspace loses the files that were laid there before; what was made in it since (trained
    weights, logs) stays. Any other folder that is not empty is refused.

    Returns:
        `destination`, resolved.

    Raises:
        UsageError: `destination` holds something that is not a workspace.
    """
    destination = destination.resolve()
    marker = destination / MARKER
    if destination.exists() and not destination.is_dir():
        raise UsageError(f"expected a new or empty folder for the workspace; {destination} is a file")
    if marker.is_file():
        for relative in marker.read_text(encoding="utf-8").splitlines():
            (destination / relative).unlink(missing_ok=True)
    elif destination.is_dir() and any(destination.iterdir()):
        raise UsageError(f"expected a new or empty folder for the workspace; {destination} holds other files")
    files = {relative: (root / relative).read_bytes() for relative in framework_files(assignment, root)}
    files |= submission.files
    if any(relative.startswith("AlphaZero/") for relative in files):
        files.setdefault("AlphaZero/__init__.py", b"")
    destination.mkdir(parents=True, exist_ok=True)
    marker.write_text("".join(f"{relative}\n" for relative in sorted(files)), encoding="utf-8")
    for relative, content in files.items():
        target = destination / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return destination
