"""The notebooks of `autograded/`, where formgrader and feedback look for them.

Each student gets a marking sheet. Beside it are the program's report, the reports that were handed in, and a page that shows
those in Markdown and notebooks. A student's own notebook is never overwritten; it is made harmless
(`grader.instructor.harmless_notebook`).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType

from common.errors import UsageError, reason_of
from common.files import write_whole
from common.harmless_text import on_screen
from grader.assignment import Assignment
from grader.instructor.gradebook_entries import GradebookEntry, Student
from grader.instructor.notebook import (
    ANSWER,
    INSTALL,
    NOTEBOOK,
    PAGE_NAME,
    READ,
    REPORT_NAME,
    Cell,
    notebook_text,
    to_notebook,
)
from grader.pipeline.kept_reports import REPORTS, copy_reports, read_reports
from grader.pipeline.results import MALFORMED, REPORT

SHEET = "grader_marking_sheet"  # key in the metadata of a sheet written here, which distinguishes it from a student's notebook
MAX_NOTEBOOK_BYTES = 64 << 20


def write_sheet(course: Path, assignment: Assignment, cells: tuple[Cell, ...], student: Student, entry: GradebookEntry) -> bool:
    """Put a marking sheet and the program's report where formgrader and feedback look.

    A notebook that is already there and is not a sheet is the student's, brought in by `nbgrader autograde`. It is kept.

    Returns:
        Whether the reports differ from those beside a notebook that was there already.
    """
    folder = course / "autograded" / student.id / assignment.id
    folder.mkdir(parents=True, exist_ok=True)
    report = entry.path.with_name(REPORT)
    for name in (REPORT_NAME, PAGE_NAME):
        (folder / name).unlink(missing_ok=True)  # a student may have handed it in with the notebook
    if report.is_file():
        shutil.copyfile(report, folder / REPORT_NAME)
    path = folder / f"{NOTEBOOK}.ipynb"
    former = read_reports(folder)
    copied = copy_reports(entry.path.parent, folder)
    reports = read_reports(folder)
    differ = path.exists() and reports != former
    page = _renderers()[1].report_page(reports, f"Reports of {entry.submission}")
    if page:
        write_whole(folder / PAGE_NAME, page)
    if path.exists() and not _is_sheet(path):
        return differ
    handed_in = " ".join(literal(f"{REPORTS}/{name}") for name in copied) or "none"
    if page:
        handed_in = f"[rendered on one page]({PAGE_NAME}), and as files: {handed_in}"
    if (left := len(entry.reports) - len(copied)) > 0:
        handed_in += f" ({left} more only in the archive, among {' '.join(literal(name) for name in entry.reports)})"
    program = f" ([the grader's report]({REPORT_NAME}))" if report.is_file() else ""
    about = (
        f"Submission {literal(entry.submission)}, graded with profile {literal(entry.profile)}: "
        f"{entry.points:g} of {sum(check.points for check in assignment.checks):g} program points{program}. "
        f"Reports to read: {handed_in}."
    )
    answer = "See the report that was handed in." if entry.reports else "No report was handed in."
    sheet = [cell if cell.kind != ANSWER else Cell(cell.id, ANSWER, answer, cell.points) for cell in cells]
    sheet.insert(1, Cell("submission", READ, about))
    write_whole(path, notebook_text(to_notebook(tuple(sheet), {SHEET: 1})))
    return differ


def make_harmless(path: Path) -> int:
    """Rewrite a notebook of `autograded/` so that a marker can read all of it and nothing in it is active.

    Returns:
        The number of links and pictures removed.

    Raises:
        UsageError: the file is not a notebook, or a package that makes it harmless is not installed.
    """
    harmless, _ = _renderers()
    try:
        if path.stat().st_size > MAX_NOTEBOOK_BYTES:
            raise UsageError(f"it has more than {MAX_NOTEBOOK_BYTES >> 20} MiB")
        given = harmless.read_notebook(path.read_bytes())
    except (OSError, UsageError) as error:
        raise UsageError(
            f"expected a notebook at {path}: {reason_of(error)}; remove the file and run this command again"
        ) from error
    notebook, removed = harmless.harmless_notebook(given)
    if SHEET in given.metadata:
        notebook.metadata[SHEET] = 1
    write_whole(path, notebook_text(notebook))
    return removed


def _renderers() -> tuple[ModuleType, ModuleType]:
    """Return the modules that need nbconvert and nh3."""
    try:
        from grader.instructor import harmless_notebook, report_page
    except ImportError as error:
        raise UsageError(f"{error.name} is needed for students' notebooks and is not installed: {INSTALL}") from error
    return harmless_notebook, report_page


def _is_sheet(path: Path) -> bool:
    try:
        return SHEET in json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except MALFORMED:
        return False


def literal(name: str) -> str:
    """Return a student's text for a line of Markdown, as a code span that no character in the text can end."""
    return "`" + on_screen(name).replace("`", "'") + "`"
