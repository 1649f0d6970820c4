"""A submission as it was handed in -> the files that count.

Real submissions are whole copies of the repository with binaries, caches, a modified Board, several engine versions and
notes, as a folder or in an archive, often one or two folders too deep. What the assignment collects is read into memory
here; everything else is listed with the reason and ignored. Links and special files are never followed, and an archive's
members are read by size-capped streams, never extracted, so a hostile name reaches no file system.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from grader.assignment import Assignment, matches
from grader.errors import UsageError

MAX_FILE_BYTES = 2 << 20
MAX_TOTAL_BYTES = 32 << 20
MAX_ENTRIES = 50_000
MAX_UNPACKED_BYTES = 1 << 30  # of a tar, whatever is in it
MAX_HEADER_BYTES = 1 << 16  # of a tar's long names and attributes
# What a workspace can hold on any file system, wherever it is laid out.
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 1000
MAX_DEPTH = 16
SHOWN_LETTERS = 80  # of a name that is too long
SHOWN_FOLDERS = 5
IGNORED_FOLDERS = {"__pycache__", ".git", ".venv", "venv", "node_modules", "__MACOSX", ".idea", ".vscode", "build"}
ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

# What the standard library raises on what cannot be read or is damaged.
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    LookupError,
    RuntimeError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
FILE, FOLDER, OTHER = "file", "folder", "link or special file"


@dataclass(frozen=True)
class Member:
    """One thing in a submission.

    Attributes:
        name: as the folder or archive has it.
        size: in bytes, of a file.
        kind: FILE, FOLDER or OTHER.
        place: what its source reads it by.
    """

    name: str
    size: int
    kind: str
    place: Any


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
    name = _printable(path.resolve().name)
    for suffix in sorted(ARCHIVE_SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix) and name[: -len(suffix)].strip("."):
            return name[: -len(suffix)]
    return name


def read_submission(path: Path, assignment: Assignment) -> Submission:
    """Read a folder or an archive.

    Raises:
        UsageError: the path is missing, no folder or known archive, damaged, or beyond the size caps.
    """
    kind: type[_Source]
    if path.is_dir():
        kind = _Folder
    elif path.is_file() and path.name.lower().endswith(ARCHIVE_SUFFIXES):
        kind = _Zip if path.name.lower().endswith(".zip") else _Tar
    elif path.exists():
        raise UsageError(f"expected a folder or one of {', '.join(ARCHIVE_SUFFIXES)}; got {path}: unpack it by hand first")
    else:
        raise UsageError(f"expected a submission at {path}; nothing is there")
    name = submission_name(path)
    with ExitStack() as opened:
        with _in_one_sentence(f"{path} {kind.failure}"):
            source = opened.enter_context(closing(kind(path)))
            members, refused = _take_in(name, source)
        return _select(name, source, members, refused, assignment)


def write_archive(files: Mapping[str, bytes], path: Path) -> None:
    """Write a .zip that `read_submission` reads."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(files):
            target.writestr(name, files[name])


@contextmanager
def _in_one_sentence(beginning: str) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise UsageError(f"{beginning}: {' '.join(str(error).split()) or type(error).__name__}") from error


def _take_in(name: str, source: _Source) -> tuple[dict[str, Member], dict[str, str]]:
    """The files by their plain paths, in the source's order; and what is not even looked at, with the reason."""
    members: dict[str, Member] = {}
    refused: dict[str, str] = {}
    for number, member in enumerate(source.members(), 1):
        if number > MAX_ENTRIES:
            raise UsageError(f"{name}: expected at most {MAX_ENTRIES} files and folders; there are more")
        path, reason = _plain_path(member.name, member.kind == FOLDER)
        if not reason and member.kind == OTHER:
            reason = "a link or special file"
        elif not reason and path in members:
            reason = "a second member of the same name"
        if reason:
            refused.setdefault(path, reason)
        elif member.kind == FILE:
            members[path] = member
    return members, refused


def _plain_path(name: str, folder: bool = False) -> tuple[str, str]:
    """A member's name as a relative path, and an empty reason; or what to list in its place, and why it is refused.

    A cache is refused by the folder's name, so that thousands of files are one line.
    """
    name = _printable(name)
    path = name.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    # Line breaks and what else a terminal would obey.
    control = any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in path)
    if path.startswith("/") or ".." in parts or ":" in parts[0] or control:
        return _shortened(repr(name)), "a name that leaves the archive's folder or is no plain path"
    for i, part in enumerate(parts if folder else parts[:-1], 1):
        if part in IGNORED_FOLDERS:
            return _shortened("/".join(parts[:i])) + "/", "cache or tool folder"
    path = "/".join(parts)
    longest = max(len(part.encode()) for part in parts)
    if len(parts) > MAX_DEPTH or len(path.encode()) > MAX_PATH_BYTES or longest > MAX_NAME_BYTES:
        return _shortened(path), "a name too long or folders too deep"
    return path, "a resource fork of macOS" if parts[-1].startswith("._") else ""


