"""results.json -> nbgrader's gradebook, so that formgrader, feedback and export know the program points.

Nothing of a student is run here. A check's points become the `auto_score` of its cell and its reason the cell's
`auto_comment`; a mark set by a person (`manual_score`, `manual_comment`) is never touched and wins over both. Besides the
gradebook, each student gets a marking sheet in `autograded/`, where formgrader and feedback look for a notebook; a student's
own notebook there stays and is made harmless (grader/instructor/harmless.py).
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import write_whole
from common.text import on_screen
from grader.assignment import Assignment, load_assignment
from grader.instructor.notebook import (
    ANSWER,
    INSTALL,
    NOTEBOOK,
    READ,
    REPORT_NAME,
    Cell,
    check_cell,
    course_cells,
    load_rubric,
    notebook_text,
    require_nbformat,
    to_notebook,
)
from grader.pipeline.kept_reports import REPORTS, copy_reports
from grader.pipeline.results import COULD_NOT_GRADE, MALFORMED, PASSED, RESULTS, RUN, Verdict, read_results
from grader.pipeline.run_folder import REFUSED

SHEET = "grader_marking_sheet"  # in the metadata of a sheet made here: a student's own notebook is never overwritten
MAX_NOTEBOOK_BYTES = 64 << 20
COMMENT_LIMIT, COMMENT_WIDTH = 2000, 100
NOTHING_TO_SAY = "As expected."  # the message of most checks that passed; a comment on each would bury the others


@dataclass(frozen=True)
class Student:
    """A line of the roster. `submission` is the name of the archive or folder without its suffix."""

    id: str
    submission: str
    names: dict[str, str]


@dataclass(frozen=True)
class CheckResult:
    """What enters the gradebook of one check; points are None where it could not be graded."""

    id: str
    points: float | None
    comment: str | None


@dataclass(frozen=True)
class Result:
    """What enters the gradebook of one results.json."""

    path: Path
    submission: str
    profile: str
    seed: int
    checks: tuple[CheckResult, ...]
    reports: tuple[str, ...]

    @property
    def points(self) -> float:
        return sum(check.points or 0.0 for check in self.checks)

    @property
    def could_not_grade(self) -> list[str]:
        return [check.id for check in self.checks if check.points is None]


# ------------------------------------------------------------------------------------------------------- reading


def find_results(paths: Sequence[Path]) -> list[Path]:
    """The results.json files that the paths stand for: a file, a result's folder, or a folder of such folders.

    A run that has not finished, or an archive that was refused, is listed as well: reading it gives the sentence that says so.
    """
    found: list[Path] = []
    for path in paths:
        inside = [path / RESULTS] if path.is_dir() else [path]
        if path.is_dir() and not _holds_a_run(path):
            folders = sorted(child for child in path.iterdir() if child.is_dir())
            inside = [folder / RESULTS for folder in folders if _holds_a_run(folder)]
            if not inside:
                raise UsageError(f"expected results.json, or folders that hold one, in {path}; nothing of that kind is there")
        found += [name for name in inside if name not in found]
    return found


def _holds_a_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (RESULTS, RUN, REFUSED))


def read_result(path: Path, assignment: Assignment) -> Result:
    """Read and check one results.json.

    Raises:
        UsageError: it is missing, damaged, altered, of an unfinished run, or of another assignment or version of this one.
    """
    if not path.exists() and (refusal := _refusal(path.parent)):
        raise UsageError(f"{path.parent} holds no result, since the archive was refused: {refusal}")
    if not path.exists() and (path.parent / RUN).exists():
        raise UsageError(f"{path.parent} holds an unfinished run; finish it with the same grade command")
    results = read_results(path)
    if results.assignment != assignment.id:
        raise UsageError(f"{path} is of the assignment {results.assignment!r}; expected {assignment.id!r}")
    program = {verdict.id: verdict for verdict in results.program}
    points = {check.id: check.points for check in assignment.checks}
    if {verdict.id: verdict.max_points for verdict in results.program} != points:
        raise UsageError(f"{path} was graded by other checks or points than assignment.toml has now; grade it again")
    return Result(
        path=path,
        submission=results.submission,
        profile=results.profile,
        seed=results.seed,
        checks=tuple(_check_result(program[check.id]) for check in assignment.checks),
        reports=results.reports,
    )


def _refusal(folder: Path) -> str:
    """Why the latest archive of this name was refused; empty where it was not."""
    try:
        return " ".join((folder / REFUSED).read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return ""


def _check_result(verdict: Verdict) -> CheckResult:
    lines = [verdict.message]
    if verdict.status == COULD_NOT_GRADE:
        lines = ["Could not be graded; a person has to look.", *lines]
    if verdict.status != PASSED:
        lines += [f"{word}: {text}" for word, text in (("Expected", verdict.expected), ("Seen", verdict.seen)) if text]
        lines.append(f"Handout section {verdict.handout}.")
    comment = None if lines == [NOTHING_TO_SAY] else as_comment("\n".join(lines))
    return CheckResult(verdict.id, None if verdict.status == COULD_NOT_GRADE else verdict.points, comment)


def as_comment(text: str) -> str:
    """The text as an indented block, which nbgrader's Markdown shows literally: it may quote what a student's program wrote."""
    clean = on_screen(text, keep="\n")[:COMMENT_LIMIT]
    lines = [part for line in clean.split("\n") for part in textwrap.wrap(line, COMMENT_WIDTH)]
    return "\n".join(f"    {line}" for line in lines)


def read_roster(path: Path) -> tuple[Student, ...]:
    """A CSV file with the column `id`, and if wanted `submission` (default: the id), first_name, last_name, email.

    Raises:
        UsageError: it cannot be read, lacks the column, or names somebody twice or not at all.
    """
    students: list[Student] = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if "id" not in (rows.fieldnames or []):
                raise UsageError(f"{path}: expected a first line with the column id; got {', '.join(rows.fieldnames or [])!r}")
            for row in rows:
                fields = {key: (value or "").strip() for key, value in row.items() if isinstance(key, str)}
                names = {key: fields[key] for key in ("first_name", "last_name", "email") if fields.get(key)}
                student = Student(fields["id"], fields.get("submission") or fields["id"], names)
                _require_student_id(student.id, f"{path}, line {rows.line_num}")
                if strange := [name for key, name in names.items() if key != "email" and ("<" in name or ">" in name)]:
                    raise UsageError(
                        f"{path}, line {rows.line_num}: expected names without < and >, which formgrader shows as HTML; "
                        f"got {strange[0]!r}"
                    )
                for known in students:
                    if student.id == known.id or student.submission == known.submission:
                        raise UsageError(
                            f"{path}, line {rows.line_num}: {student.id} or {student.submission} stands there twice"
                        )
                students.append(student)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"expected a roster (CSV, UTF-8) at {path}: {error}") from error
    return tuple(students)


def _require_student_id(student_id: str, where: str) -> None:
    """nbgrader makes a folder of the id, and formgrader shows it as HTML."""
    plain = student_id.isprintable() and student_id == student_id.strip() and len(student_id.encode()) <= 128
    if not student_id or not plain or student_id.startswith(".") or any(c in student_id for c in '/\\*?[]{}"<>'):
        raise UsageError(f"{where}: expected a student id that can name a folder and is no HTML; got {student_id!r}")


# ------------------------------------------------------------------------------------------------------- writing


@contextmanager
def open_gradebook(url: str) -> Any:
    """nbgrader's gradebook at this URL.

    Raises:
        UsageError: nbgrader is not installed, or the database cannot be used (also later, inside the with block).
    """
    try:
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import SAWarning, SQLAlchemyError
    except ImportError as error:
        raise UsageError(f"nbgrader is needed for the gradebook and is not installed: {INSTALL}") from error
    # nbgrader calls the program alembic, which lies beside this interpreter also where the environment is not activated.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # nbgrader's own use of SQLAlchemy, which works
            with Gradebook(url) as gradebook:
                yield gradebook
    except (SQLAlchemyError, ValueError) as error:
        # ValueError: nbgrader's InvalidEntry and MissingEntry, and a URL that means nothing.
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise UsageError(f"the gradebook {url} cannot be used: {reason}") from error


def enter_cells(url: str, assignment: Assignment, cells: tuple[Cell, ...]) -> None:
    """Enter assignment, notebook and cells as `nbgrader generate_assignment` does, by its own steps, where they are missing.

    Raises:
        UsageError: there are submissions for cells that differ from these.
    """
    with open_gradebook(url) as gradebook:
        from nbgrader import preprocessors

        gradebook.update_or_create_assignment(assignment.id)
        notebook = to_notebook(cells)
        resources = {"nbgrader": {"notebook": NOTEBOOK, "assignment": assignment.id, "db_url": url}}
        steps = (preprocessors.LockCells, preprocessors.ClearSolutions, preprocessors.ComputeChecksums, preprocessors.SaveCells)
        try:
            for step in steps:
                notebook, resources = step().preprocess(notebook, resources)
        except RuntimeError as error:
            raise UsageError(
                f"the gradebook {url} holds submissions for other cells than assignment.toml and rubric.toml give now: "
                "restore those files, or name a new gradebook by --db"
            ) from error


def write_result(
    gradebook: Any, assignment: Assignment, cells: tuple[Cell, ...], student: Student, result: Result
) -> list[str]:
    """Enter one student's program points; returns a sentence for each mark by a person that stays although it differs."""
    from nbgrader.api import MissingEntry

    gradebook.update_or_create_student(student.id, **student.names)
    try:
        gradebook.find_submission(assignment.id, student.id)
    except MissingEntry:
        gradebook.add_submission(assignment.id, student.id)
    submission = gradebook.find_submission_notebook(NOTEBOOK, assignment.id, student.id)
    comments = {comment.name: comment for comment in submission.comments}
    checks = {check_cell(check.id): check for check in result.checks}
    graded = {cell.id for cell in cells if cell.kind != READ}
    kept = []
    for grade in submission.grades:
        if grade.name not in graded:
            continue
        check = checks.get(grade.name)
        # A mark that only a person gives has no automatic score, not even nbgrader's 0 for an untouched answer.
        grade.auto_score = check.points if check else None
        if grade.manual_score is None:
            grade.needs_manual_grade = grade.auto_score is None
        elif check and grade.manual_score != check.points:
            program = "could not grade" if check.points is None else f"program {check.points:g}"
            kept.append(f"{check.id} {grade.manual_score:g} ({program})")
        comments[grade.name].auto_comment = check.comment if check else None
    gradebook.db.commit()
    return kept


