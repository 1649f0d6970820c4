"""The warm-up's notebooks: found in what a student handed in, and put where nbgrader looks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from common.errors import UsageError
from common.files import write_whole
from grader.instructor.warmup import WARMUP, source_notebooks
from grader.pipeline.archive import Member, open_source, read_member, take_in
from grader.pipeline.notebook_cells import MAX_NOTEBOOK_BYTES, parse_notebook

SUBMITTED, TIMESTAMP = "submitted", "timestamp.txt"  # nbgrader's names
# What browsers, file managers and Canvas append to the name of a second copy, and what a platform writes before a name.
COPY = r"(?:[ _]*\(\d{1,4}\)|-\d{1,4}|[ _-]+copy)*"
BEFORE = r"(?:.*[_ ])?"
SHOWN_FILES = 5


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


def notebook_names(course: Path) -> tuple[str, ...]:
    """Return the names of the warm-up's notebooks; raise a UsageError if the course has none."""
    if not (names := tuple(path.name for path in source_notebooks(course))):
        raise UsageError(f"expected the warm-up's notebooks in {course / 'source' / WARMUP}; there are none")
    return names


def read_notebooks(path: Path, names: Sequence[str]) -> Notebooks:
    """Find each notebook in an archive, in any folder and also under the name of a copy, such as `boards (1).ipynb`.

    Raises:
        UsageError: the archive cannot be read.
    """
    files: dict[str, bytes] = {}
    notes: list[str] = []
    unclear = False
    with closing(open_source(path)) as source:
        entries = take_in(source, path.name)
        every = [*entries.files.items(), *entries.twins]
        taken: set[str] = set()
        for name in names:
            candidates = [(place, member) for place, member in every if _is_copy_of(name, place)]
            taken.update(place for place, _ in candidates)
            if not candidates:
                notes.append(f"{name} is missing.")
                continue
            try:
                files[name] = _only(name, candidates)
            except UsageError as error:
                notes.append(f"{name} cannot be used: {error}.")
                unclear = True
    if others := sorted({place for place, _ in every} - taken):
        more = f" and {len(others) - SHOWN_FILES} more" if len(others) > SHOWN_FILES else ""
        notes.append(f"Left out, because the warm-up has no such notebook: {', '.join(others[:SHOWN_FILES])}{more}.")
    return Notebooks(files, tuple(notes), unclear or not files)


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
    names = notebook_names(course)
    for student in former:
        if student not in submissions:
            _put(course, student, {}, (*names, TIMESTAMP))
    count = 0
    for student, (path, submitted_at) in submissions.items():
        try:
            files = read_notebooks(path, names).files
        except UsageError:  # collected.csv says why
            files = {}
        count += bool(files)
        time = {TIMESTAMP: submitted_at.encode()} if files and submitted_at else {}
        _put(course, student, files | time, (*names, TIMESTAMP))
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
