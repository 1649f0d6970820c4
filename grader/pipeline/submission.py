"""Find the files of a submission that count, and the reports for a person to read.

Real submissions are whole copies of the repository with binaries, caches, a modified Board, several engine versions and
notes. They come as a folder or an archive, often one or two folders too deep, in an archive inside an archive, or with the
parts side by side. The files that the assignment collects are found in all of these (grader/pipeline/placing.py) and read
into memory; every other file is ignored and listed with the reason. Nothing is guessed: if there are two candidates for one
file, an error names both.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath

from common.errors import UsageError
from grader.assignment import Assignment, matches
from grader.pipeline.archive import Entries, Member, open_archive, open_source, read_member, take_in, unpacked
from grader.pipeline.archive_names import ARCHIVE_SUFFIXES, is_archive, readable, without_suffix
from grader.pipeline.placing import Places, find_places

MAX_FILE_BYTES = 2 << 20
MAX_TOTAL_BYTES = 32 << 20
# Limits for reports, which a person reads.
MAX_REPORT_BYTES = 32 << 20
MAX_REPORTS_BYTES = 64 << 20
MAX_REPORTS = 200
MAX_LISTED = 500  # lines of a list in a report, and names of reports
SHOWN_NAMES, SHOWN_CHARACTERS = 6, 100  # when a message lists what a submission holds
UNWANTED = "not collected by the assignment"
OTHER_ARCHIVES = (".rar", ".7z", ".gz", ".xz", ".zst")
UNPACK = "hand in a .zip of the files themselves, or unpack it by hand and grade the folder"
RECORD_OF_COLLECTION = "collection.json"  # in the folder that `collect` writes


@dataclass(frozen=True)
class Submission:
    """The files of a submission that count.

    Attributes:
        name: name of the folder or archive, for the report.
        files: relative path with forward slashes -> content, sorted by path.
        reports: paths of files for a person to read, at most MAX_LISTED; they are never run.
        ignored: (path, reason) for files that do not count; a folder that is ignored as a whole takes one line, and the last of
            MAX_LISTED lines says how many more there are.
        notes: sentences for the report about how the submission was read.
        report_files: report -> content, for the reports that are not too large.
    """

    name: str
    files: dict[str, bytes]
    reports: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    report_files: dict[str, bytes] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The sha256 of the names and contents of the collected files: the same work has the same digest."""
        total = hashlib.sha256()
        for path, content in self.files.items():
            total.update(f"{len(path)} {path} {len(content)} ".encode())
            total.update(content)
        return total.hexdigest()


def submission_name(path: Path) -> str:
    """Return the name that results are filed under: the archive's or folder's name without its suffix."""
    return without_suffix(readable(os.path.basename(os.path.realpath(path))))


