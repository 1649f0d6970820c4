"""The warm-up's notebooks: found in what a student handed in, and put where nbgrader looks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from grader.instructor.warmup import WARMUP, source_notebooks
from grader.pipeline.archive import Member, open_source, read_member, take_in
from grader.pipeline.notebook_cells import MAX_NOTEBOOK_BYTES, CodeCell, parse_notebook, read_notebook

SUBMITTED, TIMESTAMP = "submitted", "timestamp.txt"  # nbgrader's names
# What browsers, file managers and Canvas append to the name of a second copy, and what a platform writes before a name.
COPY = r"(?:[ _]*\(\d{1,4}\)|-\d{1,4}|[ _-]+copy)*"
BEFORE = r"(?:.*[_ ])?"
SHOWN_FILES = 5
NOTEBOOK_ENDS = (".ipynb", ".ipynb.json", ".ipynb.txt")  # the last two are how some browsers save a notebook
MOST_OPENED = 20  # files whose tests are compared, so that an archive full of notebooks costs little time


@dataclass(frozen=True)
class Notebooks:
    """The notebooks of an attempt.

    Attributes:
        files: name of a notebook, such as boards.ipynb -> content.
        notes: sentences about what is missing, unclear or left out.
        unclear: whether a person has to look.
    """

    files: dict[str, bytes]
    notes: tuple[str, ...]
    unclear: bool


def expected_notebooks(course: Path) -> dict[str, frozenset[str]]:
    """Return the warm-up's notebooks: name -> the names of its tests. Raise a UsageError if the course has none."""
    if not (paths := source_notebooks(course)):
        raise UsageError(f"expected the warm-up's notebooks in {course / 'source' / WARMUP}; there are none")
    return {path.name: _tests(read_notebook(path)) for path in paths}


def _tests(cells: Sequence[CodeCell]) -> frozenset[str]:
    return frozenset(cell.name for cell in cells if cell.points)


def read_notebooks(path: Path, expected: Mapping[str, frozenset[str]]) -> Notebooks:
    """Find each notebook in an archive: in any folder, under the name of a copy (`boards (1).ipynb`), or else by its tests.

    Args:
        path: the archive of an attempt.
        expected: name of a notebook -> the names of its tests.

    Raises:
        UsageError: the archive cannot be read.
    """
    files: dict[str, bytes] = {}
    notes: list[str] = []
    unclear = False
    with closing(open_source(path)) as source:
        entries = take_in(source, path.name)
        every = [*entries.files.items(), *entries.twins]
        found, by_tests = _found(every, expected)
        taken = {place for place, _ in chain(*found.values())}
        others = sorted({place for place, _ in every} - taken)
        for name, candidates in found.items():
            if not candidates:
                notes.append(f"{name} is missing.")
                unclear = unclear or any(map(_ends_as_notebook, others))
                continue
            if name in by_tests:
                places = " and ".join(place for place, _ in candidates)
                notes.append(f"{name} was found by its tests, in {places}.")
            try:
                files[name] = _only(name, candidates)
            except UsageError as error:
                notes.append(f"{name} cannot be used: {error}.")
                unclear = True
    if others:
        more = f" and {len(others) - SHOWN_FILES} more" if len(others) > SHOWN_FILES else ""
        notes.append(f"Left out, because the warm-up has no such notebook: {', '.join(others[:SHOWN_FILES])}{more}.")
    return Notebooks(files, tuple(notes), unclear or not files)


def _found(
    every: Sequence[tuple[str, Member]], expected: Mapping[str, frozenset[str]]
) -> tuple[dict[str, list[tuple[str, Member]]], set[str]]:
    """Return the files that may be each notebook, and which notebooks were found by their tests, for want of a file's name."""
    found = {name: [each for each in every if _is_copy_of(name, each[0])] for name in expected}
    unnamed = {name for name, candidates in found.items() if not candidates}
    named_places = {place for place, _ in chain(*found.values())}
    others = [each for each in every if _ends_as_notebook(each[0]) and each[0] not in named_places] if unnamed else []
    for place, member in others[:MOST_OPENED]:
        tests = _tests_in(place, member)
        for name in unnamed:
            if tests & expected[name]:
                found[name].append((place, member))
    return found, unnamed


def _ends_as_notebook(path: str) -> bool:
    return path.casefold().endswith(NOTEBOOK_ENDS)


def _tests_in(place: str, member: Member) -> frozenset[str]:
    """Return the names of the tests in a file; none if it is no notebook."""
    try:
        return frozenset() if member.size > MAX_NOTEBOOK_BYTES else _tests(parse_notebook(read_member(member, place), place))
    except UsageError:
        return frozenset()


def _is_copy_of(name: str, path: str) -> bool:
    stem, _, suffix = name.rpartition(".")
    pattern = rf"{BEFORE}{re.escape(stem)}{COPY}\.{suffix}"
    return bool(re.fullmatch(pattern, path.rpartition("/")[2], re.IGNORECASE | re.DOTALL))


def _only(name: str, candidates: Sequence[tuple[str, Member]]) -> bytes:
    """Return the content that all candidates share; raise a UsageError if they differ or are no notebook."""
    contents: dict[bytes, str] = {}
    for place, member in candidates:
        if member.size > MAX_NOTEBOOK_BYTES:
            raise UsageError(f"{place} is larger than {MAX_NOTEBOOK_BYTES >> 20} MiB")
        contents.setdefault(read_member(member, place), place)
    if len(contents) > 1:
        first, second, *_ = contents.values()
        raise UsageError(f"{first} and {second} differ, and nothing says which one counts")
    ((content, place),) = contents.items()
    parse_notebook(content, place)
    return content


def lay_out(course: Path, submissions: Mapping[str, tuple[Path, str]], former: Sequence[str]) -> int:
    """Make nbgrader's folder hold the notebooks that count, and return how many students have some.

    Args:
        submissions: student -> the attempt that counts, and its time as an ISO text, empty if it is not known.
        former: students whose notebooks an earlier call put there.
    """
    expected = expected_notebooks(course)
    for student in former:
        if student not in submissions:
            _put(course, student, {}, (*expected, TIMESTAMP))
    count = 0
    for student, (path, submitted_at) in submissions.items():
        try:
            files = read_notebooks(path, expected).files
        except UsageError:  # collected.csv says why
            files = {}
        count += bool(files)
        time = {TIMESTAMP: submitted_at.encode()} if files and submitted_at else {}
        _put(course, student, files | time, (*expected, TIMESTAMP))
    return count


def _put(course: Path, student: str, files: Mapping[str, bytes], names: Sequence[str]) -> None:
    folder = course / SUBMITTED / student / WARMUP
    for name in names:
        place = folder / name
        if name not in files:
            place.unlink(missing_ok=True)
        elif not place.is_file() or place.read_bytes() != files[name]:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(place, files[name])
    with suppress(OSError):  # it is not there, or holds something else
        folder.rmdir()
        folder.parent.rmdir()
