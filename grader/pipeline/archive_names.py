"""The names of files in archives: decoded, made plain relative paths, or refused with the reason."""

from __future__ import annotations

import unicodedata

# Paths within these limits can be written on any file system, below any folder.
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 1000
MAX_DEPTH = 16
SHOWN_CHARACTERS = 80  # shown of a name that is too long
IGNORED_FOLDERS = {
    *("__pycache__", ".git", ".venv", "venv", "node_modules", "__MACOSX", ".idea", ".vscode", "build"),
    ".ipynb_checkpoints",  # Jupyter's copies of notebooks as they were saved before
}
ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def is_archive(name: str) -> bool:
    """Return whether a file's name is that of an archive that can be read here."""
    return bool(archive_suffix(name))


def archive_suffix(name: str) -> str:
    """Return the archive suffix with which a name ends, in lower case; an empty string if there is none."""
    return max((suffix for suffix in ARCHIVE_SUFFIXES if name.lower().endswith(suffix)), key=len, default="")


def without_suffix(name: str) -> str:
    """Return an archive's name without its archive suffix; a name of which only dots would be left stays as it is."""
    bare = name.removesuffix(name[len(name) - len(archive_suffix(name)) :])
    return bare if bare.strip(".") else name


def plain_path(name: str, folder: bool = False) -> tuple[str, str]:
    """Convert a member's name to a plain relative path.

    Returns:
        The path and an empty string; for a refused member, the text under which it is listed and the reason. A cache is
        listed by its folder, so that thousands of files take up one line.
    """
    name = readable(name)
    path = name.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    # Line breaks and other characters that a terminal would act on.
    control = any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in path)
    if path.startswith("/") or ".." in parts or ":" in parts[0] or control:
        return _shortened(repr(name)), "a name that leads out of the archive's folder or is not a plain path"
    for i, part in enumerate(parts if folder else parts[:-1], 1):
        if part in IGNORED_FOLDERS:
            return _shortened("/".join(parts[:i])) + "/", "cache or tool folder"
    path = "/".join(parts)
    longest = max(len(part.encode()) for part in parts)
    if len(parts) > MAX_DEPTH or len(path.encode()) > MAX_PATH_BYTES or longest > MAX_NAME_BYTES:
        return _shortened(path), "the name is too long or the folders are nested too deep"
    return path, "a resource fork of macOS" if parts[-1].startswith("._") else ""


def readable(name: str) -> str:
    """Return a name as valid text. Bytes that are not UTF-8 (lone surrogates in `name`) are decoded as GBK or else replaced."""
    raw = name.encode("utf-8", "surrogateescape")
    return decoded(raw, "utf-8", errors="replace")


def decoded(raw: bytes, otherwise: str, errors: str = "strict") -> str:
    """Decode the bytes of a file's name: as UTF-8, as GBK (used by Chinese editions of Windows), or else as `otherwise`.

    Almost any bytes are valid GBK. A name counts as GBK only if it holds a character of the older GB 2312. Both bytes of
    such a character lie above 0xA0, which two accented letters side by side seldom do.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        name = raw.decode("gbk")
    except UnicodeDecodeError:
        return raw.decode(otherwise, errors)
    chinese = any(ord(character) > 0x2E7F and character.encode("gb2312", "ignore") for character in name)
    return name if chinese else raw.decode(otherwise, errors)


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_PATH_BYTES else f"{name[:SHOWN_CHARACTERS]}..."


def repaired(name: str) -> str:
    """Return a name whose bytes were taken for code page 437 when it was unpacked, decoded correctly; or the name itself."""
    try:
        return name if name.isascii() else decoded(name.encode("cp437"), "cp437")
    except UnicodeEncodeError:
        return name
