"""A submission as it was handed in -> the files that count.

Real submissions are whole copies of the repository with binaries, caches, a modified Board, several engine versions and
notes, as a folder or in an archive, often one or two folders too deep. What the assignment collects is read into memory
here; everything else is listed with the reason and ignored. Links and special files are never followed, and an archive's
members are read by size-capped streams, never extracted, so a hostile name reaches no file system.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.assignment import Assignment, matches
from grader.errors import UsageError

MAX_FILE_BYTES = 2 << 20
MAX_TOTAL_BYTES = 32 << 20
MAX_ENTRIES = 50_000
IGNORED_FOLDERS = {"__pycache__", ".git", ".venv", "venv", "node_modules", "__MACOSX", ".idea", ".vscode", "build"}
ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


@dataclass(frozen=True)
class Entry:
    """One regular file of a submission before selection; `read` is done only if it is collected."""

    path: str
    size: int


@dataclass(frozen=True)
class Submission:
    """What counts of a submission.

    Attributes:
        name: of the folder or archive, for the report.
        files: relative path with forward slashes -> content, sorted by path.
        reports: files for a person to read, by path (not run, not copied).
        ignored: (path, reason) of what does not count; whole ignored folders are one line.
        notes: sentences for the report about how the submission was read.
    """

    name: str
    files: dict[str, bytes]
    reports: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """sha256 over names and contents of the collected files: the same work gives the same digest."""
        total = hashlib.sha256()
        for path, content in self.files.items():
            total.update(f"{len(path)} {path} {len(content)} ".encode())
            total.update(content)
        return total.hexdigest()


def submission_name(path: Path) -> str:
    """The name that results are filed under: the archive's or folder's name without its suffix."""
    name = path.resolve().name
    for suffix in sorted(ARCHIVE_SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def read_submission(path: Path, assignment: Assignment) -> Submission:
    """Read a folder or an archive.

    Raises:
        UsageError: the path is missing, no folder or known archive, damaged, or beyond the size caps.
    """
    if path.is_dir():
        source: _Source = _Folder(path)
    elif path.is_file() and path.name.lower().endswith(ARCHIVE_SUFFIXES):
        source = _open_archive(path)
    elif path.exists():
        raise UsageError(f"expected a folder or one of {', '.join(ARCHIVE_SUFFIXES)}; got {path}: unpack it by hand first")
    else:
        raise UsageError(f"expected a submission at {path}; nothing is there")
    return _select(submission_name(path), source, assignment)


def _select(name: str, source: _Source, assignment: Assignment) -> Submission:
    try:
        entries = list(source.entries())
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise UsageError(f"{name} cannot be read to its end: {error}") from error
    root, notes = _find_root([entry.path for entry in entries], assignment)
    prefix = f"{root}/" if root else ""
    chosen: list[tuple[str, Entry]] = []
    reports, ignored = [], list(source.refused)
    for entry in entries:
        inside = entry.path.startswith(prefix)
        relative = entry.path[len(prefix) :] if inside else entry.path
        if not inside or not assignment.is_collected(relative):
            if matches(relative, assignment.reports):
                reports.append(relative)
            elif inside and matches(relative, assignment.protected):
                ignored.append((relative, "handed out: the framework's own is used"))
            elif inside and matches(relative, assignment.framework):
                ignored.append((relative, "part of the framework: the clean one is used"))
            else:
                ignored.append((relative, "not collected by the assignment"))
        elif entry.size > MAX_FILE_BYTES:
            ignored.append((relative, f"larger than {MAX_FILE_BYTES >> 20} MiB"))
        else:
            chosen.append((relative, entry))
    if sum(entry.size for _, entry in chosen) > MAX_TOTAL_BYTES:
        raise UsageError(f"{name}: the files that count are larger than {MAX_TOTAL_BYTES >> 20} MiB together")
    files: dict[str, bytes] = {}
    spelled: dict[str, str] = {}
    for relative, entry in sorted(chosen, key=lambda pair: pair[0]):
        folded = relative.casefold()
        if folded in spelled:
            ignored.append((relative, f"the same name as {spelled[folded]} where case does not count"))
            continue
        if any(parent in files for parent in _parents(relative)):
            ignored.append((relative, "its folder is also the name of a file"))
            continue
        spelled[folded] = relative
        files[relative] = source.read(entry)
    return Submission(name, files, tuple(sorted(reports)), tuple(_summarise(ignored)), tuple(notes))


def _find_root(paths: list[str], assignment: Assignment) -> tuple[str, list[str]]:
    """The folder inside the submission whose files match the assignment best; the shallowest among equals."""
    anchors = sorted({pattern.split("/")[0] for pattern in assignment.collected if "/" in pattern})
    candidates = {
        "/".join(parts[:i]) for parts in (p.split("/") for p in paths) for i, part in enumerate(parts) if part in anchors
    }
    if not candidates:
        return "", [f"No folder named {' or '.join(anchors)} was found."]

    def count(root: str) -> int:
        prefix = f"{root}/" if root else ""
        return sum(p.startswith(prefix) and assignment.is_collected(p[len(prefix) :]) for p in paths)

    best = min(candidates, key=lambda root: (-count(root), root.count("/"), len(root), root))
    notes = [f"The submission's files were found in {best}/."] if best else []
    others = sorted(c or "." for c in candidates if c != best and count(c))
    if others:
        notes.append(f"Files of the assignment were also found in {', '.join(others)}, which were not used.")
    return best, notes


def _summarise(ignored: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Whole folders in place of their files where all of them are ignored for the same reason."""
    by_folder: dict[tuple[str, str], list[str]] = {}
    for path, reason in ignored:
        folder = path.split("/")[0] if "/" in path else ""
        by_folder.setdefault((folder, reason), []).append(path)
    for (folder, reason), paths in sorted(by_folder.items()):
        if folder and len(paths) > 3:
            yield f"{folder}/ ({len(paths)} files)", reason
        else:
            yield from ((path, reason) for path in sorted(paths))


