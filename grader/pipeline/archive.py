"""List and read the entries of an archive or a folder, within limits and without unpacking it to disk.

Entries are counted before they are read, contents come through size-capped streams, and links and special files are never
followed. A hostile name or size therefore reaches neither the file system nor memory. The content of a file, not its name,
decides which kind of archive it is. Anything that cannot be read raises a UsageError with a one-sentence message.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from common.errors import UsageError
from grader.pipeline.archive_names import ARCHIVE_SUFFIXES, decoded, is_archive, plain_path
from grader.pipeline.xz import open_xz

MAX_ENTRIES = 50_000
MAX_UNPACKED_BYTES = 1 << 30  # limit for a whole tar
MAX_HEADER_BYTES = 1 << 16  # limit for a long name or the attributes in a tar
MAX_DIRECTORY_BYTES = 32 << 20  # limit for a zip's list of entries
MAX_INNER_BYTES = 128 << 20  # limit for an archive inside an archive
BLOCK_BYTES = 1 << 20  # read at once
DIRECTORY_ENTRY = b"PK\1\2"  # the first bytes of each entry in a zip's list
UTF8_NAME, ENCRYPTED = 0x800, 0x1  # bits in a zip entry's flags (APPNOTE.TXT, section 4.4.4)
OTHER_COMPRESSIONS = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd"}  # section 4.4.5
EXTENDED_TIMESTAMP = 0x5455  # in a zip entry's extra field (section 4.6.1)
NO_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # written by packers that do not know the time
MAX_TIME_S = 1 << 33  # of a tar's entry, which may claim any number
DOWNLOAD_AGAIN = "log in to the platform and download it again, or ask for the archive again"
CUT_OFF = "the end of the zip is missing, as after an interrupted upload or download; ask for it again"
PACK_LESS = "pack it without folders such as .venv"
ZIP64 = 0xFFFFFFFF  # in place of a number that needs more bits
OFFSET = slice(42, 46)  # of an entry in a zip's list: where the file begins (section 4.3.12)
AES = 99  # the compression method of an entry encrypted with AES
# The first bytes of archives of other kinds.
FOREIGN = {b"Rar!\x1a\x07": "a RAR archive", b"7z\xbc\xaf\x27\x1c": "a 7z archive"}
WEB_PAGE = (b"<!doctype html", b"<html")  # shown instead of a file to whoever is not logged in
TAR_READERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": open_xz}

# What the standard library raises for files that cannot be read or are damaged.
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
    MemoryError,
)
FILE, FOLDER, OTHER = "file", "folder", "link or special file"


@dataclass(frozen=True)
class Limits:
    """How much of a folder or archive is read.

    Attributes:
        entries: files and folders.
        unpacked_bytes: of a whole tar.
        directory_bytes: of a zip's list of entries.
    """

    entries: int
    unpacked_bytes: int
    directory_bytes: int


def submission_limits() -> Limits:
    """Return the limits for what one student hands in."""
    return Limits(MAX_ENTRIES, MAX_UNPACKED_BYTES, MAX_DIRECTORY_BYTES)


@dataclass(frozen=True)
class Member:
    """A file, folder, link or special file of a submission.

    Attributes:
        name: the name as written in the folder or archive.
        size: size in bytes, if the member is a file.
        kind: FILE, FOLDER or OTHER.
        place: what the source needs to read the member.
        source: the folder or archive that holds the member.
        modified: when the file was last changed, if the source says so; without a time zone if the source has none.
    """

    name: str
    size: int
    kind: str
    place: Any
    source: Source
    modified: datetime | None = None


@dataclass
class Entries:
    """What a folder or an archive holds.

    Attributes:
        files: plain path -> file, in the source's order. Reading a compressed tar in any other order would unpack it again
            for each file.
        twins: (plain path, file) for each further file with the same path, also in the source's order.
        refused: path -> reason, for each member that is not read.
    """

    files: dict[str, Member]
    twins: list[tuple[str, Member]]
    refused: dict[str, str]


def write_archive(files: Mapping[str, bytes], path: Path) -> None:
    """Write files (relative path -> content) to a .zip that can be read here."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(files):
            target.writestr(name, files[name])