def _printable(name: str) -> str:
    """Bytes that are no UTF-8 (a name in GBK) come as lone surrogates, which no report can hold; here they are replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_PATH_BYTES else f"{name[:SHOWN_LETTERS]}..."


def _select(
    name: str, source: _Source, members: dict[str, Member], refused: dict[str, str], assignment: Assignment
) -> Submission:
    """Read what the assignment collects; list the rest."""
    root, notes = _find_root(members, assignment)
    prefix = f"{root}/" if root else ""
    file_names = (*assignment.collected, *assignment.framework)
    chosen: dict[str, Member] = {}
    reports, ignored = [], list(refused.items())
    for path, member in members.items():
        inside = path.startswith(prefix)
        relative = path[len(prefix) :] if inside else path
        if not inside or not assignment.is_collected(relative):
            if matches(relative, assignment.reports):
                reports.append(relative)
            elif inside and matches(relative, assignment.protected):
                ignored.append((relative, "handed out: the framework's own is used"))
            elif inside and matches(relative, assignment.framework):
                ignored.append((relative, "part of the framework: the clean one is used"))
            else:
                ignored.append((relative, "not collected by the assignment"))
        elif member.size > MAX_FILE_BYTES:
            ignored.append((relative, f"larger than {MAX_FILE_BYTES >> 20} MiB"))
        elif any(matches(parent.as_posix(), file_names) for parent in PurePosixPath(relative).parents):
            ignored.append((relative, "its folder is also the name of a file"))
        else:
            chosen[relative] = member
    if sum(member.size for member in chosen.values()) > MAX_TOTAL_BYTES:
        raise UsageError(f"{name}: the files that count are larger than {MAX_TOTAL_BYTES >> 20} MiB together")
    spelled: dict[str, str] = {}
    for relative in sorted(chosen):
        if (first := spelled.setdefault(relative.casefold(), relative)) != relative:
            ignored.append((relative, f"the same name as {first} where case does not count"))
            del chosen[relative]
    # In the source's order: going back in a compressed tar would unpack it anew for each file.
    files = {relative: _read(name, source, relative, member) for relative, member in chosen.items()}
    return Submission(name, dict(sorted(files.items())), tuple(sorted(reports)), tuple(_summarise(ignored)), tuple(notes))


def _read(name: str, source: _Source, relative: str, member: Member) -> bytes:
    with _in_one_sentence(f"{name}: {relative} {source.member_failure}"):
        content = source.read(member)
    if len(content) != member.size:
        raise UsageError(f"{name}: {relative} is not as long as it was listed; it is damaged or changes while it is read")
    return content


def _find_root(paths: Iterable[str], assignment: Assignment) -> tuple[str, list[str]]:
    """The folder inside the submission whose files match the assignment best; the shallowest among equals."""
    anchors = sorted({pattern.split("/")[0] for pattern in assignment.collected if "/" in pattern})
    candidates: set[str] = set()
    counts: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        for i, part in enumerate(parts):
            root = "/".join(parts[:i])
            if part in anchors:
                candidates.add(root)
            # A collected file begins with an anchor or lies in the root itself.
            if part in anchors or i == len(parts) - 1:
                counts[root] += assignment.is_collected("/".join(parts[i:]))
    if not candidates:
        return "", [f"No folder named {' or '.join(anchors)} was found."]
    best = min(candidates, key=lambda root: (-counts[root], root.count("/"), len(root), root))
    notes = [f"The submission's files were found in {best}/."] if best else []
    others = sorted(root or "." for root in candidates if root != best and counts[root])
    if len(others) > SHOWN_FOLDERS:
        others[SHOWN_FOLDERS:] = [f"{len(others) - SHOWN_FOLDERS} more folders"]
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
    """Where a submission's bytes come from; `failure` and `member_failure` end the sentence for one that cannot be read."""

    failure = "is not the archive that its name says, or is damaged"
    member_failure = "is damaged or encrypted"

    def __init__(self, path: Path) -> None:
        raise NotImplementedError

    def members(self) -> Iterator[Member]:
        """Everything in it, also folders, links and special files."""
        raise NotImplementedError

    def read(self, member: Member) -> bytes:
        """A file's content, at most a byte more than its size."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the file."""


