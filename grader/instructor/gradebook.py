"""Enter results.json into nbgrader's gradebook, so that formgrader, feedback and export know the program points.

No student code runs here. A check's points become the `auto_score` of its cell, and its reason the cell's
`auto_comment`. A mark given by a person (`manual_score`, `manual_comment`) is never touched and overrides both. Each student
also gets a marking sheet (`grader.instructor.marking_sheets`).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.harmless_text import on_screen
from grader.assignment import Assignment
from grader.assignment_file import load_assignment
from grader.instructor.gradebook_entries import (
    GradebookEntry,
    Student,
    enrolled_and_dropped,
    find_results,
    on_dropped,
    read_entry,
    read_roster,
    refusal_of,
    require_student_id,
)
from grader.instructor.marking.schemes import load_scheme, profile_warning
from grader.instructor.marking.tables import read_collected
from grader.instructor.marking_sheets import make_harmless, write_sheet
from grader.instructor.notebook import INSTALL, NOTEBOOK, READ, Cell, check_cell, course_cells, load_rubric, to_notebook


@contextmanager
def open_gradebook(url: str) -> Any:
    """Return nbgrader's gradebook at this URL.

    Raises:
        UsageError: nbgrader is not installed, or the database cannot be used (this may also happen inside the with block).
    """
    try:
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import SAWarning, SQLAlchemyError
    except ImportError as error:
        raise UsageError(f"nbgrader is needed for the gradebook and is not installed: {INSTALL}") from error
    # nbgrader calls the program alembic, which lies beside this interpreter even if the environment is not activated.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # nbgrader's own use of SQLAlchemy, which works
            with Gradebook(url) as gradebook:
                yield gradebook
    except (SQLAlchemyError, ValueError) as error:
        # ValueError: nbgrader's InvalidEntry and MissingEntry, or a malformed URL.
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise UsageError(f"the gradebook {url} cannot be used: {reason}") from error


def enter_cells(url: str, assignment: Assignment, cells: tuple[Cell, ...]) -> None:
    """Enter the assignment, notebook and cells if they are missing, by the steps of `nbgrader generate_assignment`.

    Raises:
        UsageError: the gradebook holds submissions for other cells than these, or typed scores for cells of other points.
    """
    with open_gradebook(url) as gradebook:
        from nbgrader import preprocessors

        from grader.instructor.kept_points import KeepPoints

        gradebook.update_or_create_assignment(assignment.id)
        notebook = to_notebook(cells)
        resources = {"nbgrader": {"notebook": NOTEBOOK, "assignment": assignment.id, "db_url": url}}
        steps = (
            *(KeepPoints, preprocessors.LockCells, preprocessors.ClearSolutions),
            *(preprocessors.ComputeChecksums, preprocessors.SaveCells),
        )
        try:
            for step in steps:
                notebook, resources = step().preprocess(notebook, resources)
        except RuntimeError as error:
            raise UsageError(
                f"the gradebook {url} holds submissions for cells that differ from those of assignment.toml and rubric.toml: "
                "restore those files, or name a new gradebook with --db"
            ) from error


def write_entry(
    gradebook: Any, assignment: Assignment, cells: tuple[Cell, ...], student: Student, entry: GradebookEntry
) -> list[str]:
    """Enter one student's program points.

    Returns:
        A phrase for each mark that a person gave and that differs from the program's; these marks are kept.
    """
    from nbgrader.api import MissingEntry

    gradebook.update_or_create_student(student.id, **student.names)
    try:
        gradebook.find_submission(assignment.id, student.id)
    except MissingEntry:
        gradebook.add_submission(assignment.id, student.id)
    submission = gradebook.find_submission_notebook(NOTEBOOK, assignment.id, student.id)
    comments = {comment.name: comment for comment in submission.comments}
    checks = {check_cell(check.id): check for check in entry.checks}
    graded = {cell.id for cell in cells if cell.kind != READ}
    kept = []
    for grade in submission.grades:
        if grade.name not in graded:
            continue
        check = checks.get(grade.name)
        # Only a person gives a mark, so its cell has no automatic score, not even nbgrader's 0 for an untouched answer.
        grade.auto_score = check.points if check else None
        if grade.manual_score is None:
            grade.needs_manual_grade = grade.auto_score is None
        elif check and grade.manual_score != check.points:
            program = "could not grade" if check.points is None else f"program {check.points:g}"
            kept.append(f"{check.id} {grade.manual_score:g} ({program})")
        comments[grade.name].auto_comment = check.comment if check else None
    gradebook.db.commit()
    return kept


def _is_marked(gradebook: Any, assignment: Assignment, student: Student) -> bool:
    """Return whether a person typed a score for an item of the rubric."""
    checks = {check_cell(check.id) for check in assignment.checks}
    grades = gradebook.find_submission_notebook(NOTEBOOK, assignment.id, student.id).grades
    return any(grade.manual_score is not None and grade.name not in checks for grade in grades)


@dataclass(frozen=True)
class GradebookOptions:
    """The call of `gradebook`; an option that is None was not given.

    Attributes:
        results: results.json files, their folders, or folders of such folders.
        db: file or URL of the database.
        students: the roster.
        scheme: the scheme that names the profile whose results count.
        collected: collected.csv, for the time at which each student handed in.
    """

    results: tuple[Path, ...]
    course: Path
    db: str | None
    students: Path | None
    scheme: str
    collected: Path | None


@dataclass(frozen=True)
class _Found:
    """What `main` reads: the results of students, why others cannot be entered, and the names of unreadable ones."""

    entries: list[tuple[Student, GradebookEntry]]
    complaints: list[str]
    unread: list[str]
    results: int


def main(options: GradebookOptions) -> int:
    """Enter all results that can be entered, and report the rest on stderr.

    Returns:
        2 if something could not be done, 1 if a result was graded with another profile than the scheme requires or a report
        changed after it was marked, else 0.
    """
    course, assignment = options.course, load_assignment()
    cells = course_cells(assignment, load_rubric(assignment, course))
    scheme = load_scheme(options.scheme, course, assignment)
    enrolled, dropped = enrolled_and_dropped(read_roster(options.students) if options.students else ())
    roster = enrolled if options.students else None
    db = options.db
    place = db or str(course / "gradebook.db")
    url = place if "://" in place else f"sqlite:///{Path(place).resolve()}"
    found = _read_entries(find_results(options.results, dropped), assignment, roster, options.students)
    entries, complaints = found.entries, found.complaints
    for sentence in scheme.sentences:
        print(on_screen(sentence))
    ids = [student.id for student, _ in entries]
    if doubled := sorted({i for i in ids if ids.count(i) > 1}):
        raise UsageError(f"expected one result for each student; got several for {', '.join(doubled)}. Nothing was written")
    handed = read_collected(options.collected, ids).students if options.collected else {}
    outdated = []
    if entries:
        enter_cells(url, assignment, cells)
        with open_gradebook(url) as gradebook:
            for known in roster or ():
                gradebook.update_or_create_student(known.id, **known.names)
            for student, entry in entries:
                kept = write_entry(gradebook, assignment, cells, student, entry)
                if student.id in handed and (submitted := handed[student.id].submitted):
                    gradebook.update_or_create_submission(assignment.id, student.id, timestamp=submitted)
                try:
                    if write_sheet(course, assignment, cells, student, entry) and _is_marked(gradebook, assignment, student):
                        outdated.append(student.id)
                except OSError as error:
                    raise UsageError(f"the marking sheet of {student.id} cannot be written in {course}: {error}") from error
                print(on_screen(_line(student, entry, kept)))
    print(on_screen(f"{len(entries)} of {found.results} results were entered in {place}"))
    for line in (*on_dropped(dropped), *_without_result(roster or (), ids, found.unread)):
        print(on_screen(line))
    for path in sorted((course / "autograded").glob(f"*/{assignment.id}/{NOTEBOOK}.ipynb")):
        try:
            if removed := make_harmless(path):
                print(on_screen(f"{path}: {removed} links or pictures were removed; [link removed] marks each place"))
        except UsageError as error:
            complaints.append(str(error))
    warned: dict[str, list[str]] = {}
    for student, entry in entries:
        if warning := profile_warning(entry.profile, scheme):
            warned.setdefault(warning, []).append(student.id)
    profiles = [f"{', '.join(ids)}: {warning}" for warning, ids in warned.items()]
    reports = [f"{', '.join(outdated)}: the report changed after marks were typed: mark it again"] if outdated else []
    for complaint in (*profiles, *reports, *complaints):
        print(on_screen(f"grader: {complaint}"), file=sys.stderr)
    return 2 if complaints else int(bool(profiles or reports))


def _read_entries(
    results: Sequence[Path], assignment: Assignment, roster: tuple[Student, ...] | None, roster_path: Path | None
) -> _Found:
    found = _Found([], [], [], len(results))
    for path in results:
        try:
            entry = read_entry(path, assignment)
        except UsageError as error:
            found.complaints.append(str(error))
            found.unread.append(path.parent.name)
            continue
        try:
            found.entries.append((_student_of(entry, roster, roster_path), entry))
        except UsageError as error:
            found.complaints.append(str(error))
        if refusal := refusal_of(path.parent):
            found.complaints.append(f"{path} belongs to an earlier archive, because the latest one was refused: {refusal}")
    return found


def _student_of(entry: GradebookEntry, roster: tuple[Student, ...] | None, path: Path | None) -> Student:
    if roster is None:
        require_student_id(entry.submission, str(entry.path))
        return Student(entry.submission, entry.submission, {})
    # A collected archive is named by the student's id, one that was graded as it came by the roster's column `submission`.
    found = [student for student in roster if entry.submission in (student.id, student.submission)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{entry.path}: {path} has {entry.submission!r} as the id of one student and as the submission of another; nothing "
            "was written for it"
        )
    raise UsageError(
        f"{entry.path}: {path} lists no student for the submission {entry.submission!r}; nothing was written for it"
    )


def _without_result(roster: Sequence[Student], entered: Sequence[str], unread: Sequence[str]) -> Iterator[str]:
    """Yield one line for the students whose results cannot be read, and one for the students without results."""
    rest = [student for student in roster if student.id not in entered]
    unreadable = [student for student in rest if student.id in unread or student.submission in unread]
    kinds = {
        "a result that cannot be read": unreadable,
        "no result": [student for student in rest if student not in unreadable],
    }
    for what, found in kinds.items():
        if found:
            names = (f"{s.id} ({s.submission})" if s.submission != s.id else s.id for s in found)
            have = "has" if len(found) == 1 else "have"
            yield f"{len(found)} of the {len(roster)} students on the roster {have} {what}: {', '.join(names)}"


def _line(student: Student, entry: GradebookEntry, kept: list[str]) -> str:
    line = f"{student.id}: {entry.points:g} program points, profile {entry.profile}"
    if entry.could_not_grade:
        line += f"; could not be graded, so a person has to look: {', '.join(entry.could_not_grade)}"
    if kept:
        line += f"; marks given by hand and kept: {', '.join(kept)}"
    return line
