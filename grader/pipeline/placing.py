"""Find the parts of a submission, even in folders that are nested, side by side, or spelled with different capitals.

A part is a folder that the assignment names (`[parts]`). Each part is searched for separately, at any depth. If several
folders could be the part, copies of the same files count as one. Two kinds of copies do not count beside others: one in a
workspace that the grader laid out, which an interrupted grading leaves, and the stubs as they were handed out. Otherwise an
error names two of the folders: nothing is guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from common.errors import UsageError
from common.unwritten import REMINDER
from grader.assignment import ROOT, Assignment, matches

MARKER = ".workspace"  # a file in each folder that `grader.pipeline.workspace` lays out
SHOWN_FOLDERS = 5
MAX_NESTED = 3  # nested folders that are all named like a part; more never occur in practice, and each costs time
WHAT_TO_DO = "grade only the folder that counts, or ask for an archive that holds only one of them"
Contents = Callable[[Iterable[str]], Mapping[str, bytes]]
Found = dict[str, str]


@dataclass(frozen=True)
class Places:
    """Where the parts and files of a submission are.

    Attributes:
        files: relative path, as the assignment names it -> path in the submission, for each file that counts.
        folders: path in the submission -> the assignment's name, for the folder of each part.
        roots: the folders that hold these folders.
        notes: sentences for the report.
    """

    files: Found
    folders: dict[str, str]
    roots: tuple[str, ...]
    notes: tuple[str, ...]

    def relative(self, path: str) -> str:
        """Return a submission's path as the assignment would name it; a path outside the parts and roots is unchanged."""
        for folder, part in self.folders.items():
            if path.startswith(f"{folder}/"):
                return part + path[len(folder) :]
        if len(self.roots) == 1 and path.startswith(prefix := _prefix(self.roots[0])):
            return path[len(prefix) :]
        return path

    def from_above(self, path: str) -> str:
        """Return a path relative to the deepest folder that holds both it and a part."""
        prefixes = [_prefix(folder) for root in self.roots for folder in _with_parents(root)]
        return path[max((len(prefix) for prefix in prefixes if path.startswith(prefix)), default=0) :]


def find_places(paths: Iterable[str], contents: Contents, assignment: Assignment, *, at_the_top: bool = False) -> Places:
    """Find each part of the assignment, and the files beside a part.

    Args:
        paths: the paths of all files.
        contents: function that reads files so that possible copies can be compared.
        at_the_top: whether folders at the top take precedence over all others, as in a student's working folder.

    Raises:
        UsageError: two folders or files could count, and nothing says which one does.
    """
    paths = list(paths)
    laid_out = {_parent(path) for path in paths if path.rpartition("/")[2] == MARKER} - {""}
    candidates = everywhere = _candidates(paths, assignment)
    if laid_out:
        elsewhere = [path for path in paths if not laid_out.intersection(_with_parents(_parent(path)))]
        candidates = everywhere | _candidates(elsewhere, assignment)
    others = {_parent(place) for places in everywhere.values() for place in places} & laid_out
    if at_the_top and any("/" not in place for places in candidates.values() for place in places):
        candidates = {
            part: top
            for part, places in candidates.items()
            if (top := {place: files for place, files in places.items() if "/" not in place})
        }
        others = set()
    chosen: dict[str, str] = {}
    for part, places in candidates.items():
        chosen[part] = _choose(part, places, contents, assignment)
        for place, found in places.items():
            if any(not _is_inside(path, chosen[part]) for path in found.values()):
                others.add(_parent(place))
    roots = tuple(sorted({_parent(place) for place in chosen.values()}))
    files = {relative: path for part, place in chosen.items() for relative, path in candidates[part][place].items()}
    files |= _beside(paths, roots, contents, assignment)
    notes = _notes(chosen, roots, sorted(others - set(roots)), assignment)
    return Places(files, {place: part for part, place in chosen.items()}, roots, tuple(notes))


def _candidates(paths: Iterable[str], assignment: Assignment) -> dict[str, dict[str, Found]]:
    """Return part -> candidate folder -> relative path -> path, for the files that would be collected there."""
    spelled = {part.casefold(): part for part in assignment.parts}
    found: dict[str, dict[str, Found]] = {}
    for path in paths:
        names = path.split("/")
        parts = ((i, spelled[name.casefold()]) for i, name in enumerate(names[:-1]) if name.casefold() in spelled)
        for i, part in islice(parts, MAX_NESTED):
            relative = "/".join((part, *names[i + 1 :]))
            if assignment.is_collected(relative):
                place = "/".join(names[: i + 1])
                found.setdefault(part, {}).setdefault(place, {})[relative] = path
    return found