class _Folder(_Source):
    failure = "cannot be read to its end"
    member_failure = "cannot be read"

    def __init__(self, path: Path) -> None:
        self.root = path

    def members(self) -> Iterator[Member]:
        folders = [""]
        while folders:
            folder = folders.pop()
            with os.scandir(self.root / folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
            for entry in entries:
                inside = f"{folder}{entry.name}"
                status = entry.stat(follow_symlinks=False)
                kind = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER}.get(stat.S_IFMT(status.st_mode), OTHER)
                yield Member(inside, status.st_size, kind, inside)
                if kind == FOLDER and not _plain_path(inside, folder=True)[1]:
                    folders.append(f"{inside}/")

    def read(self, member: Member) -> bytes:
        # O_NOFOLLOW and a byte more than listed: the folder may change between listing and reading.
        descriptor = os.open(self.root / member.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(member.size + 1)


class _Zip(_Source):
    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path)

    def members(self) -> Iterator[Member]:
        for info in self.archive.infolist():
            mode = stat.S_IFMT(info.external_attr >> 16)
            kind = FOLDER if info.is_dir() else FILE if mode in (0, stat.S_IFREG) else OTHER
            yield Member(info.filename, info.file_size, kind, info)

    def read(self, member: Member) -> bytes:
        # zipfile unpacks bzip2 and LZMA without a limit: 4 GiB from 3 KiB, whatever size is listed.
        if member.place.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError("expected the usual compression (deflate); pack it anew")
        with self.archive.open(member.place) as file:
            return file.read(member.size)

    def close(self) -> None:
        self.archive.close()


class _Tar(_Source):
    """A tar, compressed or not.

    The headers are tarfile's, the walk is not: tarfile ends silently at a damaged header, reads names of any length, and
    keeps every header in memory.
    """

    PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
    NO_DATA = (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
    OF_THE_NEXT = (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
    UNUSED = (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK)

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            magic = file.read(6)
        openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
        self.stream = next((openers[m] for m in openers if magic.startswith(m)), open)(path, "rb")

    def members(self) -> Iterator[Member]:
        records: dict[bytes, bytes] = {}
        while (block := self.stream.read(tarfile.BLOCKSIZE)) != bytes(tarfile.BLOCKSIZE):
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            start, size = self.stream.tell(), header.size
            if header.type in self.OF_THE_NEXT:
                if not 0 <= size <= MAX_HEADER_BYTES:
                    raise tarfile.ReadError(f"a name or attributes of {size} bytes")
                content = self.stream.read(size)
                records = {b"path": content} if header.type == tarfile.GNUTYPE_LONGNAME else _pax_records(content)
            elif header.type not in self.UNUSED:
                size = int(records.get(b"size", size))
                name = records.get(b"path", b"").split(b"\0")[0].decode("utf-8", "surrogateescape") or header.name
                sparse = any(key.startswith(b"GNU.sparse.") for key in records)
                kind = FOLDER if header.isdir() else FILE if header.type in self.PLAIN and not sparse else OTHER
                yield Member(name, size, kind, start)
                records = {}
            self._go_to(start, 0 if header.type in self.NO_DATA else size)
        while rest := self.stream.read(1 << 16):
            self._go_to(self.stream.tell(), 0)
            if rest.strip(b"\0"):
                raise tarfile.ReadError("data after its end")

    def _go_to(self, start: int, size: int) -> None:
        """Behind data of that size, which fill whole blocks."""
        end = start + -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        if size < 0 or end > MAX_UNPACKED_BYTES:
            raise tarfile.ReadError(f"a size of {size} bytes, where {MAX_UNPACKED_BYTES >> 20} MiB unpacked are the most")
        self.stream.seek(end)

    def read(self, member: Member) -> bytes:
        self.stream.seek(member.place)
        return self.stream.read(member.size)

    def close(self) -> None:
        self.stream.close()


def _pax_records(content: bytes) -> dict[bytes, bytes]:
    r"""The records `LENGTH KEY=VALUE\n` of an extended header (POSIX.1-2001, pax)."""
    records = {}
    at = 0
    while content[at : at + 1] not in (b"", b"\0"):
        length, _, _ = content[at : at + 10].partition(b" ")
        end = at + int(length)
        if not at < end <= len(content):
            raise tarfile.ReadError("an attribute of a length that cannot be")
        key, _, value = content[at + len(length) + 1 : end - 1].partition(b"=")
        records[key] = value
        at = end
    return records