def open_source(path: Path, limits: Limits | None = None) -> Source:
    """Open a folder or archive; the caller closes it.

    Args:
        limits: how much is read at most; by default what one student may hand in.

    Raises:
        UsageError: the path is missing, damaged, or neither a folder nor a known archive.
    """
    if path.is_dir():
        return Folder(path, limits)
    if path.is_file() and is_archive(path.name):
        with in_one_sentence(f"{path} cannot be read"):
            file = path.open("rb")
        return open_archive(file, str(path), limits)
    if path.exists():
        raise UsageError(
            f"expected a folder or one of {', '.join(ARCHIVE_SUFFIXES)}; got {path}: if it is an archive, unpack it by hand "
            "and grade the folder"
        )
    raise UsageError(f"expected a submission at {path}; nothing is there")


def open_archive(file: IO[bytes], name: str, limits: Limits | None = None) -> Source:
    """Open the archive in a seekable file.

    Closing the archive closes the file; after an error the file is closed at once.

    Raises:
        UsageError: the file is not an archive that can be read.
    """
    try:
        begin = file.read(64)
        file.seek(0)
        for magic, words in FOREIGN.items():
            if begin.startswith(magic):
                raise UsageError(
                    f"{name} is {words}, despite its name: unpack it by hand and grade the folder, or ask for a .zip"
                )
        if begin.removeprefix(codecs.BOM_UTF8).lstrip().lower().startswith(WEB_PAGE):
            raise UsageError(f"{name} is a web page (HTML), despite its name: {DOWNLOAD_AGAIN}")
        if not begin:
            raise UsageError(f"{name} {Source.failure}: it has 0 bytes; ask for it again")
        with in_one_sentence(f"{name} {Source.failure}"):
            if begin.startswith(b"PK\3\4") and not zipfile.is_zipfile(file):
                raise zipfile.BadZipFile(CUT_OFF)
            packed = begin.startswith(tuple(TAR_READERS))
            zipped = begin.startswith(b"PK") or (name.lower().endswith(".zip") and not packed)
            return Zip(file, name, limits) if zipped else Tar(file, name, limits)
    except BaseException:
        file.close()
        raise


def unpacked(member: Member, name: str) -> IO[bytes]:
    """Unpack an archive that lies inside an archive, into a temporary file without a name.

    Raises:
        UsageError: the inner archive is too large, damaged or encrypted.
    """
    if member.size > MAX_INNER_BYTES:
        raise UsageError(f"{name} is larger than {MAX_INNER_BYTES >> 20} MiB: unpack it by hand and grade the folder")
    file = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    try:
        file.write(read_member(member, name))
        file.seek(0)
        return file
    except BaseException:
        file.close()
        raise


def read_member(member: Member, name: str) -> bytes:
    """Return a file's content.

    Raises:
        UsageError: the file is damaged or encrypted.
    """
    return b"".join(read_blocks(member, name))


def read_blocks(member: Member, name: str) -> Iterator[bytes]:
    """Yield a file's content in blocks, so that a large file need not be in memory at once.

    Raises:
        UsageError: the file is damaged or encrypted.
    """
    size = 0
    with in_one_sentence(f"{name} cannot be read"):
        for block in member.source.blocks(member):
            size += len(block)
            yield block
    if size != member.size:
        raise UsageError(
            f"{name} should have {member.size} bytes but has a different length: it is damaged, or changed while it was read"
        )


@contextmanager
def in_one_sentence(beginning: str) -> Iterator[None]:
    """Turn whatever reading raises into a UsageError whose message starts with `beginning`."""
    try:
        yield
    except UNREADABLE as error:
        raise UsageError(f"{beginning}: {' '.join(str(error).split()) or type(error).__name__}") from error


def take_in(source: Source, name: str) -> Entries:
    """List the entries of a folder or archive.

    Raises:
        UsageError: the source cannot be read to the end, or has more entries than its limits allow.
    """
    found = Entries({}, [], {})
    with in_one_sentence(f"{name} {source.failure}"):
        for number, member in enumerate(source.members(), 1):
            if number > source.limits.entries:
                raise _too_many(name, source.limits)
            path, reason = plain_path(member.name, member.kind == FOLDER)
            if not reason and member.kind == OTHER:
                reason = "a link or special file"
            elif not reason and path in found.files:
                found.twins.append((path, member))
                reason = "a second member of the same name"
            if reason:
                found.refused.setdefault(path, reason)
            elif member.kind == FILE:
                found.files[path] = member
    return found


