"""The marks of a class: read everything, total it by a scheme, and write the tables and the journal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import on_screen
from common.locks import held_folder
from common.near_names import same_but_written_otherwise
from grader.assignment import Assignment
from grader.assignment_file import load_named
from grader.instructor.gradebook_entries import (
    GradebookEntry,
    Student,
    enrolled_and_dropped,
    find_results,
    on_dropped,
    read_entry,
    read_roster,
    refusal_of,
)
from grader.instructor.marking.exports import CANVAS, MARKS, MOODLE, StudentMarks, canvas_table, marks_table, moodle_table
from grader.instructor.marking.formgrader import read_gradebook_marks
from grader.instructor.marking.graded_attempt import ANOTHER, NONE, OTHER_REPORT, graded_attempt
from grader.instructor.marking.items import Items
from grader.instructor.marking.journal import APPLIED, CHANGED, JOURNAL, WITHDRAWN, read_journal, update_journal
from grader.instructor.marking.schemes import load_scheme
from grader.instructor.marking.standing import Policy, Sources, standing_of
from grader.instructor.marking.tables import Collected, HandMark, Override, read_collected, read_hand_marks, read_overrides
from grader.instructor.marking.totals import total_of
from grader.instructor.marking.versions import of_two_versions
from grader.instructor.notebook import load_rubric

EARLIER = "earlier"  # a folder for tables that were replaced
Given = TypeVar("Given", HandMark, Override)
NOT_THE_GRADED_ONE = "the attempt that counts now is not the one that was graded: grade again"
NOT_THE_GRADED_REPORT = (
    "the attempt that counts now has another report than the graded one: grade again, which keeps the points of the programs, "
    "and mark that report"
)
OUTDATED = {ANOTHER: NOT_THE_GRADED_ONE, OTHER_REPORT: NOT_THE_GRADED_REPORT}
NO_ATTEMPT = "the graded files are those of no collected attempt: grade again, unless a person repaired them"


@dataclass(frozen=True)
class MarksOptions:
    """The call of `marks`; a path that is None was not given.

    Attributes:
        results: results.json files, their folders, or folders of such folders.
        students: the roster.
        canvas_assignment: the assignment's number in Canvas.
        lab: the lab whose results these are; empty for the main assignment.
    """

    results: tuple[Path, ...]
    students: Path
    course: Path
    scheme: str
    out: Path
    collected: Path | None
    by_hand: Path | None
    gradebook: Path | None
    overrides: Path | None
    policy: Policy
    canvas_assignment: int | None
    lab: str = ""


@dataclass(frozen=True)
class _Program:
    """The results of a class: student id -> result, student id -> why there is none to use, and sentences about the rest."""

    entries: dict[str, GradebookEntry]
    unreadable: dict[str, str]
    strangers: tuple[str, ...]


def main(options: MarksOptions) -> int:
    """Write the tables and the journal; return 0 if every total is final and of one version, else 1."""
    assignment = load_named(options.lab)
    scheme = load_scheme(options.scheme, options.course, assignment)
    items = Items.of(scheme, assignment, load_rubric(assignment, options.course))
    known = read_roster(options.students)
    roster, dropped = enrolled_and_dropped(known)
    if not roster:
        raise UsageError(f"expected at least one student in the roster {options.students}; got none")
    if absent := [path for path in options.results if not path.exists()]:
        raise UsageError(f"expected results at {absent[0]}; there is no such file or folder")
    ids = {student.id for student in known}
    collected = read_collected(options.collected, ids, options.lab) if options.collected else Collected({}, (), ())
    _require_the_same_ids(collected, options)
    by_hand = _by_student(read_hand_marks(options.by_hand, ids, items.most) if options.by_hand else {})
    overrides = _by_student(read_overrides(options.overrides, ids, items.most | items.parts) if options.overrides else {})
    typed = _by_student(read_gradebook_marks(options.gradebook, assignment, items) if options.gradebook else {})
    program = _read_program(find_results(options.results, dropped), roster, assignment)
    attempts = _graded_attempts(options, collected, program, assignment)
    lines = []
    for student in roster:
        i = student.id
        sources = Sources(
            entry=program.entries.get(i),
            unreadable=program.unreadable.get(i) or OUTDATED.get(attempts.get(i, ""), ""),
            remark=NO_ATTEMPT if attempts.get(i) == NONE else "",
            handed=collected.students.get(i),
            by_hand=by_hand.get(i, {}),
            formgrader=typed.get(i, {}),
            overrides=overrides.get(i, {}),
            unknown_owners=bool(collected.unknown),
        )
        standing = standing_of(sources, items, options.policy)
        lines.append(StudentMarks(student, standing, total_of(standing, items)))
    for sentence in (*scheme.sentences, *on_dropped(dropped)):
        print(on_screen(sentence))
    strangers = list(_not_on_the_roster(collected, ids))
    strangers += [f"the gradebook has marks of {name!r}, who is not on the roster" for name in typed if name not in ids]
    versions = list(of_two_versions(program.entries, assignment))
    with held_folder(options.out, by="call of `marks`"):
        _write(options, lines, items, assignment)
    for sentence in (*program.strangers, *strangers, *versions, *_unknown(collected, lines)):
        print(on_screen(f"grader: {sentence}"), file=sys.stderr)
    return 1 if _report(lines, options.out) or program.strangers or strangers or versions else 0


def _by_student(given: Mapping[tuple[str, str], Given]) -> dict[str, dict[str, Given]]:
    students: dict[str, dict[str, Given]] = {}
    for (student, item), mark in given.items():
        students.setdefault(student, {})[item] = mark
    return students


def _read_program(results: Sequence[Path], roster: Sequence[Student], assignment: Assignment) -> _Program:
    """Read the results of a class; raise UsageError if a student has several."""
    entries: dict[str, GradebookEntry] = {}
    unreadable: dict[str, str] = {}
    strangers = []
    # A collected archive is named by the student's id, one that was graded as it came by the roster's column `submission`.
    by_name = {student.id: student for student in roster} | {student.submission: student for student in roster}
    unclear = {student.id for student in roster if by_name[student.id] != student}
    for path in results:
        student = by_name.get(path.resolve().parent.name)
        refusal = refusal_of(path.parent)
        try:
            entry = read_entry(path, assignment)
        except UsageError as error:
            if student:
                unreadable[student.id] = str(error)
            else:
                strangers.append(str(error))
            continue
        student = by_name.get(entry.submission)
        if entry.submission in unclear:
            strangers.append(
                f"{path}: the roster has {entry.submission!r} as the id of one student and as the submission of another; the "
                "result counts for nobody"
            )
        elif not student:
            strangers.append(
                f"{path}: the roster lists no student for the submission {entry.submission!r}; it counts for nobody"
            )
        elif student.id in entries:
            raise UsageError(
                f"expected one result for each student; got {entries[student.id].path} and {path} for {student.id}. "
                "Nothing was written"
            )
        else:
            entries[student.id] = entry
            if refusal:
                unreadable[student.id] = f"the latest archive was refused, so the result is of an earlier one: {refusal}"
    return _Program(entries, unreadable, tuple(strangers))


def _graded_attempts(options: MarksOptions, collected: Collected, program: _Program, assignment: Assignment) -> dict[str, str]:
    """Return student -> which attempt was graded, for each student of the collection with a result."""
    if not options.collected:
        return {}
    folder = options.collected.parent
    return {
        student: graded_attempt(entry, handed, folder, assignment, student)
        for student, handed in collected.students.items()
        if (entry := program.entries.get(student))
    }


def _require_the_same_ids(collected: Collected, options: MarksOptions) -> None:
    """Raise a UsageError if no line of collected.csv is about a student of the roster."""
    if collected.strangers and not collected.students:
        raise UsageError(
            f"expected lines about students of {options.students} in {options.collected}; got only other ids, such as "
            f"{collected.strangers[0]!r}: collect again if a spreadsheet changed the ids"
        )


def _not_on_the_roster(collected: Collected, ids: Collection[str]) -> Iterator[str]:
    """Yield a sentence about the lines of collected.csv that are about nobody on the roster."""
    if collected.strangers:
        names = ", ".join(f"{name}{same_but_written_otherwise(name, ids)}" for name in collected.strangers)
        yield f"these lines of collected.csv count for nobody, because the roster lacks their ids: {names}"


def _unknown(collected: Collected, lines: Sequence[StudentMarks]) -> Iterator[str]:
    """Yield a sentence about submissions whose owner is not known, with the students to whom they may belong."""
    if not collected.unknown:
        return
    nothing = [line.student.id for line in lines if not line.standing.handed_in]
    whose = f"; look whether one of them belongs to {', '.join(nothing)}, marked as handing in nothing" if nothing else ""
    yield f"the owner of these submissions in collected.csv is not known: {', '.join(collected.unknown)}{whose}"


def _write(options: MarksOptions, lines: Sequence[StudentMarks], items: Items, assignment: Assignment) -> None:
    title = assignment.title
    if options.canvas_assignment is not None:
        title = f"{title} ({options.canvas_assignment})"
    read_journal(options.out / JOURNAL)  # a damaged journal is refused before anything is written
    texts = {
        MARKS: marks_table(lines, items),
        CANVAS: canvas_table(lines, items, title),
        MOODLE: moodle_table(lines, items),
    }
    tables = {options.out / name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
    _keep_earlier(options.out, [path for path, content in tables.items() if path.is_file() and path.read_bytes() != content])
    for path, content in tables.items():
        write_whole(path, content)
    added = update_journal(options.out / JOURNAL, {line.student.id: line.standing.changes for line in lines})
    for event, why in ((APPLIED, ""), (CHANGED, ""), (WITHDRAWN, ", because this call does not apply them")):
        if concerned := [f"{line.id} {line.item}" for line in added if line.event == event]:
            print(on_screen(f"{options.out / JOURNAL}: overrides {event}{why}: {', '.join(concerned)}"))


def _keep_earlier(out: Path, tables: Sequence[Path]) -> None:
    """Copy tables that are about to be replaced to a new folder: a person may have typed something into them."""
    if not tables:
        return
    number = 1 + max((int(path.name) for path in (out / EARLIER).glob("*") if path.name.isdecimal()), default=0)
    place = out / EARLIER / str(number)
    place.mkdir(parents=True)
    for path in tables:
        shutil.copy2(path, place)
    kept = f"is kept as {place / tables[0].name}" if len(tables) == 1 else f"are kept in {place}"
    print(on_screen(f"The earlier {', '.join(path.name for path in tables)} {kept}."))


def _report(lines: Sequence[StudentMarks], out: Path) -> int:
    """Print what a person has to do; return the number of totals that are not final."""
    waiting = [line for line in lines if not line.final]
    grouped: dict[tuple[str, str], list[str]] = {}  # a reason often holds for most of a class
    for line in waiting:
        state = "incomplete" if line.total.total is None else "not final"
        reasons = "; ".join(filter(None, (*line.total.reasons, line.standing.warning)))
        grouped.setdefault((state, reasons), []).append(line.student.id)
    for (state, reasons), ids in grouped.items():
        print(on_screen(f"grader: {', '.join(ids)} {'is' if len(ids) == 1 else 'are'} {state}: {reasons}"), file=sys.stderr)
    print(
        on_screen(f"{len(lines) - len(waiting)} of {len(lines)} totals are final; {MARKS}, {CANVAS} and {MOODLE} are in {out}")
    )
    return len(waiting)
