"""The warm-up notebooks of the kit, made from the course's source notebooks by nbgrader's own steps.

`instructor/course/source/warmup/` holds them with their solutions; `warmup/` is what students get. The result is the same as
that of `nbgrader generate_assignment warmup`, which also enters the tests into the gradebook.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from grader.assignment import ROOT
from grader.instructor.notebook import INSTALL

WARMUP = "warmup"
REGION = re.compile(r"### BEGIN SOLUTION(.*?)### END SOLUTION", re.DOTALL)


def source_notebooks(course: Path) -> list[Path]:
    """Return the paths of the notebooks with solutions."""
    return sorted((course / "source" / WARMUP).glob("*.ipynb"))


def cell_lines(notebook: bytes) -> list[str]:
    """Return the lines of all cells of a notebook, given as the content of its file."""
    return [line for cell in json.loads(notebook)["cells"] for line in "".join(cell["source"]).splitlines()]


def solution_lines(notebook: bytes) -> tuple[set[str], set[str]]:
    """Return the stripped lines between the solution markers of a notebook, and those outside of them."""
    text = "\n".join(cell_lines(notebook))
    inside = {line.strip() for region in REGION.findall(text) for line in region.splitlines()}
    return inside, {line.strip() for line in REGION.sub("", text).splitlines()}


def without_solutions(notebook: Path) -> str:
    """Return the text of the notebook that students get.

    Raises:
        UsageError: nbgrader is not installed, or its steps refuse the notebook.
    """
    try:
        from nbconvert.exporters import NotebookExporter
        from nbgrader import preprocessors
        from nbgrader.preprocessors import NbGraderPreprocessor
    except ImportError as error:
        raise UsageError(f"nbgrader is needed for the warm-up and is not installed: {INSTALL}") from error
    names = ("LockCells", "ClearSolutions", "ClearOutput", "CheckCellMetadata", "ClearHiddenTests", "ClearMarkScheme")
    steps: list[type[NbGraderPreprocessor]] = [getattr(preprocessors, name) for name in (*names, "ComputeChecksums")]
    exporter = NotebookExporter(preprocessors=steps)
    try:
        text, _ = exporter.from_filename(str(notebook))
    except (RuntimeError, ValueError) as error:  # what these steps raise for cells that they cannot release
        raise UsageError(f"{notebook} cannot be released: {error}") from error
    return str(text).rstrip("\n") + "\n"


def main(course: Path, *, check: bool, root: Path = ROOT) -> int:
    """Write the kit's notebooks, or with `check` only say which of them differ (exit code 1)."""
    outcome = 0
    for source in source_notebooks(course):
        fresh, path = without_solutions(source), root / WARMUP / source.name
        if path.is_file() and path.read_text(encoding="utf-8") == fresh:
            continue
        if check:
            print(f"{path} does not match {source}; run python -m grader notebook", file=sys.stderr)
            outcome = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, fresh.encode())
            print(f"{path} has been updated")
    return outcome
