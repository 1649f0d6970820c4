"""Read an .xz file with a limit on memory, which `lzma.open` does not offer.

The header of such a file names the size of its dictionary, up to 4 GiB, and reading takes as much memory.
"""

from __future__ import annotations

import io
import lzma
import os
from typing import IO, Any

MEMORY_BYTES = 128 << 20  # `xz -9` needs 65 MiB
BLOCK_BYTES = 1 << 16


class XzReader(io.RawIOBase):
    """The content of an .xz file, which may consist of several streams. Seeking back starts again from the beginning.

    Reading raises lzma.LZMAError if the file is damaged or needs more memory than MEMORY_BYTES, and EOFError if it was cut off.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rewind()

    def _rewind(self) -> None:
        self._file.seek(0)
        self._position, self._packed = 0, b""
        self._stream: lzma.LZMADecompressor | None = None  # None before each stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Put some bytes into the buffer and return their number; 0 at the end."""
        data = b""
        while not data and len(buffer):
            if self._stream is None:
                packed, self._packed = self._packed or self._file.read(BLOCK_BYTES), b""
                if not packed:
                    break
                if not (packed := packed.lstrip(b"\0")):  # between streams there may be zeros
                    continue
                self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_BYTES)
            elif not self._stream.needs_input:
                packed = b""
            elif not (packed := self._file.read(BLOCK_BYTES)):
                raise EOFError("the end of the file is missing")
            data = self._stream.decompress(packed, len(buffer))
            if self._stream.eof:
                self._packed, self._stream = self._stream.unused_data, None
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place counted from the beginning; a place behind the end becomes the end."""
        if whence != os.SEEK_SET:
            raise io.UnsupportedOperation("expected a place counted from the beginning")
        if offset < self._position:
            self._rewind()
        while self._position < offset and self.read(min(BLOCK_BYTES, offset - self._position)):
            pass
        return self._position


def open_xz(file: IO[bytes], mode: str = "rb") -> io.BufferedReader:
    """Return the content of an .xz file as a stream; closing it leaves the file open."""
    return io.BufferedReader(XzReader(file), 1 << 17)
