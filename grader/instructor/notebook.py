"""The report notebook of the nbgrader course, generated from assignment.toml and the course's rubric.toml.

It has a cell for each rubric item of a mark (report, code review), which a person marks in formgrader, and for each check,
whose points `python -m grader gradebook` enters. No cell holds code, so nbgrader has nothing to execute. Ids and points come
from the assignment, and `--check` says when the file is out of date.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

from common.errors import UsageError
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_assignment
from grader.typed_toml import Mistake, converted, read_toml, require_known_keys, value_at

COURSE = ROOT / "instructor" / "course"
NOTEBOOK = "report"
INSTALL = "python -m pip install -r requirements-instructor.txt"
# Ids that nbgrader's editor accepts and formgrader's page can address; 64 is the limit of nbformat.
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
READ, ANSWER, TASK = "read", "answer", "task"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
REPORT_NAME = "program.html"  # the program's report beside a notebook; nbgrader calls its feedback report.html
PAGE_NAME = "reports.html"  # what the student wrote, rendered, beside a notebook


@dataclass(frozen=True)
class RubricItem:
    """Part of a mark of the assignment.

    Attributes:
        criteria: (points, what earns them).
        answer: what a full answer contains, shown only to instructors; without it, the student need not write any text.
    """

    mark: str
    id: str
    title: str
    text: str
    criteria: tuple[tuple[float, str], ...]
    answer: str = ""

    @property
    def points(self) -> float:
        return sum(points for points, _ in self.criteria)

    @property
    def cell(self) -> str:
        return f"{self.mark}-{self.id}"


@dataclass(frozen=True)
class Cell:
    """A Markdown cell: `read` is locked and has no points, `answer` is written by the student, `task` is locked with points."""

    id: str
    kind: str
    source: str
    points: float = 0.0

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that nbgrader keeps with a cell, in its schema version 3."""
        answer, task = self.kind == ANSWER, self.kind == TASK
        data: dict[str, Any] = {"grade": answer, "solution": answer, "task": task, "locked": not answer}
        if answer or task:
            data["points"] = int(self.points) if self.points == int(self.points) else self.points
        return {"nbgrader": {"grade_id": self.id, "schema_version": 3, **data}}


def table_cell(text: str) -> str:
    """Return the text, escaped for a cell of a Markdown table."""
    return text.replace("|", r"\|")


def check_cell(check_id: str) -> str:
    """Return the id of the cell of a check: the check's id with a hyphen for the dot."""
    return check_id.replace(".", "-")


def load_rubric(assignment: Assignment, course: Path = COURSE) -> tuple[RubricItem, ...]:
    """Read the course's rubric.toml; an assignment without marks needs none.

    Raises:
        UsageError: the file cannot be read, an item is there twice or has no points, or the points do not add up to those of
            the assignment's marks.
    """
    path = course / "rubric.toml"
    if not assignment.marks and not path.exists():
        return ()
    data = read_toml(path, "the rubric")
    try:
        require_known_keys(data, ["items"])
        items = converted(value_at(data, "items"), tuple[RubricItem, ...], "items")
    except Mistake as error:
        raise UsageError(f"{path}: {error}") from error
    marks = {mark.id: mark.points for mark in assignment.marks}
    if strange := sorted({item.mark for item in items} - set(marks)):
        raise UsageError(f"{path}: expected marks among {', '.join(marks)}; got {', '.join(strange)}")
    names = [f"{item.mark}.{item.id}" for item in items]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{path}: expected items of different ids in each mark; twice: {', '.join(doubled)}")
    if worthless := [name for name, item in zip(names, items, strict=True) if not item.points]:
        raise UsageError(f"{path}: expected criteria with more than 0 points in all for {worthless[0]}")
    for mark, points in marks.items():
        given = sum(item.points for item in items if item.mark == mark)
        if abs(given - points) > 1e-9:
            raise UsageError(f"{path}: expected {points:g} points for {mark}, as in assignment.toml; the items give {given:g}")
    return items


def cell_titles(assignment: Assignment, course: Path) -> dict[str, str]:
    """Return the title of each cell that has points, by the cell's id."""
    titles = {check_cell(check.id): check.title for check in assignment.checks}
    return titles | {item.cell: item.title for item in load_rubric(assignment, course)}


