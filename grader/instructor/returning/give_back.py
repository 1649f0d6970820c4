"""`python -m grader give-back`: a folder for each student, and an anonymous page about the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment
from grader.assignment_file import load_named
from grader.confinement.sandbox import find_sandbox
from grader.instructor.collecting.record import Record, read_record, require_lab
from grader.instructor.gradebook_entries import on_dropped
from grader.instructor.marking.items import Items
from grader.instructor.marking.schemes import SCHEME, SCHEMES, load_scheme
from grader.instructor.marking.totals import PLACES
from grader.instructor.notebook import load_rubric
from grader.instructor.returning.anonymous import Anonymiser
from grader.instructor.returning.class_page import render_class_page
from grader.instructor.returning.class_results import ClassResults, read_class
from grader.instructor.returning.class_summary import engine_labels, summarise
from grader.instructor.returning.folders import (
    CLASS,
    LADDER,
    UPLOAD,
    Columns,
    StudentFolder,
    as_zip,
    feedback_page,
    folder_content,
    no_longer_made,
    require_usable_ids,
    write_changed,
)
from grader.instructor.returning.ladder import LadderOrder, LadderTable, play_ladder
from grader.instructor.returning.marks_table import MarksRow, as_number, read_marks
from grader.instructor.returning.uploads import upload_archives
from grader.pipeline.grading import require_strong
from grader.pipeline.listeners import Announce
from grader.pipeline.results import COULD_NOT_GRADE, SUBMISSION, Results
from grader.screen import complain

LADDER_PROFILE = "quick"  # whose time limits the games of the ladder have


@dataclass(frozen=True)
class GiveBackOrder:
    """What is to be given back.

    Attributes:
        results: results.json, their folders, or folders of such folders.
        marks: the marks.csv.
        course: the folder of the nbgrader course, in which the feedback and the schemes are.
        scheme: name of the scheme by which the marks were totalled; empty for the one that the marks name.
        roster: says which submission belongs to which student; None if submissions are named by the ids.
        with_zips: whether each folder is also packed as a .zip.
        ladder: number of games for each pair of engines; None for no round robin.
        lab: the lab whose results these are; empty for the main assignment.
        collection: the folder that `collect` wrote; None to make no archive for a learning platform.
    """

    results: tuple[Path, ...]
    marks: Path
    out: Path
    course: Path
    scheme: str
    roster: Path | None = None
    with_zips: bool = False
    ladder: int | None = None
    allow_weak_sandbox: bool = False
    lab: str = ""
    collection: Path | None = None


def main(order: GiveBackOrder, announce: Announce) -> int:
    """Write folders and page.

    Returns:
        0 if everybody's marks are final, 1 if some are not final or outdated or a result belongs to nobody, 2 if a result
        cannot be used.

    Raises:
        UsageError: the marks, the roster or the results cannot be read, or the output cannot be written.
    """
    assignment = load_named(order.lab)
    if order.ladder and not assignment.engine_folder:
        raise UsageError(f"expected --ladder only where students write engines; {assignment.title} has none")
    rows = read_marks(order.marks)
    require_usable_ids(rows, order.marks)
    scheme = load_scheme(_scheme_of(rows, order), order.course, assignment)
    rubric = load_rubric(assignment, order.course)
    columns = Columns.of(assignment, rubric, scheme)
    _require_parts(rows, columns, scheme.name, order)
    found = read_class(order.results, order.roster, assignment)
    ids = [row.id for row in rows]
    _require_other_folders(order, ids, found)
    labels = engine_labels(found, ids)
    for sentence in on_dropped(found.dropped):
        announce(sentence)
    for sentence in found.problems:
        complain(f"{sentence}; it is left out")
    record = _record_of(order.collection, order.lab) if order.collection else None
    files: dict[Path, bytes] = {}
    contents: dict[str, dict[str, bytes]] = {}
    for row in rows:
        student = StudentFolder(
            row=row,
            found=found.by_student.get(row.id),
            refusal=found.refused.get(row.id, ""),
            feedback=feedback_page(order.course, row.id, assignment),
            label=labels.get(row.id, ""),
        )
        content = folder_content(student, assignment, columns)
        contents[row.id] = content
        files |= {order.out / row.id / name: data for name, data in content.items()}
        if order.with_zips:
            files[order.out / f"{row.id}.zip"] = as_zip({f"{row.id}/{name}": data for name, data in content.items()})
    archives = list(upload_archives(contents, record)) if record else []
    if record and not archives:
        announce("There is no archive to upload, because nobody handed in on Moodle or Canvas: give the folders back by hand.")
    for archive in archives:
        place = order.out / UPLOAD / archive.name
        announce(f"To upload to {archive.platform}, for {archive.students} of {len(rows)} students: {place}")
        files[place] = archive.content
        for sentence in archive.left_out:
            announce(sentence)
    written = write_changed(files)  # before the ladder, which may take hours
    ladder = _ladder(found, labels, order, assignment, announce) if order.ladder else None
    private = [text for row in rows for text in (row.id, *row.names)] + [*found.by_student, *found.refused]
    items = Items.of(scheme, assignment, rubric)
    summary = summarise(rows, found, labels, assignment, items, Anonymiser(assignment, private))
    page = order.out / CLASS / "index.html"
    files[page] = render_class_page(summary, ladder).encode()
    written += write_changed({page: files[page]})
    announce(f"{order.out}: {len(files)} files for {len(rows)} students, {written} of them new or changed.")
    announce(f"The class page, which contains no names: {page}")
    if len(summary.profiles) > 1:
        complain(f"expected results of one profile; got {', '.join(f'{n} of {name}' for name, n in summary.profiles.items())}")
    for name in no_longer_made(order.out, files):
        complain(f"{order.out / name} is from an earlier run and no longer produced; it is left in place")
    return max(_report_gaps(rows, found, announce), 2 if found.problems else 0)


def _record_of(collection: Path, lab: str) -> Record:
    """Return the record of a collection; raise a UsageError if there is none, or it is of another lab."""
    record = read_record(collection)
    if record is None:
        raise UsageError(f"expected the folder that python -m grader collect wrote after --collection; got {collection}")
    require_lab(record, lab, "--collection", collection)
    return record


def _require_other_folders(order: GiveBackOrder, ids: Sequence[str], found: ClassResults) -> None:
    """Raise a UsageError if a folder to be written is that of a graded run, whose report would be replaced."""
    runs = {one.folder for one in found.by_student.values()}
    if taken := [student for student in ids if (order.out / student).resolve() in runs]:
        raise UsageError(
            f"expected a folder other than that of the results for --out; {order.out / taken[0]} holds a graded run"
        )


def _scheme_of(rows: Sequence[MarksRow], order: GiveBackOrder) -> str:
    """Return the name of the scheme that the marks were totalled by; empty for that of `load_scheme`.

    Raises:
        UsageError: the marks name several schemes, another one than the order, or one that this course does not have.
    """
    named = sorted({row.remarks[SCHEME] for row in rows} - {""})  # none in a table that an older version wrote
    if len(named) > 1:
        raise UsageError(f"expected the marks of one scheme in {order.marks}; got {', '.join(named)}")
    if named and order.scheme not in ("", *named):
        raise UsageError(f"expected --scheme {named[0]}, by which {order.marks} was totalled; got {order.scheme!r}")
    if named and not (order.course / SCHEMES / f"{named[0]}.toml").is_file():
        raise UsageError(
            f"expected the scheme {named[0]}, by which {order.marks} was totalled, in {order.course / SCHEMES}; "
            "it is not there: give --lab or --course as for marks"
        )
    return order.scheme or (named[0] if named else "")


def _require_parts(rows: Sequence[MarksRow], columns: Columns, scheme: str, order: GiveBackOrder) -> None:
    """Raise a UsageError if the marks were totalled by another scheme."""
    found = {column for row in rows for column, _ in row.items}
    if rows and (missing := sorted(set(columns.parts) - found)):
        raise UsageError(
            f"expected the parts of the scheme {scheme} in {order.marks}; {', '.join(missing)} is missing: use "
            "--scheme to name the scheme by which the marks were totalled"
        )


def _ladder(
    found: ClassResults, labels: Mapping[str, str], order: GiveBackOrder, assignment: Assignment, announce: Announce
) -> LadderTable | None:
    sandbox = find_sandbox()
    submissions = [found.by_student[student].folder / SUBMISSION for student in labels]
    require_strong(sandbox, submissions, assignment, order.allow_weak_sandbox)
    match = assignment.profile(LADDER_PROFILE).match
    return play_ladder(
        found.by_student, labels, LadderOrder(assignment, sandbox, match, order.ladder or 1, order.out / LADDER), announce
    )


def _report_gaps(rows: Sequence[MarksRow], found: ClassResults, announce: Announce) -> int:
    """Name the students without a result and those whose marks are not final or outdated; return the exit code."""
    ids = {row.id for row in rows}
    if refused := sorted(ids & set(found.refused)):
        announce(f"Refused submissions, so no report: {', '.join(refused)}.")
    if without := sorted(ids - set(found.by_student) - set(found.refused)):
        announce(f"No result, so no report: {', '.join(without)}.")
    open_ones = [row.id for row in rows if not row.is_final]
    if open_ones:
        complain(f"The marks are not final, and their pages say so: {', '.join(open_ones)}")
    outdated = [row.id for row in rows if row.id in found.by_student and _is_outdated(row, found.by_student[row.id].results)]
    if outdated:
        complain(f"The marks have other program points than the results, so give marks again first: {', '.join(outdated)}")
    nobody = sorted({*found.by_student, *found.refused} - ids)
    if nobody:
        complain(f"The marks have no line for these results, which are left out: {', '.join(nobody)}")
    return int(bool(open_ones or outdated or nobody))


def _is_outdated(row: MarksRow, results: Results) -> bool:
    """Return whether the marks were totalled from other program points, as before a regrade."""
    cells = dict(row.items)
    for verdict in results.program:
        marked = as_number(cells.get(verdict.id, ""))
        if verdict.status == COULD_NOT_GRADE or row.is_corrected(verdict.id) or marked is None:
            continue
        if abs(marked - verdict.points) > float(PLACES):
            return True
    return False