def different_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of submissions that are graded together; raise a UsageError if two have the same."""
    names = [submission_name(path) for path in paths]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"expected submissions with different names, because results are filed by name; given twice: {', '.join(doubled)}"
        )
    return names


def require_submissions(paths: Sequence[Path]) -> None:
    """Raise a UsageError if nothing is at one of the paths, or if the only one is a whole class.

    That is the folder of a collection, or a folder of archives.
    """
    if absent := [str(path) for path in paths if not os.path.lexists(path)]:
        raise UsageError(f"expected a folder or an archive at {' and '.join(absent)}; nothing is there")
    if len(paths) == 1 and paths[0].is_dir():
        if (paths[0] / RECORD_OF_COLLECTION).is_file():
            raise UsageError(f"expected submissions; {paths[0]} is the folder of a collection: give {paths[0]}/submissions/*")
        entries = list(paths[0].iterdir())
        archives = [entry for entry in entries if is_archive(entry.name)]
        if len(archives) > 1 and not any(entry.is_dir() for entry in entries):
            raise UsageError(f"expected submissions; {paths[0]} is a folder of {len(archives)} archives: give {paths[0]}/*")


def read_submission(path: Path, assignment: Assignment, *, at_the_top: bool = False) -> Submission:
    """Read a folder or an archive.

    Args:
        at_the_top: whether files at the top take precedence over copies below, as in a student's working folder.

    Raises:
        UsageError: the path is missing, damaged, too large, or neither a folder nor a known archive; or two files in it
            could be the one that counts.
    """
    name = submission_name(path)
    with ExitStack() as opened:
        source = opened.enter_context(closing(open_source(path)))
        entries = take_in(source, str(path))
        notes = _open_the_only_archive(name, entries, opened, assignment)
        return _Selection(name, entries, assignment, at_the_top).submission(notes)


def absent_parts(submission: Submission, assignment: Assignment) -> dict[str, str]:
    """Return part -> a sentence with what was expected and what was seen, for each part that was not handed in at all."""
    found = {}
    packed = "" if submission.files else _not_opened(submission)
    for part, needs in assignment.parts.items():
        if not any(matches(path, needs) for path in submission.files):
            named = {path.rpartition("/")[2].casefold() for path, _ in submission.ignored}
            file = f" {part} is a file there, not a folder." if part.casefold() in named else ""
            found[part] = f"No required file was found in {part}/: expected {_words(needs)}; {_seen(submission)}.{file}{packed}"
    return found


def _not_opened(submission: Submission) -> str:
    """Name the archives in a submission in which nothing was found, or return an empty string if there are none."""
    closed = [path for path, _ in submission.ignored if path.lower().endswith((*ARCHIVE_SUFFIXES, *OTHER_ARCHIVES))]
    were = "was" if len(closed) == 1 else "were"
    return f" {' and '.join(closed[:SHOWN_NAMES])} {were} not opened: {UNPACK}." if closed else ""


def _words(patterns: Iterable[str]) -> str:
    """Return the patterns in human-readable form, without the `**/` that matches any folders in between."""
    return " or ".join(pattern.replace("**/", "") for pattern in patterns)


def _seen(submission: Submission) -> str:
    """List the first names that a submission holds, beginning with the files that do not count."""
    names = [path if reason == UNWANTED else f"{path} ({reason})" for path, reason in submission.ignored]
    names = [name[:SHOWN_CHARACTERS] for name in (*names, *submission.reports, *submission.files)]
    if not names:
        return "the submission is empty"
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return f"the submission holds {', '.join(names[:SHOWN_NAMES])}{more}"


def _open_the_only_archive(name: str, entries: Entries, opened: ExitStack, assignment: Assignment) -> list[str]:
    """Replace the only inner archive with its entries, one level deep, and return a note for the report.

    Nothing happens if any file of the submission has the suffix of a collected file.
    """
    archives = [path for path in entries.files if is_archive(path)]
    suffixes = {PurePosixPath(pattern).suffix for pattern in assignment.collected}
    if len(archives) != 1 or any(PurePosixPath(path).suffix in suffixes for path in entries.files):
        return []
    inner = archives[0]
    shown = f"{name}: {inner}"
    source = opened.enter_context(closing(open_archive(unpacked(entries.files.pop(inner), shown), shown)))
    inside = take_in(source, shown)
    folder = without_suffix(inner)
    entries.files |= {f"{folder}/{path}": member for path, member in inside.files.items()}
    entries.twins += [(f"{folder}/{path}", member) for path, member in inside.twins]
    entries.refused |= {f"{folder}/{path}": reason for path, reason in inside.refused.items()}
    return [f"All files were found in {inner}, an archive inside the archive."]


class _Selection:
    """Selects the entries that count, and reads them in the source's order."""

    def __init__(self, name: str, entries: Entries, assignment: Assignment, at_the_top: bool) -> None:
        self.name = name
        self.entries = entries
        self.assignment = assignment
        self.at_the_top = at_the_top
        self.read: dict[str, bytes] = {}

    def submission(self, notes: Iterable[str]) -> Submission:
        members, assignment = self.entries.files, self.assignment
        places = find_places(members, self.contents, assignment, at_the_top=self.at_the_top)
        paths = dict(places.files)
        ignored = list(self.entries.refused.items())
        file_names = (*assignment.collected, *assignment.framework)
        for relative, path in places.files.items():
            if members[path].size > MAX_FILE_BYTES:
                ignored.append((relative, f"larger than {MAX_FILE_BYTES >> 20} MiB"))
            elif any(matches(parent.as_posix(), file_names) for parent in PurePosixPath(relative).parents):
                ignored.append((relative, "its folder is also the name of a file"))
            else:
                continue
            del paths[relative]
        files = self.files(paths)
        self.refuse_other_twins(paths.values())
        ignored += self.drop_doubles(files, paths)
        reports, others = self.sort_out(places)
        report_files, left_out = self.reports(reports)
        known = dict.fromkeys((*report_files, *sorted(reports)))  # those that are kept come first
        return Submission(
            self.name,
            dict(sorted(files.items())),
            tuple(sorted(islice(known, MAX_LISTED))),
            tuple(_listed(_summarise(ignored + others + left_out))),
            (*notes, *places.notes, *_left_out_notes(left_out)),
            report_files,
        )

    def contents(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """Return the contents of files to compare; for a file that is too large to count, return its size instead."""
        wanted = set(paths)
        counting = {path: self.entries.files[path] for path in self.entries.files if path in wanted}
        small = {path: member for path, member in counting.items() if member.size <= MAX_FILE_BYTES}
        self.require_room(small.values())
        for path, member in small.items():
            self.content(path, member)
        return {path: self.read[path] if path in small else str(member.size).encode() for path, member in counting.items()}

    def files(self, paths: Mapping[str, str]) -> dict[str, bytes]:
        members = self.entries.files
        self.require_room(members[path] for path in paths.values())
        relatives = {path: relative for relative, path in paths.items()}
        return {relatives[path]: self.content(path, members[path]) for path in members if path in relatives}

    def content(self, path: str, member: Member) -> bytes:
        if path not in self.read:
            self.read[path] = read_member(member, f"{self.name}: {path}")
        return self.read[path]

    def require_room(self, members: Iterable[Member]) -> None:
        if sum(member.size for member in members) > MAX_TOTAL_BYTES:
            raise UsageError(f"{self.name}: the files that count are larger than {MAX_TOTAL_BYTES >> 20} MiB in total")

    def drop_doubles(self, files: dict[str, bytes], paths: Mapping[str, str]) -> list[tuple[str, str]]:
        """Remove files whose names differ only in case; raise a UsageError if their contents differ."""
        found: list[tuple[str, str]] = []
        spelled: dict[str, str] = {}
        for relative in sorted(files):
            first = spelled.setdefault(relative.lower(), relative)  # casefold would also take Maß.h and Mass.h for the same
            if files[first] != files[relative]:
                raise UsageError(
                    f"{self.name}: {paths[first]} and {paths[relative]} are the same file if case is ignored, but have "
                    "different contents: rename one of them"
                )
            if first != relative:
                found.append((relative, f"the same name as {first} if case is ignored"))
                del files[relative]
        return found

    def refuse_other_twins(self, paths: Iterable[str]) -> None:
        """Raise a UsageError if the archive holds a second copy of a file that counts, with different contents."""
        counting = set(paths)
        twins = [(path, twin) for path, twin in self.entries.twins if path in counting]
        self.require_room(twin for _, twin in twins)
        for path, twin in twins:
            if twin.size != len(self.read[path]) or read_member(twin, f"{self.name}: {path}") != self.read[path]:
                raise UsageError(
                    f"{self.name}: the archive holds {path} twice with different contents, and nothing says which one counts; "
                    "ask for a new archive"
                )

    def sort_out(self, places: Places) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return name -> path for each report, and (path, reason) for files that are neither collected nor reports."""
        assignment = self.assignment
        patterns = [pattern.casefold() for pattern in assignment.reports]
        names = [pattern for pattern in patterns if "/" not in pattern]
        collected = set(places.files.values())
        reports: dict[str, str] = {}
        ignored: list[tuple[str, str]] = []
        for path in self.entries.files:
            relative, below = places.relative(path), places.from_above(path)
            folded = below.casefold()
            if path in collected:
                continue
            if matches(relative, assignment.protected):
                ignored.append((relative, "handed out: the framework's copy is used"))
            elif matches(relative, assignment.framework):
                ignored.append((relative, "part of the framework: the clean copy is used"))
            elif matches(folded, patterns) or (
                not self.at_the_top  # in a working folder, the other folders hold handed-out or generated files
                and matches(folded.rpartition("/")[2], names)
                and not matches(relative, assignment.kit)
            ):
                reports.setdefault(below if below not in reports else path, path)
            else:
                ignored.append((relative, UNWANTED))
        return reports, ignored

    def reports(self, named: Mapping[str, str]) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
        """Return name -> content for the reports within the limits, and (name, reason) for the others."""
        members = self.entries.files
        by_path = {path: name for name, path in named.items()}
        kept: dict[str, bytes] = {}
        left_out: list[tuple[str, str]] = []
        room = MAX_REPORTS_BYTES
        for path in [path for path in members if path in by_path]:
            member, name = members[path], by_path[path]
            if member.size > min(MAX_REPORT_BYTES, room) or len(kept) == MAX_REPORTS:
                left_out.append((name, "with it, the reports would be too large or too many for a person to read"))
                continue
            try:
                kept[name] = read_member(member, name)
            except UsageError as error:
                left_out.append((name, str(error)))
                continue
            room -= member.size
        return kept, left_out


def _left_out_notes(left_out: list[tuple[str, str]]) -> Iterator[str]:
    for path, reason in left_out[:SHOWN_NAMES]:
        yield f"The report {path} is not kept: {reason}."
    if len(left_out) > SHOWN_NAMES:
        yield f"{len(left_out) - SHOWN_NAMES} more reports are not kept."


def _summarise(ignored: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Replace the files of a folder with one line for the folder if many are ignored for the same reason."""
    by_folder: dict[tuple[str, str], list[str]] = {}
    for path, reason in ignored:
        folder = path.split("/")[0] if "/" in path else ""
        by_folder.setdefault((folder, reason), []).append(path)
    for (folder, reason), paths in sorted(by_folder.items()):
        if folder and len(paths) > 3:
            rest = f"...{folder[0]}" if folder[0] in "'\"" else ""  # the name is quoted
            yield f"{folder}/{rest} ({len(paths)} files)", reason
        else:
            yield from ((path, reason) for path in sorted(paths))


def _listed(lines: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return at most MAX_LISTED lines; instead of the others, the last one says how many more there are."""
    every = list(lines)
    if len(every) <= MAX_LISTED:
        return every
    rest = len(every) - MAX_LISTED + 1
    return [*every[: MAX_LISTED - 1], (f"and {rest} more", "too many for a person to read")]
