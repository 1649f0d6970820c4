"""The reference solution as the package AlphaZero, for benches that need a network or a student's search."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace


@contextlib.contextmanager
def reference_package() -> Iterator[None]:
    """Put a workspace with the reference at the head of sys.path within the block."""
    with tempfile.TemporaryDirectory() as folder:
        assignment = load_assignment()
        reference = read_submission(ROOT / "instructor" / "reference", assignment)
        workspace = str(build_workspace(assignment, reference, Path(folder) / "workspace"))
        sys.path.insert(0, workspace)
        try:
            yield
        finally:
            sys.path.remove(workspace)