def course_cells(assignment: Assignment, rubric: tuple[RubricItem, ...]) -> tuple[Cell, ...]:
    """Return all cells, in order: an introduction, the marks with their rubric, the checks.

    Raises:
        UsageError: two cells would have the same id, or a cell would have an id that nbgrader does not accept.
    """
    total = sum(item.points for item in (*assignment.checks, *assignment.marks))
    program = sum(check.points for check in assignment.checks)
    by_mark = {mark.id: [item for item in rubric if item.mark == mark.id] for mark in assignment.marks}
    about = f"{program:g} of its {total:g} points come from the programs that you hand in."
    if assignment.marks:
        about += (
            " A person marks the rest by the rubrics below. Write your report here, or as a file "
            f"({assignment.handout}, section {assignment.marks[0].handout})."
        )
    cells = [Cell("introduction", READ, f"# {assignment.title}\n\nThis notebook stands for the whole assignment. {about}")]
    for mark in assignment.marks:
        cells.append(Cell(f"{mark.id}-heading", READ, f"## {mark.title} ({_points(mark.points)})"))
        for item in by_mark[mark.id]:
            asked = f"### {item.title} ({_points(item.points)})\n\n{item.text.strip()}\n\n{_rubric_table(item)}"
            if item.answer:
                cells += [Cell(f"{item.cell}-rubric", READ, asked), Cell(item.cell, ANSWER, item.answer.strip(), item.points)]
            else:
                cells.append(Cell(item.cell, TASK, asked, item.points))
    cells.append(
        Cell(
            "program-heading",
            READ,
            f"## Programs ({_points(program)})\n\nWrite nothing here: the grader runs your programs and enters the points of "
            "each check, with the reason.",
        )
    )
    for group, members in groupby(assignment.checks, key=lambda check: check.id.split(".")[0]):
        checks = list(members)
        cells.append(Cell(f"{group}-heading", READ, f"### `{group}` ({_points(sum(check.points for check in checks))})"))
        cells += [
            Cell(
                check_cell(check.id),
                TASK,
                f"**{check.title}**\n\n`{check.id}`, {_points(check.points)}, handout section {check.handout}",
                check.points,
            )
            for check in checks
        ]
    ids = Counter(cell.id for cell in cells)
    if wrong := sorted(i for i, times in ids.items() if times > 1 or not CELL_ID.fullmatch(i)):
        raise UsageError(
            "expected different ids of at most 64 letters, digits, hyphens and underscores, for checks, marks and rubric "
            f"items; got {', '.join(wrong)}"
        )
    return tuple(cells)


def _points(points: float) -> str:
    return f"{points:g} point{'' if points == 1 else 's'}"


def _rubric_table(item: RubricItem) -> str:
    rows = [f"| {points:g} | {table_cell(what)} |" for points, what in item.criteria]
    # The space is wide because formgrader leaves none between columns.
    return "\n".join(["| Points&emsp; | What earns them |", "|---|---|", *rows])


def require_nbformat() -> ModuleType:
    """Return the package nbformat; if it is missing, raise a UsageError that says how to install it."""
    try:
        import nbformat.v4
    except ImportError as error:
        raise UsageError(f"nbformat is needed for notebooks and is not installed: {INSTALL}") from error
    return nbformat


def to_notebook(cells: tuple[Cell, ...], extra: dict[str, Any] | None = None) -> Any:
    """Return the cells as a valid notebook (nbformat 4.5); `extra` is added to its metadata."""
    nbformat = require_nbformat()
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(cell.source, id=cell.id, metadata=cell.metadata) for cell in cells],
        metadata={**KERNEL, **(extra or {})},
    )
    nbformat.validate(notebook)
    return notebook


def notebook_text(notebook: Any) -> str:
    """Return the notebook as the text of a file."""
    return require_nbformat().writes(notebook).rstrip("\n") + "\n"


def main(course: Path, *, check: bool) -> int:
    """Write the source notebook, or with `check` only say whether it differs (exit code 1)."""
    assignment = load_assignment()
    fresh = notebook_text(to_notebook(course_cells(assignment, load_rubric(assignment, course))))
    path = course / "source" / assignment.id / f"{NOTEBOOK}.ipynb"
    same = path.is_file() and path.read_text(encoding="utf-8") == fresh
    if check:
        if not same:
            print(f"{path} does not match assignment.toml and rubric.toml; run python -m grader notebook", file=sys.stderr)
        return int(not same)
    if not same:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fresh, encoding="utf-8")
    print(f"{path} {'is already up to date' if same else 'has been updated'}")
    return 0
