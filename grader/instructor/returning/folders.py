"""One folder for each student: the grader's report, the marks, and the feedback of the notebook.

A folder holds nothing of another student, no seed of hidden positions and games, and no path of the grader's machine. The
report is not copied but rendered from results.json, whose checksum is verified. Only what differs is written, and nothing is
deleted: what is no longer made is named, and a person decides.
"""

from __future__ import annotations

import html
import io
import re
import stat
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from grader.assignment import ROOT, Assignment
from grader.instructor.marking.schemes import LATE_MINUTES, Scheme
from grader.instructor.notebook import PAGE_NAME, REPORT_NAME, RubricItem
from grader.instructor.returning.class_results import StudentResults
from grader.instructor.returning.marks_table import MarksRow, as_number
from grader.pipeline.report import format_points, render_report, template_environment
from grader.pipeline.results import REPORT

TEMPLATES = Path(__file__).with_name("templates")
MARKS, FEEDBACK = "marks.html", "feedback.html"
CLASS, LADDER, UPLOAD = "class", "ladder", "upload"
RESERVED = {CLASS, LADDER, UPLOAD}
"""Names in the output folder that no student's id may have."""
ABOUT_ITEMS = ("overrides", "comments")
"""The columns of marks.csv that `grader.instructor.marking.exports` fills with remarks about items."""
LINK_BEFORE, LINK_HERE = (f'href="{name}"'.encode() for name in (REPORT_NAME, REPORT))  # nbgrader's names differ from ours
FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # of the entries of a .zip, so that the same content makes the same file
ZIP_MODE = stat.S_IFREG | 0o644


@dataclass(frozen=True)
class StudentFolder:
    """What one student gets.

    Attributes:
        found: the student's results; None if nothing was graded.
        refusal: why the submission was refused; empty if it was not.
        feedback: the page of nbgrader; None if there is none.
        label: the engine's pseudonym on the page of the class; empty if it has none.
    """

    row: MarksRow
    found: StudentResults | None
    refusal: str = ""
    feedback: Path | None = None
    label: str = ""


@dataclass(frozen=True)
class MarksLine:
    """A line of a table on marks.html; `points` are full points, or None if the column is unknown."""

    title: str
    value: str
    points: float | None
    is_missing: bool


@dataclass(frozen=True)
class Columns:
    """What the columns of marks.csv mean: id -> (title, full points), for items and for the parts of the total."""

    items: dict[str, tuple[str, float]]
    parts: dict[str, tuple[str, float]]

    @classmethod
    def of(cls, assignment: Assignment, rubric: Sequence[RubricItem], scheme: Scheme) -> Columns:
        """Return the columns that python -m grader marks writes under a scheme."""
        items = {item.id: (item.title, item.points) for item in (*assignment.checks, *assignment.marks)}
        items |= {f"{item.mark}.{item.id}": (item.title, item.points) for item in rubric}
        items |= {item.id: (item.title, float(item.points)) for item in (*scheme.by_hand, *scheme.extra)}
        return cls(items, {part.id: (part.title, float(scheme.full_points(part))) for part in scheme.parts})


def require_usable_ids(rows: Sequence[MarksRow], path: Path) -> None:
    """Raise a UsageError if two students would share a folder, or one has the name of a folder that this command makes."""
    seen: dict[str, str] = {}
    for row in rows:
        folded = row.id.casefold()
        if folded in RESERVED:
            raise UsageError(f"{path}: expected ids other than {', '.join(sorted(RESERVED))}; got {row.id}")
        if folded in seen:
            raise UsageError(f"{path}: expected ids that differ not only in case; got {seen[folded]} and {row.id}")
        seen[folded] = row.id


def folder_content(student: StudentFolder, assignment: Assignment, columns: Columns) -> dict[str, bytes]:
    """Return file name -> content of a student's folder."""
    files = {MARKS: render_marks(student, assignment, columns).encode()}
    if student.found is not None:
        results = student.found.results
        page = render_report(results, made=results.environment.get("date", "")[:10], with_seed=False)
        files[REPORT] = _without_places(page, (student.found.folder, student.found.folder.parent, ROOT)).encode()
    if student.feedback is not None:
        files[FEEDBACK] = student.feedback.read_bytes().replace(LINK_BEFORE, LINK_HERE)
        reports = student.feedback.with_name(PAGE_NAME)
        if reports.is_file() and not reports.is_symlink():
            files[PAGE_NAME] = reports.read_bytes()
    return files