def write_sheet(course: Path, assignment: Assignment, cells: tuple[Cell, ...], student: Student, result: Result) -> None:
    """Put a marking sheet and the program's report where formgrader and feedback look.

    A notebook that is there already and was not made here is the student's own, taken in by `nbgrader autograde`.
    """
    folder = course / "autograded" / student.id / assignment.id
    folder.mkdir(parents=True, exist_ok=True)
    report = result.path.with_name("report.html")
    (folder / REPORT_NAME).unlink(missing_ok=True)  # it may have come from a student, with the notebook
    if report.is_file():
        shutil.copyfile(report, folder / REPORT_NAME)
    copied = copy_reports(result.path.parent, folder)
    path = folder / f"{NOTEBOOK}.ipynb"
    if path.exists() and not _is_sheet(path):
        return
    handed_in = " ".join(_literal(f"{REPORTS}/{name}") for name in copied) or "none"
    if (left := len(result.reports) - len(copied)) > 0:
        handed_in += f" (and in the archive alone {left} of {' '.join(_literal(name) for name in result.reports)})"
    about = (
        f"Submission {_literal(result.submission)}, graded with profile {_literal(result.profile)}, seed {result.seed}: "
        f"{result.points:g} of {sum(check.points for check in assignment.checks):g} program points"
        f"{f' ([report]({REPORT_NAME}))' if report.is_file() else ''}. Handed in to be read: {handed_in}."
    )
    sheet = [
        cell if cell.kind != ANSWER else Cell(cell.id, ANSWER, "Nothing was written in this notebook.", cell.points)
        for cell in cells
    ]
    sheet.insert(1, Cell("submission", READ, about))
    write_whole(path, notebook_text(to_notebook(tuple(sheet), {SHEET: 1})))