def _choose(part: str, places: dict[str, Found], contents: Contents, assignment: Assignment) -> str:
    """Return the folder that is the part: it holds the files the part needs, lies in no other candidate, and has no rival.

    Stubs as they were handed out are no rival.
    """
    needs = assignment.parts[part]
    able = [place for place, files in places.items() if any(matches(path, needs) for path in files)] or list(places)
    folders = set(able)
    able = [place for place in able if not folders.intersection(_with_parents(_parent(place)))]
    if len(able) == 1:
        return able[0]
    read = contents(path for place in able for path in places[place].values())
    able = [place for place in able if not _is_as_handed_out(places[place], read, assignment)] or able
    digests = {
        place: {relative: hashlib.sha256(read[path]).digest() for relative, path in places[place].items()} for place in able
    }
    able.sort(key=lambda place: (-len(places[place]), place.count("/"), len(place), place))
    first = able[0]
    for rival in able[1:]:
        if digests[rival].items() <= digests[first].items():
            continue
        for relative in sorted(digests[rival].keys() & digests[first].keys()):
            if digests[rival][relative] != digests[first][relative]:
                raise _two(relative, places[first][relative], places[rival][relative])
        raise UsageError(f"{part} was found twice, as {first}/ and {rival}/, and nothing says which one counts: {WHAT_TO_DO}")
    return first


def _is_as_handed_out(files: Found, read: Mapping[str, bytes], assignment: Assignment) -> bool:
    """Return whether files are the unwritten stubs of this tree; in a student's kit, these may have been written."""
    own = {relative: ROOT / assignment.place(relative) for relative in files}
    if any(not own[name].is_file() or _lines(own[name].read_bytes()) != _lines(read[files[name]]) for name in files):
        return False
    return any(REMINDER.search(read[path].decode("utf-8", "replace")) for path in files.values())


def _lines(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")


def _beside(paths: Iterable[str], roots: tuple[str, ...], contents: Contents, assignment: Assignment) -> Found:
    """Return the collected files outside the parts, such as submission.toml, in the folders that lead to the parts."""
    patterns = [pattern for pattern in assignment.collected if "/" not in pattern]
    folders = {folder for root in roots or ("",) for folder in _with_parents(root)}
    found: dict[str, list[str]] = {}
    for path in paths:
        name = path.rpartition("/")[2]
        if _parent(path) in folders and matches(name, patterns):
            found.setdefault(name, []).append(path)
    for name, places in found.items():
        if len(places) > 1:
            read = contents(places)
            for rival in places[1:]:
                if read[rival] != read[places[0]]:
                    raise _two(name, places[0], rival)
    return {name: places[0] for name, places in found.items()}


def _two(relative: str, first: str, second: str) -> UsageError:
    return UsageError(
        f"{relative} was found twice with different contents, as {first} and {second}, and nothing says which one counts: "
        f"{WHAT_TO_DO}"
    )


def _notes(chosen: Mapping[str, str], roots: tuple[str, ...], others: list[str], assignment: Assignment) -> Iterable[str]:
    if not chosen:
        yield f"No folder named {' or '.join(sorted(assignment.parts))} was found."
        return
    if len(roots) == 1 and roots[0]:
        yield f"The submission's files were found in {roots[0]}/."
    for part, place in sorted(chosen.items()):
        if len(roots) > 1 or place.rpartition("/")[2] != part:
            yield f"The folder {place}/ was read as {part}/."
    others = [root or "." for root in others]
    if len(others) > SHOWN_FOLDERS:
        others[SHOWN_FOLDERS:] = [f"{len(others) - SHOWN_FOLDERS} more folders"]
    if others:
        yield f"Files of the assignment were also found in {', '.join(others)}, which were not used."


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _prefix(folder: str) -> str:
    return f"{folder}/" if folder else ""


def _is_inside(place: str, folder: str) -> bool:
    return f"{place}/".startswith(f"{folder}/")


def _with_parents(folder: str) -> Iterable[str]:
    while folder:
        yield folder
        folder = _parent(folder)
    yield ""
