"""Run a student's notebook in the sandbox, without Jupyter, and say which cells failed.

All cells of a notebook share one worker process, as they share one kernel in Jupyter. Tests and the student's functions
therefore meet in one process, and a student who wants to can make a test pass: the outcome is help for learning, and no proof.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from common.errors import UsageError
from common.harmless_text import on_screen
from common.torch_libraries import torch_libraries_mib
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import ProcessLimits, Sandbox, passing_folder
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault

CELL_LIMIT_S = 120.0  # CPU seconds of one cell
CPU_LIMIT_S = 600  # of all cells of a notebook
MAX_NOTEBOOK_BYTES = 4 << 20
MAX_MESSAGE = 1000


@dataclass(frozen=True)
class CodeCell:
    """A code cell of a notebook.

    Attributes:
        name: nbgrader's id of the cell, or its number in the notebook.
        points: what the cell gives if it is a test; 0 for other cells.
    """

    name: str
    source: str
    points: float = 0.0


def read_notebook(path: Path) -> list[CodeCell]:
    """Return the code cells of a notebook.

    Raises:
        UsageError: the file cannot be read, is too large, or is not a notebook.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_NOTEBOOK_BYTES + 1)
    except OSError as error:
        raise UsageError(f"expected a notebook at {path}: {error.strerror}") from error
    if len(content) > MAX_NOTEBOOK_BYTES:
        raise UsageError(f"expected a notebook of at most {MAX_NOTEBOOK_BYTES >> 20} MiB at {path}; clear its outputs")
    return parse_notebook(content, str(path))


def parse_notebook(content: bytes, where: str) -> list[CodeCell]:
    """Return the code cells of a notebook, given as the content of its file; raise a UsageError if it is not one."""
    try:
        return [_code_cell(number, cell) for number, cell in enumerate(json.loads(content)["cells"], 1) if _is_code(cell)]
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"expected a Jupyter notebook (format 4) at {where}; it cannot be read as one") from error


def _is_code(cell: dict[str, Any]) -> bool:
    return bool(cell["cell_type"] == "code")


def _code_cell(number: int, cell: dict[str, Any]) -> CodeCell:
    source, about = cell["source"], cell.get("metadata", {}).get("nbgrader", {})
    points = float(about.get("points", 0)) if about.get("grade") else 0.0
    return CodeCell(str(about.get("grade_id") or number), source if isinstance(source, str) else "".join(source), points)


def run_cells(cells: Sequence[CodeCell], sandbox: Sandbox) -> Iterator[str]:
    """Run the cells in order; yield "" for each cell that ended without an exception, otherwise a sentence.

    A cell that ends or blocks the process takes the values of the cells above it along, so the cells below it do not run.

    Raises:
        CouldNotGrade: the process could not be started, or the machine was too busy.
    """
    limits = load_assignment().limits
    memory_mib = limits.worker_memory_mib + torch_libraries_mib()
    allowed = ProcessLimits(memory_mib, CPU_LIMIT_S, limits.processes, limits.file_size_mib)
    with passing_folder("grader-cells-") as place:
        (workspace := place.resolve() / "empty").mkdir()
        with Worker(workspace, sandbox, allowed, CELL_LIMIT_S) as worker:
            worker.seed_rng = Random(0)  # so that the same notebook gets the same points
            ended_at = ""
            for cell in cells:
                if ended_at:
                    yield f"Not run, because the cell {ended_at} ended the program."
                    continue
                try:
                    yield on_screen(worker.call("run_cell", name=cell.name, source=cell.source)[:MAX_MESSAGE])
                except StudentFault as fault:
                    ended_at = on_screen(cell.name)
                    yield on_screen(str(fault)[:MAX_MESSAGE])