def make_harmless(path: Path) -> int:
    """Rewrite a notebook of `autograded/` so that a marker can read all of it and none of it acts.

    Returns:
        How many links and pictures were removed.

    Raises:
        UsageError: it is no notebook, or what makes it harmless is not installed.
    """
    nbformat = require_nbformat()
    try:
        from grader.instructor.harmless import harmless_notebook
    except ImportError as error:
        raise UsageError(f"{error.name} is needed for the notebooks of students and is not installed: {INSTALL}") from error
    try:
        if path.stat().st_size > MAX_NOTEBOOK_BYTES:
            raise ValueError(f"it has more than {MAX_NOTEBOOK_BYTES >> 20} MiB")
        given = nbformat.read(path, as_version=4)
        nbformat.validate(given)
    except (OSError, *MALFORMED, nbformat.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"expected a notebook at {path}: {reason}; take it away and run this command again") from error
    notebook, removed = harmless_notebook(given)
    if SHEET in given.metadata:
        notebook.metadata[SHEET] = 1
    write_whole(path, notebook_text(notebook))
    return removed


def _is_sheet(path: Path) -> bool:
    try:
        return SHEET in json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except MALFORMED:
        return False


def _literal(name: str) -> str:
    """A student's words inside a line of Markdown: a code span, which no character of theirs can end."""
    return "`" + on_screen(name).replace("`", "'") + "`"


