"""Pack a submission as students do: in every usual kind of archive, some odd and some unreadable.

The same files give the same bytes: entries are sorted and have the given time.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

Files = Mapping[str, bytes]
GBK_FOLDER = "作业"
PLACEHOLDER = "\1\2\3\4"  # as many bytes as GBK_FOLDER in GBK; zipfile itself writes only ASCII and UTF-8
MACOS = {"__MACOSX/._gomoku": b"\0\5\x16\7", "gomoku/.DS_Store": b"\0\0\0\1Bud1", "gomoku/Minimax/._engine.cpp": b"\0\5\x16\7"}
WINDOWS = {"Thumbs.db": b"\xd0\xcf\x11\xe0", "desktop.ini": b"[.ShellClassInfo]\r\n"}


@dataclass(frozen=True)
class Packing:
    """A kind of archive.

    Attributes:
        suffix: the suffix of the archive's name.
        pack: function that packs files, with the time of their entries.
        readable: whether grading can read it.
    """

    name: str
    suffix: str
    pack: Callable[[Files, datetime], bytes]
    readable: bool = True


def zipped(files: Files, time: datetime) -> bytes:
    """Return a .zip of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, time.timetuple()[:6])
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[path])
    return content.getvalue()


def tarred(files: Files, time: datetime) -> bytes:
    """Return an uncompressed .tar of these files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(files):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime = len(files[path]), int(time.timestamp())
            archive.addfile(entry, io.BytesIO(files[path]))
    return content.getvalue()


def below(folder: str, files: Files) -> dict[str, bytes]:
    """Return the files inside a folder."""
    return {f"{folder}/{path}": content for path, content in files.items()}


def _tar_gz(files: Files, time: datetime) -> bytes:
    return gzip.compress(tarred(files, time), mtime=0)


def _lower_case(files: Files, time: datetime) -> bytes:
    return zipped({_lower_folder(path): content for path, content in files.items()}, time)


def _lower_folder(path: str) -> str:
    folder, slash, rest = path.partition("/")
    return folder.lower() + slash + rest if slash else path


def _side_by_side(files: Files, time: datetime) -> bytes:
    engine = {path: content for path, content in files.items() if path.startswith("Minimax/")}
    others = {path: content for path, content in files.items() if path not in engine}
    return zipped(below("part1", engine) | below("part2", others), time)


def _gbk(files: Files, time: datetime) -> bytes:
    return zipped(below(PLACEHOLDER, files), time).replace(PLACEHOLDER.encode(), GBK_FOLDER.encode("gbk"))


def _cut_off(files: Files, time: datetime) -> bytes:
    content = zipped(files, time)
    return content[: len(content) * 6 // 10]


PACKINGS = (
    Packing("plain zip", ".zip", zipped),
    Packing("wrapped in a folder", ".zip", lambda files, time: zipped(below("gomoku-main", files), time)),
    Packing("macOS leftovers", ".zip", lambda files, time: zipped(below("gomoku", files) | MACOS, time)),
    Packing("Windows leftovers", ".zip", lambda files, time: zipped({**files, **WINDOWS}, time)),
    Packing("tar.gz", ".tar.gz", _tar_gz),
    Packing("tar", ".tar", tarred),
    Packing("zip in a zip", ".zip", lambda files, time: zipped({"gomoku.zip": zipped(files, time)}, time)),
    Packing("nested folders", ".zip", lambda files, time: zipped(below("home/me/五子棋", files), time)),
    Packing("GBK names", ".zip", _gbk),
    Packing("lower case", ".zip", _lower_case),
    Packing("parts side by side", ".zip", _side_by_side),
    Packing("tar.gz named .zip", ".zip", _tar_gz),
    Packing("cut off", ".zip", _cut_off, readable=False),
    Packing("RAR named .zip", ".zip", lambda files, time: b"Rar!\x1a\x07\x01\x00" + bytes(60), readable=False),
    Packing("empty file", ".zip", lambda files, time: b"", readable=False),
)
