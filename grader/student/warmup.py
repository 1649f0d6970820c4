"""`python -m grader warmup`: run the tests of the warm-up notebooks, as grading does, without Jupyter."""

from __future__ import annotations

from pathlib import Path

from common.errors import UsageError
from common.near_names import near_name
from grader.assignment import ROOT
from grader.confinement.sandbox import find_sandbox
from grader.pipeline.listeners import Announce
from grader.pipeline.notebook_cells import read_notebook, run_cells

FOLDER = "warmup"


def main(notebooks: list[Path], announce: Announce, root: Path = ROOT) -> int:
    """Run these notebooks (all in the folder warmup/ if none is named); return 0 if every test passed, otherwise 1.

    Raises:
        UsageError: there is no such notebook, or it has no tests.
    """
    chosen = notebooks or sorted((root / FOLDER).glob("*.ipynb"))
    if not chosen:
        raise UsageError(f"expected notebooks in {root / FOLDER}; there are none, so name them: python -m grader warmup FILE")
    for path in chosen:
        if not path.exists():
            raise UsageError(f"expected a notebook at {path}; there is none: {_instead(path, root)}")
    passed = [_passed(path, announce) for path in chosen]
    return int(not all(passed))


def _instead(path: Path, root: Path) -> str:
    """Return which notebook to name instead of one that is missing: the one with nearly its name, or all that there are."""
    present = [notebook.relative_to(root).as_posix() for notebook in sorted((root / FOLDER).glob("*.ipynb"))]
    expected = f"{FOLDER}/{path.stem}.ipynb"
    near = expected if expected in present else near_name(expected, present)
    return f"try {near or ' or '.join(present) or 'another file'}"


def _passed(path: Path, announce: Announce) -> bool:
    cells = read_notebook(path)
    tests = [cell for cell in cells if cell.points]
    if not tests:
        raise UsageError(f"expected tests in {path}; it has none, so start again from the notebook as it was handed out")
    announce(f"{path.name}:")
    first, points = "", 0.0
    for cell, failure in zip(cells, run_cells(cells, find_sandbox()), strict=True):
        points += 0.0 if failure else cell.points
        if failure and not first:
            first = f"Look first at the cell {cell.name}."
        if cell.points:
            announce(f"  {'failed' if failure else 'passed'}  {cell.name}{f': {failure}' if failure else ''}")
        elif failure:
            announce(f"  {cell.name}: {failure}")
    announce(f"  {points:g} of {sum(cell.points for cell in tests):g} points. {first}")
    return not first