def _without_places(page: str, places: Sequence[Path]) -> str:
    """Return a page without these paths, in the order given; a message may quote one."""
    for place in places:
        if len(place.parts) > 1:
            page = page.replace(html.escape(str(place), quote=False), "…")
    return page


def render_marks(student: StudentFolder, assignment: Assignment, columns: Columns) -> str:
    """Return the page with a student's marks as text."""
    lines: list[MarksLine] = []
    parts: list[MarksLine] = []
    cells = dict(student.row.items)
    for column, value in cells.items():
        mark = column.rpartition(".")[0]
        if not value and (cells.get(mark) or any(cells[other] for other in cells if other.startswith(f"{column}."))):
            continue  # a mark is given as a whole or by its items
        title, most = columns.items.get(column) or columns.parts.get(column) or (column, None)
        points = as_number(value)
        shown = value if points is None else format_points(points)
        table = parts if column in columns.parts else lines
        table.append(MarksLine(title, shown, most, points is None))
    return (
        template_environment(TEMPLATES)
        .get_template("marks.html.j2")
        .render(
            title=assignment.title,
            id=student.row.id,
            name=" ".join(filter(None, student.row.names)),
            lines=lines,
            parts=parts,
            remarks=student.row.remarks | {name: _with_titles(student.row.remarks[name], columns) for name in ABOUT_ITEMS},
            is_final=student.row.is_final,
            has_report=student.found is not None,
            has_feedback=student.feedback is not None,
            refusal=student.refusal,
            label=student.label,
        )
    )


def _with_titles(text: str, columns: Columns) -> str:
    """Return remarks about items, joined by semicolons, with the title of each item in place of the id before its remark."""
    titles = {column: title for column, (title, _) in (*columns.items.items(), *columns.parts.items())}
    titles[LATE_MINUTES] = "Minutes late"
    ids = "|".join(map(re.escape, titles))
    return re.sub(rf"(^|; )({ids}):? ", lambda match: f"{match[1]}“{titles[match[2]]}”: ", text)


def feedback_page(course: Path, student_id: str, assignment: Assignment) -> Path | None:
    """Return nbgrader's page of feedback for a student, or None if there is none; links are not followed."""
    place = course
    for part in ("feedback", student_id, assignment.id, REPORT):
        place /= part
        if place.is_symlink():
            return None
    return place if place.is_file() else None


def write_changed(files: Mapping[Path, bytes]) -> int:
    """Write the files whose content differs from what is on disk; return how many were written.

    Raises:
        UsageError: a folder or file cannot be written, or a link is in its place.
    """
    written = 0
    for path, content in files.items():
        try:
            if path.is_symlink() or path.parent.is_symlink():
                raise UsageError(f"expected no link at {path}: remove it, or name another folder")
            if path.is_file() and path.read_bytes() == content:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        written += 1
    return written


def as_zip(files: Mapping[str, bytes]) -> bytes:
    """Return a .zip of these files, path -> content; the same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.external_attr = ZIP_MODE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return packed.getvalue()


def no_longer_made(out: Path, made: Mapping[Path, bytes]) -> list[str]:
    """Return the relative paths of what an earlier command wrote and this one did not."""
    found = []
    for path in sorted(out.iterdir()) if out.is_dir() else ():
        if path.name in RESERVED or path in made:
            continue
        if path.suffix == ".zip" and path.is_file() and path.with_suffix("").is_dir():
            found.append(path.name)
        elif (path / MARKS).is_file():
            ours = [path / name for name in (MARKS, REPORT, FEEDBACK, PAGE_NAME) if (path / name).is_file()]
            lost = [one for one in ours if one not in made]
            found += [f"{path.name}/"] if lost == ours else [one.relative_to(out).as_posix() for one in lost]
    return found