def _too_many(name: str, limits: Limits) -> UsageError:
    return UsageError(f"expected at most {limits.entries} files and folders in {name}; it holds more: {PACK_LESS}")


def _up_to(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (block := file.read(min(size, BLOCK_BYTES))):
        size -= len(block)
        yield block


class Source:
    """A folder or archive that a submission is read from; `failure` completes the message if it cannot be read."""

    failure = "is damaged, or is not the kind of archive that its name says"

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or submission_limits()

    def members(self) -> Iterator[Member]:
        """Yield everything in the source, including folders, links and special files."""
        raise NotImplementedError

    def blocks(self, member: Member) -> Iterator[bytes]:
        """Yield a file's content in blocks, reading at most one byte more than its listed size."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""


class Folder(Source):
    """A folder of the file system."""

    failure = "cannot be read to the end"

    def __init__(self, path: Path, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.root = path

    def members(self) -> Iterator[Member]:
        folders = [""]
        while folders:
            folder = folders.pop()
            with os.scandir(self.root / folder) as found:
                entries = sorted(islice(found, self.limits.entries + 1), key=lambda entry: entry.name)
            for entry in entries:
                inside = f"{folder}{entry.name}"
                status = entry.stat(follow_symlinks=False)
                kind = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER}.get(stat.S_IFMT(status.st_mode), OTHER)
                yield Member(inside, status.st_size, kind, inside, self, _time(int(status.st_mtime)))
                if kind == FOLDER and not plain_path(inside, folder=True)[1]:
                    folders.append(f"{inside}/")

    def blocks(self, member: Member) -> Iterator[bytes]:
        # O_NOFOLLOW, and one byte more than listed: the folder may change between listing and reading.
        descriptor = os.open(self.root / member.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            yield from _up_to(file, member.size + 1)


class _Counted(io.BufferedReader):
    """A file that counts the entries of a zip before zipfile reads their whole list at once and makes an object for each."""

    def __init__(self, raw: io.FileIO, name: str, limits: Limits) -> None:
        super().__init__(raw)
        self.name_shown, self.limits = name, limits
        self.listing = True

    def read(self, size: int | None = -1, /) -> bytes:
        if self.listing and size is not None and size > self.limits.directory_bytes:
            raise _too_many(self.name_shown, self.limits)
        data = super().read(size)
        if self.listing and data.count(DIRECTORY_ENTRY) > self.limits.entries:
            raise _too_many(self.name_shown, self.limits)
        return data


class Zip(Source):
    """A .zip of stored or deflated files."""

    def __init__(self, file: IO[bytes], name: str, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.file = _Counted(io.FileIO(os.dup(file.fileno()), "rb"), name, self.limits)
        file.close()
        try:
            self.archive = zipfile.ZipFile(self.file)
            if _is_list_of_an_inner_zip(self.file, self.archive):
                raise zipfile.BadZipFile(CUT_OFF)
        except BaseException:
            self.file.close()
            raise
        self.file.listing = False

    def members(self) -> Iterator[Member]:
        for info in self.archive.infolist():
            mode = stat.S_IFMT(info.external_attr >> 16)
            kind = FOLDER if info.is_dir() else FILE if mode in (0, stat.S_IFREG) else OTHER
            name = info.filename
            if not info.flag_bits & UTF8_NAME and not name.isascii():
                # zipfile decodes every name without the flag as code page 437, in which any bytes are valid.
                name = decoded(name.encode("cp437"), "cp437")
            yield Member(name, info.file_size, kind, info, self, _zip_time(info))

    def blocks(self, member: Member) -> Iterator[bytes]:
        info: zipfile.ZipInfo = member.place
        if info.flag_bits & ENCRYPTED:
            way = " with AES" if info.compress_type == AES else ""
            raise NotImplementedError(f"it is encrypted{way}; ask for an archive without a password")
        # zipfile unpacks bzip2 and LZMA without a limit: 3 KiB can become 4 GiB, whatever size is listed.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            way = OTHER_COMPRESSIONS.get(info.compress_type, f"number {info.compress_type}")
            raise NotImplementedError(f"expected the usual compression (deflate); this is {way}, so pack it again")
        try:
            with self.archive.open(info) as file:
                yield from _up_to(file, member.size)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise zipfile.BadZipFile(f"it is damaged ({error}); ask for the archive again") from error

    def close(self) -> None:
        self.archive.close()
        self.file.close()


class Tar(Source):
    """A tar archive, compressed or not.

    tarfile decodes the headers, but the walk over them is written here: tarfile stops silently at a damaged header, reads
    names of any length, and keeps every header in memory.
    """

    PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
    NO_DATA = (tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE)
    OF_THE_NEXT = (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
    UNUSED = (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK)

    def __init__(self, file: IO[bytes], name: str, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self.file, self.name, begin = file, name, file.read(6)
        file.seek(0)
        reader = next((TAR_READERS[magic] for magic in TAR_READERS if begin.startswith(magic)), None)
        self.stream: IO[bytes] = reader(file, "rb") if reader else file

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
                yield Member(name, size, kind, start, self, _time(int(header.mtime)))
                records = {}
            self._go_to(start, 0 if header.type in self.NO_DATA else size)
        while rest := self.stream.read(1 << 16):
            self._go_to(self.stream.tell(), 0)
            if rest.strip(b"\0"):
                raise tarfile.ReadError("data after the end of the tar")

    def _go_to(self, start: int, size: int) -> None:
        """Skip `size` bytes of data that begin at `start` and are padded to whole blocks."""
        if size < 0:
            raise tarfile.ReadError(f"a size of {size} bytes")
        end = start + -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        if end > self.limits.unpacked_bytes:
            raise UsageError(f"{self.name}: at most {self.limits.unpacked_bytes >> 20} MiB are unpacked; {PACK_LESS}")
        self.stream.seek(end)

    def blocks(self, member: Member) -> Iterator[bytes]:
        self.stream.seek(member.place)
        yield from _up_to(self.stream, member.size)

    def close(self) -> None:
        self.stream.close()
        self.file.close()


def _time(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds < MAX_TIME_S else None


def _is_list_of_an_inner_zip(file: IO[bytes], archive: zipfile.ZipFile) -> bool:
    """Return whether zipfile found the list of a stored zip inside this one, whose own list was cut off.

    zipfile takes the last list in the file, and whatever lies before that archive for a program that unpacks it. Such a program
    does not begin like a zip. In that case zipfile has moved the offset of each entry.
    """
    file.seek(0)
    begins_as_zip = file.read(4) == b"PK\3\4"
    file.seek(archive.start_dir)
    entry = file.read(46)
    if not begins_as_zip:
        return False
    if not entry.startswith(DIRECTORY_ENTRY):
        return True  # an empty list, although a file comes first
    listed = int.from_bytes(entry[OFFSET], "little")
    return listed < ZIP64 and listed != archive.infolist()[0].header_offset


def _zip_time(info: zipfile.ZipInfo) -> datetime | None:
    """Return when an entry of a zip was last changed: with a time zone if the packer added an extended timestamp."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == EXTENDED_TIMESTAMP and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            return _time(struct.unpack_from("<I", extra, 5)[0])
        extra = extra[4 + size :]
    try:
        return datetime(*info.date_time) if info.date_time > NO_ZIP_TIME else None
    except ValueError:
        return None


def _pax_records(content: bytes) -> dict[bytes, bytes]:
    r"""Parse the records `LENGTH KEY=VALUE\n` of an extended header (POSIX.1-2001, pax)."""
    records = {}
    at = 0
    while content[at : at + 1] not in (b"", b"\0"):
        length, _, _ = content[at : at + 10].partition(b" ")
        end = at + int(length)
        if not at < end <= len(content):
            raise tarfile.ReadError("an attribute with an impossible length")
        key, _, value = content[at + len(length) + 1 : end - 1].partition(b"=")
        records[key] = value
        at = end
    return records