# ------------------------------------------------------------------------------------------------------- command


def main(paths: Sequence[Path], course: Path, *, db: str | None, students: Path | None) -> int:
    """Enter what can be entered; what cannot gets one sentence on stderr and makes the exit code 2."""
    assignment = load_assignment()
    cells = course_cells(assignment, load_rubric(assignment, course))
    roster = read_roster(students) if students else None
    url = db if db and "://" in db else f"sqlite:///{(Path(db) if db else course / 'gradebook.db').resolve()}"
    entries: list[tuple[Student, Result]] = []
    complaints: list[str] = []
    unread: list[str] = []
    found = find_results(paths)
    for path in found:
        try:
            result = read_result(path, assignment)
        except UsageError as error:
            complaints.append(str(error))
            unread.append(path.parent.name)
            continue
        try:
            entries.append((_student_of(result, roster, students), result))
        except UsageError as error:
            complaints.append(str(error))
        if refusal := _refusal(path.parent):
            complaints.append(f"{path} is of an earlier archive: the latest one was refused: {refusal}")
    ids = [student.id for student, _ in entries]
    if doubled := sorted({i for i in ids if ids.count(i) > 1}):
        raise UsageError(f"expected one result for each student; more were given for {', '.join(doubled)}, nothing was written")
    if entries:
        enter_cells(url, assignment, cells)
        with open_gradebook(url) as gradebook:
            for known in roster or ():
                gradebook.update_or_create_student(known.id, **known.names)
            for student, result in entries:
                kept = write_result(gradebook, assignment, cells, student, result)
                try:
                    write_sheet(course, assignment, cells, student, result)
                except OSError as error:
                    raise UsageError(f"expected to write the marking sheet of {student.id} in {course}: {error}") from error
                print(on_screen(_line(student, result, kept)))
    print(on_screen(f"{len(entries)} of {len(found)} results were entered in {url}"))
    for line in _without_result(roster or (), ids, unread):
        print(on_screen(line))
    for path in sorted((course / "autograded").glob(f"*/{assignment.id}/{NOTEBOOK}.ipynb")):
        try:
            if removed := make_harmless(path):
                print(on_screen(f"{path}: {removed} links or pictures were removed; [link removed] stands where"))
        except UsageError as error:
            complaints.append(str(error))
    for complaint in complaints:
        print(on_screen(f"grader: {complaint}"), file=sys.stderr)
    return 2 if complaints else 0


def _student_of(result: Result, roster: tuple[Student, ...] | None, path: Path | None) -> Student:
    if roster is None:
        _require_student_id(result.submission, str(result.path))
        return Student(result.submission, result.submission, {})
    for student in roster:
        if student.submission == result.submission:
            return student
    raise UsageError(
        f"{result.path}: {path} names no student for the submission {result.submission!r}; nothing was written for it"
    )


def _without_result(roster: Sequence[Student], entered: Sequence[str], unread: Sequence[str]) -> Iterator[str]:
    """A line for each kind of student of the roster for whom nothing was entered."""
    rest = [student for student in roster if student.id not in entered]
    kinds = {
        "whose result cannot be read": [student for student in rest if student.submission in unread],
        "without any result": [student for student in rest if student.submission not in unread],
    }
    for words, found in kinds.items():
        if found:
            names = (f"{s.id} ({s.submission})" if s.submission != s.id else s.id for s in found)
            yield f"{len(found)} of the {len(roster)} students of the roster {words}: {', '.join(names)}"


def _line(student: Student, result: Result, kept: list[str]) -> str:
    line = f"{student.id}: {result.points:g} program points, profile {result.profile}"
    if result.could_not_grade:
        line += f"; could not be graded, a person has to: {', '.join(result.could_not_grade)}"
    if kept:
        line += f"; marks by hand that stay: {', '.join(kept)}"
    return line
