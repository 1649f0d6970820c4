"""Whether the whole class was judged by one version of the grader and of assignment.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from common.csv_tables import listed
from common.errors import UsageError
from grader.assignment import Assignment
from grader.instructor.gradebook_entries import GradebookEntry
from grader.pipeline.judging import bases, check_digests
from grader.pipeline.results import SUBMISSION
from grader.pipeline.submission import read_submission
from grader.pipeline.summary import together


@dataclass
class _Students:
    """The students for whom the version that judged a check is the one of today, and the others."""

    of_today: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def of_two_versions(entries: Mapping[str, GradebookEntry], assignment: Assignment) -> Iterator[str]:
    """Yield a sentence about each group of students for whom some checks were judged by another version than for the rest.

    This happens where the grading of a class was repeated after a change and did not come to its end, or where two machines
    have different versions. What lies between two versions may change a verdict or not, so nothing more can be said.

    Args:
        entries: student id -> result.
    """
    judges: dict[str, dict[str, str]] = {}
    found: dict[str, _Students] = {}
    for student, entry in entries.items():
        if entry.profile not in assignment.profiles or not entry.path.with_name(SUBMISSION).is_file():
            continue
        if entry.profile not in judges:
            judges[entry.profile] = check_digests(assignment, entry.profile)
        now = _bases_now(entry, assignment, judges[entry.profile])
        for check, basis in entry.bases.items():
            students = found.setdefault(check, _Students())
            (students.of_today if basis == now.get(check) else students.others).append(student)
    grouped: dict[tuple[str, ...], list[str]] = {}
    for check, students in found.items():
        if students.of_today and students.others:
            grouped.setdefault(tuple(students.others), []).append(check)
    for ids, checks in grouped.items():
        yield (
            f"another version of the grader or of assignment.toml judged {together(checks)} of {listed(ids)} than of the rest "
            "of the class: give the grade command of the class again, if the change matters"
        )


def _bases_now(entry: GradebookEntry, assignment: Assignment, judges: Mapping[str, str]) -> dict[str, str]:
    """Return what the verdicts of a kept submission would rest on today; empty if today's assignment cannot read it."""
    try:
        files = read_submission(entry.path.with_name(SUBMISSION), assignment, at_the_top=True).files
    except UsageError:
        return {}
    return bases(files, entry.level, assignment, entry.profile, judges)
