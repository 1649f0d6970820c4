"""What enters the gradebook: the program points and comments of each results.json, and the course's roster."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from common.csv_tables import listed, read_table
from common.errors import UsageError
from common.harmless_text import on_screen
from grader.assignment import Assignment
from grader.assignment_file import lab_names, load_assignment
from grader.pipeline.results import COULD_NOT_GRADE, PASSED, RESULTS, RUN, Results, Verdict, read_results
from grader.pipeline.run_folder import REFUSAL_FILE

ROSTER = ("id", "submission", "first_name", "last_name", "email", "canvas_id", "moodle_id", "dropped")
HAS_DROPPED = "yes"
AS_A_NUMBER = re.compile(r"[0-9]+([.,][0-9]+)?E\+[0-9]+|[0-9]+[.,]0+", re.IGNORECASE)
"""What spreadsheets make of a long id, such as 2.026E+11, and data frames of ids in a column with gaps, such as 2026001.0."""
COMMENT_LIMIT, COMMENT_WIDTH = 2000, 100
NOTHING_TO_SAY = "As expected."  # the message of most checks that passed; a comment on each would bury the others


@dataclass(frozen=True)
class Student:
    """A line of the roster.

    Attributes:
        submission: the name of the archive or folder without its suffix.
        names: first_name, last_name and email, as far as the roster gives them.
        canvas_id: the number of the user in Canvas; empty if not known.
        moodle_id: the number in the names of Moodle's download, another one for each assignment; empty if not known.
        dropped: whether the student dropped the course.
    """

    id: str
    submission: str
    names: dict[str, str]
    canvas_id: str = ""
    moodle_id: str = ""
    dropped: bool = False


@dataclass(frozen=True)
class CheckEntry:
    """What the gradebook gets for one check; `points` is None if the check could not be graded."""

    id: str
    points: float | None
    comment: str | None


@dataclass(frozen=True)
class GradebookEntry:
    """What the gradebook gets from one results.json.

    Attributes:
        digest: that of the submission's collected files.
        level: the level of confinement.
        bases: check -> what its verdict rests on (`grader.pipeline.judging.bases`).
    """

    path: Path
    submission: str
    profile: str
    seed: int
    checks: tuple[CheckEntry, ...]
    reports: tuple[str, ...]
    digest: str = ""
    level: str = ""
    bases: dict[str, str] = field(default_factory=dict)

    @property
    def points(self) -> float:
        return sum(check.points or 0.0 for check in self.checks)

    @property
    def could_not_grade(self) -> list[str]:
        return [check.id for check in self.checks if check.points is None]


def find_results(paths: Sequence[Path], dropped: Sequence[Student] = ()) -> list[Path]:
    """Return the results.json files that the paths refer to.

    Unfinished runs and refused archives are listed too: reading one raises an error that says so.

    Args:
        paths: each a results.json, the folder of one, or a folder of such folders.
        dropped: students whose results are left out.
    """
    left_out = {name for student in dropped for name in (student.id, student.submission)}
    found: list[Path] = []
    for path in paths:
        inside = [path / RESULTS] if path.is_dir() else [path]
        if path.is_dir() and not _holds_a_run(path):
            folders = sorted(child for child in path.iterdir() if child.is_dir())
            inside = [folder / RESULTS for folder in folders if _holds_a_run(folder)]
            if not inside:
                raise UsageError(f"expected results.json, or folders that hold one, in {path}; found neither")
        found += [name for name in inside if name not in found and name.resolve().parent.name not in left_out]
    return found


def _holds_a_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (RESULTS, RUN, REFUSAL_FILE))


def read_entry(path: Path, assignment: Assignment) -> GradebookEntry:
    """Read and check one results.json.

    Raises:
        UsageError: the file is missing, damaged or altered, the run is unfinished, or the result belongs to another
            assignment or to other checks or points.
    """
    if not path.exists() and (refusal := refusal_of(path.parent)):
        raise UsageError(f"{path.parent} holds no result, because the archive was refused: {refusal}")
    results = read_finished(path, assignment)
    program = {verdict.id: verdict for verdict in results.program}
    points = {check.id: check.points for check in assignment.checks}
    graded = {verdict.id: verdict.max_points for verdict in results.program}
    if graded.items() < points.items():
        raise UsageError(f"{path} holds {len(graded)} of {len(points)} checks: give the same grade command without --only")
    if graded != points:
        raise UsageError(f"{path} was graded with other checks or points than assignment.toml has now; grade it again")
    return GradebookEntry(
        path=path,
        submission=results.submission,
        profile=results.profile,
        seed=results.seed,
        checks=tuple(_check_entry(program[check.id]) for check in assignment.checks),
        reports=results.reports,
        digest=results.digest,
        level=str(results.sandbox.get("level")),
        bases={check_id: verdict.basis for check_id, verdict in program.items()},
    )


def read_finished(path: Path, assignment: Assignment) -> Results:
    """Read one results.json of this assignment.

    Raises:
        UsageError: the file is missing, damaged or altered, the run is unfinished, or the result belongs to another assignment.
    """
    results = read_results(path)
    if results.assignment != assignment.id:
        raise UsageError(
            f"expected a result of the assignment {assignment.id!r}; {path} belongs to {results.assignment!r}"
            f"{_what_to_do(results.assignment)}"
        )
    return results


def _what_to_do(assignment: str) -> str:
    """Return the end of a sentence about a result of another assignment."""
    if assignment in lab_names():
        return f", for which marks and give-back take --lab {assignment}"
    if assignment == load_assignment().id:
        return ", the main assignment, for which marks and give-back take no --lab"
    return ": no assignment here has this id; if it was renamed, grade again"


def refusal_of(folder: Path) -> str:
    """Return why the latest archive of this name was refused, or an empty string if it was not."""
    try:
        return " ".join((folder / REFUSAL_FILE).read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return ""


def _check_entry(verdict: Verdict) -> CheckEntry:
    lines = [verdict.message]
    if verdict.status == COULD_NOT_GRADE:
        lines = ["This check could not be graded; a person has to look.", *lines]
    if verdict.status != PASSED:
        lines += [f"{word}: {text}" for word, text in (("Expected", verdict.expected), ("Seen", verdict.seen)) if text]
        lines.append(f"Handout section {verdict.handout}.")
    comment = None if lines == [NOTHING_TO_SAY] else as_comment("\n".join(lines))
    return CheckEntry(verdict.id, None if verdict.status == COULD_NOT_GRADE else verdict.points, comment)


def as_comment(text: str) -> str:
    """Return the text as an indented block, which Markdown shows literally, because it may quote a student's program."""
    clean = on_screen(text, keep="\n")[:COMMENT_LIMIT]
    lines = [part for line in clean.split("\n") for part in textwrap.wrap(line, COMMENT_WIDTH)]
    return "\n".join(f"    {line}" for line in lines)