class _Source:
    """Where a submission's bytes come from; `refused` collects what was not even looked at."""

    refused: list[tuple[str, str]]

    def entries(self) -> Iterator[Entry]:
        raise NotImplementedError

    def read(self, entry: Entry) -> bytes:
        raise NotImplementedError

    def _keep(self, path: str) -> bool:
        """Refuse caches and tools' folders by name, so that thousands of files are one line."""
        for part in PurePosixPath(path).parts[:-1]:
            if part in IGNORED_FOLDERS:
                place = path[: path.index(part) + len(part)] + "/"
                if (place, "cache or tool folder") not in self.refused:
                    self.refused.append((place, "cache or tool folder"))
                return False
        return True


class _Folder(_Source):
    def __init__(self, root: Path) -> None:
        self.root = root
        self.refused = []

    def entries(self) -> Iterator[Entry]:
        count = 0
        for folder, names, files in os.walk(self.root, followlinks=False):
            here = Path(folder)
            for name in list(names):
                inside = (here / name).relative_to(self.root).as_posix()
                if (here / name).is_symlink():
                    names.remove(name)
                    self.refused.append((inside, "a link"))
                elif not self._keep(f"{inside}/x"):
                    names.remove(name)
            for name in files:
                count += 1
                if count > MAX_ENTRIES:
                    raise UsageError(f"{self.root.name}: expected at most {MAX_ENTRIES} files; there are more")
                inside = (here / name).relative_to(self.root).as_posix()
                status = os.lstat(here / name)
                if stat.S_ISREG(status.st_mode):
                    yield Entry(inside, status.st_size)
                else:
                    self.refused.append((inside, "a link or special file"))

    def read(self, entry: Entry) -> bytes:
        # O_NOFOLLOW and the second size check: the folder may change between listing and reading.
        descriptor = os.open(self.root / entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise UsageError(f"{entry.path} grew while it was read; hand in a folder that nobody writes to")
        return content


class _Archive(_Source):
    """Members by name; the two formats differ only in how they list and stream."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refused = []
        self.members: dict[str, zipfile.ZipInfo | tarfile.TarInfo] = {}

    def list_members(self) -> Iterator[tuple[str, int, bool, zipfile.ZipInfo | tarfile.TarInfo]]:
        """(name, size, is a regular file, member) of everything but folders."""
        raise NotImplementedError

    def stream(self, member: zipfile.ZipInfo | tarfile.TarInfo, limit: int) -> bytes:
        raise NotImplementedError

    def entries(self) -> Iterator[Entry]:
        for number, (name, size, regular, member) in enumerate(self.list_members()):
            if number >= MAX_ENTRIES:
                raise UsageError(f"{self.path.name}: expected at most {MAX_ENTRIES} members; there are more")
            path = _safe_name(name)
            if path is None:
                self.refused.append((repr(name), "a name that leaves the archive's folder or is no plain path"))
            elif not regular:
                self.refused.append((path, "a link or special file"))
            elif path in self.members:
                self.refused.append((path, "a second member of the same name"))
            elif self._keep(path):
                self.members[path] = member
                yield Entry(path, size)

    def read(self, entry: Entry) -> bytes:
        try:
            content = self.stream(self.members[entry.path], MAX_FILE_BYTES + 1)
        except (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            raise UsageError(f"{self.path.name}: {entry.path} is damaged or encrypted: {error}") from error
        if len(content) > MAX_FILE_BYTES:
            raise UsageError(f"{self.path.name}: {entry.path} is larger than its header says")
        return content


class _Zip(_Archive):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.archive = zipfile.ZipFile(path)

    def list_members(self) -> Iterator[tuple[str, int, bool, zipfile.ZipInfo]]:
        for member in self.archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if not member.is_dir():
                yield member.filename, member.file_size, kind in (0, stat.S_IFREG), member

    def stream(self, member: zipfile.ZipInfo | tarfile.TarInfo, limit: int) -> bytes:
        assert isinstance(member, zipfile.ZipInfo)
        with self.archive.open(member) as file:
            return file.read(limit)


class _Tar(_Archive):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.archive = tarfile.open(path)  # noqa: SIM115 (lives as long as the source)

    def list_members(self) -> Iterator[tuple[str, int, bool, tarfile.TarInfo]]:
        for member in self.archive:
            if not member.isdir():
                yield member.name, member.size, member.isreg(), member

    def stream(self, member: zipfile.ZipInfo | tarfile.TarInfo, limit: int) -> bytes:
        assert isinstance(member, tarfile.TarInfo)
        file = self.archive.extractfile(member)
        return file.read(limit) if file else b""


def _open_archive(path: Path) -> _Archive:
    try:
        return _Zip(path) if path.name.lower().endswith(".zip") else _Tar(path)
    except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, ValueError) as error:
        raise UsageError(f"{path} is not the archive that its name says, or is damaged: {error}") from error


def _parents(path: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(path).parents]


def _safe_name(name: str) -> str | None:
    """A member's name as a plain relative path, or None for one that is not."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or not parts or ":" in parts[0] or not name.isprintable():
        return None
    return "/".join(parts)
