"""A runnable tree: the clean framework with the collected files of a submission laid over it.

A student cannot replace the Board, train.py or the referee, because only collected files are laid over the framework.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment, matches
from grader.pipeline.placing import MARKER
from grader.pipeline.submission import Submission


def framework_files(assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Return the relative paths of the framework's files that are on the assignment's allow-list."""
    places = {pattern.split("/")[0] for pattern in assignment.framework}
    found = []
    for place in sorted(places):
        start = root / place
        for path in sorted(start.rglob("*")) if start.is_dir() else sorted(root.glob(place)):
            relative = path.relative_to(root).as_posix()
            if path.is_file() and not path.is_symlink() and matches(relative, assignment.framework):
                found.append(relative)
    return found


def build_workspace(assignment: Assignment, submission: Submission, destination: Path) -> Path:
    """Lay out the framework and the submission's files in `destination`.

    An earlier workspace in that folder loses the files that were laid out before, but keeps files made in it since then
    (trained weights, logs). Any other folder that is not empty is refused.

    Returns:
        `destination`, resolved.

    Raises:
        UsageError: `destination` holds files but is not a workspace, or it cannot be written.
    """
    destination = Path(os.path.realpath(destination))
    if destination.exists() and not destination.is_dir():
        raise UsageError(f"expected a new or empty folder for the workspace; {destination} is a file")
    files = {relative: (ROOT / relative).read_bytes() for relative in framework_files(assignment)}
    files |= submission.files
    for part in assignment.python_parts:
        if any(relative.startswith(f"{part}/") for relative in files):
            files.setdefault(f"{part}/__init__.py", b"")
    try:
        for relative in _laid_before(destination):
            _inside(destination, relative).unlink(missing_ok=True)
        destination.mkdir(parents=True, exist_ok=True)
        listed = json.dumps(sorted(files), indent=0, ensure_ascii=False).encode()
        for relative, content in {MARKER: listed, **files}.items():
            target = _inside(destination, relative)
            target.parent.mkdir(parents=True, exist_ok=True)
            # If a program of the submission left a link here, the link is replaced, not followed.
            target.unlink(missing_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise UsageError(f"the workspace {destination} cannot be laid out: {error}") from error
    return destination


def _laid_before(destination: Path) -> list[str]:
    """Return the files of an earlier workspace in this folder; an empty list for a new or empty folder."""
    marker = destination / MARKER
    if marker.is_file():
        try:
            laid = json.loads(marker.read_text(encoding="utf-8"))
        except ValueError:
            laid = None
        if not isinstance(laid, list) or not all(isinstance(relative, str) for relative in laid):
            raise UsageError(
                f"expected the list of the workspace's files in {marker}; it is damaged: remove the folder by hand"
            )
        return laid
    if destination.is_dir() and any(destination.iterdir()):
        raise UsageError(f"expected a new or empty folder for the workspace; {destination} holds other files")
    return []


def _inside(destination: Path, relative: str) -> Path:
    """Return a file's path in the workspace; raise a UsageError if its name or a link leads out of the workspace."""
    path = destination / relative
    if not path.parent.resolve().is_relative_to(destination):
        raise UsageError(f"expected only paths inside the workspace {destination}; {relative!r} leads out of it")
    return path