def read_roster(path: Path) -> tuple[Student, ...]:
    """Read the roster: a CSV file with the column `id` and optionally `submission` (default: the id), `first_name`,
    `last_name`, `email`, `canvas_id`, `moodle_id` and `dropped`; other columns and empty lines are left out.

    Raises:
        UsageError: the file cannot be read, lacks the column id, misspells a column, has a line with more cells than columns
            or an unbalanced quote, lists a student, submission or number twice, or has an unusable id, name or number, or
            another word than `yes` for `dropped`.
    """
    header, lines = read_table(path, "a roster")
    for name in header:
        if meant := _misspelt(name, header):
            raise UsageError(f"{path}: expected the column {meant}; got {name!r}: correct its name, or take the column out")
    if header.count("id") != 1:
        raise UsageError(f"{path}: expected one column id in the first line; got {listed(header)!r}")
    students: list[Student] = []
    known: set[tuple[str, str]] = set()
    for where, cells in lines:
        values = [cell.strip() for cell in cells]
        if len(values) > len(header):
            raise UsageError(
                f"{where}: expected at most {len(header)} cells, as in the first line; got {len(values)}: put quotes "
                "around a name with a comma"
            )
        student = _student(dict(zip(header, values, strict=False)), where)
        for column in ("id", "submission", "canvas_id", "moodle_id"):
            value = getattr(student, column)
            if value and (column, value) in known:
                raise UsageError(f"{where}: the {column} {value} is listed twice")
            known.add((column, value))
        students.append(student)
    return tuple(students)


def _misspelt(name: str, header: Collection[str]) -> str:
    """Return the column of a roster that is missing and that a name nearly spells, such as canvas_id for `Canvas ID`."""
    if name in ROSTER:
        return ""
    letters = _letters(name)
    missing = {_letters(column): column for column in ROSTER if column not in header}
    similar = [column for column in missing if abs(len(column) - len(letters)) <= 1]
    close = get_close_matches(letters, similar, n=1, cutoff=0.8)
    return missing[close[0]] if close else ""


def _letters(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def _student(fields: dict[str, str], where: str) -> Student:
    """Return the student of a line of the roster."""
    student_id = fields.get("id", "")  # a short line may end before it
    require_student_id(student_id, where)
    names = {key: fields[key] for key in ("first_name", "last_name", "email") if fields.get(key)}
    if strange := [name for key, name in names.items() if key != "email" and ("<" in name or ">" in name)]:
        raise UsageError(f"{where}: expected names without < and >, which formgrader shows as HTML; got {strange[0]!r}")
    if (dropped := fields.get("dropped", "")) not in ("", HAS_DROPPED):
        raise UsageError(f"{where}: expected {HAS_DROPPED} or nothing in the column dropped; got {dropped!r}")
    numbers = {key: fields.get(key, "") for key in ("canvas_id", "moodle_id")}
    for column, number in numbers.items():
        if number and not (number.isascii() and number.isdigit()):
            raise UsageError(f"{where}: expected a whole number or nothing in the column {column}; got {number!r}")
    if AS_A_NUMBER.fullmatch(student_id):
        raise UsageError(
            f"{where}: expected the student's id; got {student_id!r}, as a spreadsheet writes a number: export the roster "
            "again and give the column id the format text"
        )
    return Student(student_id, fields.get("submission") or student_id, names, **numbers, dropped=bool(dropped))


def enrolled_and_dropped(roster: Sequence[Student]) -> tuple[tuple[Student, ...], tuple[Student, ...]]:
    """Return the students who are in the course, and those who dropped it."""
    return tuple(one for one in roster if not one.dropped), tuple(one for one in roster if one.dropped)


def on_dropped(dropped: Sequence[Student]) -> Iterator[str]:
    """Yield a sentence about the students who dropped the course, if there are any."""
    if dropped:
        yield f"Left out, because the roster says that they dropped the course: {', '.join(one.id for one in dropped)}."


def require_student_id(student_id: str, where: str) -> None:
    """Raise a UsageError if an id is unsafe: nbgrader names a folder after it, and formgrader shows it as HTML."""
    plain = student_id.isprintable() and student_id == student_id.strip() and len(student_id.encode()) <= 128
    if not student_id or not plain or student_id.startswith(".") or any(c in student_id for c in '/\\*?[]{}"<>'):
        raise UsageError(f"{where}: expected a student id that can name a folder and holds no HTML; got {student_id!r}")
