"""Read what is compared: the sources of each submission, part by part, and the code that was handed out.

Archives are read as grading reads them (grader/pipeline/submission.py). Only text leaves this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment
from grader.instructor.collecting.keeping import SUBMISSIONS
from grader.instructor.collecting.record import RECORD
from grader.pipeline.archive import is_archive, open_source, read_member, take_in
from grader.pipeline.handed_out import kit_sources
from grader.pipeline.likeness import is_source
from grader.pipeline.listeners import Announce
from grader.pipeline.submission import MAX_FILE_BYTES, Submission, read_submission, require_submissions

ENGINE, PYTHON = "engine", "Python"
PARTS = (ENGINE, PYTHON)
MAX_LABEL = 80  # characters


@dataclass(frozen=True)
class Work:
    """The sources of one submission.

    Attributes:
        label: unique name, which is also safe as the name of a file.
        place: where the submission was read from.
        earlier: whether it is from an earlier year.
        sources: relative path -> content, sorted by path.
    """

    label: str
    place: Path
    earlier: bool
    sources: Mapping[str, bytes]

    def files(self, part: str) -> dict[str, str]:
        """Return path -> text of the files of a part."""
        return {path: text_of(content) for path, content in self.sources.items() if part_of(path) == part}


@dataclass(frozen=True)
class LeftOut:
    """Something that is not compared.

    Attributes:
        reason: what it is, and why it is not compared.
        by_hand: whether a person has to look at it instead.
    """

    reason: str
    by_hand: bool = True


@dataclass(frozen=True)
class Reading:
    """All submissions that can be read, and those that cannot."""

    works: tuple[Work, ...]
    left_out: tuple[LeftOut, ...]


def part_of(path: str) -> str:
    """Return the part to which a source belongs, by its suffix."""
    return PYTHON if path.endswith(".py") else ENGINE


def parts_of(assignment: Assignment) -> tuple[str, ...]:
    """Return the parts of which an assignment collects sources."""
    collected = {part_of(pattern) for pattern in assignment.collected if is_source(pattern)}
    return tuple(part for part in PARTS if part in collected)


def text_of(content: bytes) -> str:
    """Return a source as text with plain line ends, without a byte order mark and empty lines at its end."""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return text.lstrip("\ufeff").rstrip("\n") + "\n"


def read_works(paths: Sequence[Path], earlier: Sequence[Path], assignment: Assignment, announce: Announce) -> Reading:
    """Read the submissions of this year and of earlier years.

    Args:
        paths: folders or archives, each one submission.
        earlier: folders that hold such folders or archives.
    """
    require_submissions(paths)
    places = [(path.name, path, False) for path in sorted(set(paths), key=lambda path: (path.name, str(path)))]
    left_out: list[LeftOut] = []
    for folder in earlier:
        for path in _submissions_below(folder, assignment):
            if path.is_dir() or is_archive(path.name):
                places.append((folder.resolve().name, path, True))
            else:
                left_out.append(LeftOut(f"{path} is neither a folder nor an archive", by_hand=False))
    works: list[Work] = []
    labels: set[str] = set()
    for number, (year, path, is_earlier) in enumerate(places, 1):
        announce(f"\rreading {number} of {len(places)}")
        try:
            submission = read_submission(path, assignment)
        except UsageError as error:
            left_out.append(LeftOut(str(error)))
            continue
        label = _unique(f"{year}-{submission.name}" if is_earlier else submission.name, labels)
        works.append(Work(label, path, is_earlier, _sources_of(submission)))
    return Reading(tuple(works), tuple(left_out))


def _sources_of(submission: Submission) -> dict[str, bytes]:
    return {path: content for path, content in submission.files.items() if is_source(path)}


def _submissions_below(folder: Path, assignment: Assignment) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"expected a folder of submissions after --earlier; got {folder}")
    if (folder / RECORD).exists():
        raise UsageError(
            f"expected a folder of submissions after --earlier; {folder} is a collection: name {folder / SUBMISSIONS}"
        )
    found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    names = {path.name.casefold() for path in found}
    if any(part.casefold() in names for part in assignment.parts):
        raise UsageError(
            f"expected a folder of submissions after --earlier; {folder} looks like one submission: name the folder above it"
        )
    return found


def _unique(name: str, taken: set[str]) -> str:
    """Return a name that is safe for a file and not taken even if case is ignored, and add it to those taken."""
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[:MAX_LABEL].lstrip(".") or "_"
    label, number = safe, 1
    while label.casefold() in taken:
        number += 1
        label = f"{safe}-{number}"
    taken.add(label.casefold())
    return label


def read_handed_out(folders: Sequence[Path], assignment: Assignment) -> dict[str, bytes]:
    """Return path -> content of all sources that students were given: this year's kit, and the kits in these folders.

    Args:
        folders: folders or archives of earlier years' kits or stubs.

    Raises:
        UsageError: a folder cannot be read, or holds no source.
    """
    found = {f"kit/{path}": (ROOT / assignment.place(path)).read_bytes() for path in kit_sources(ROOT, assignment)}
    labels = {"kit"}
    for folder in folders:
        sources = dict(_sources_in(folder))
        if not sources:
            raise UsageError(f"expected handed-out sources (Python or C++) in {folder}; found none")
        label = _unique(folder.resolve().name, labels)
        found |= {f"{label}/{path}": content for path, content in sources.items()}
    return found


def _sources_in(place: Path) -> Iterator[tuple[str, bytes]]:
    with closing(open_source(place)) as source:
        for path, member in take_in(source, str(place)).files.items():
            if is_source(path) and member.size <= MAX_FILE_BYTES:
                yield path, read_member(member, f"{place}: {path}")
