"""`python -m grader unpack ARCHIVE FOLDER`: unpack a submission so that a person can repair it by hand.

It is read as grading reads it, within the same limits. Links and special files stay out: a file that is written into the folder
later can then not end up outside it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path, PurePosixPath

from common.errors import UsageError
from common.files import remove
from grader.pipeline.archive import open_source, read_blocks, take_in


def unpack(archive: Path, folder: Path) -> tuple[int, dict[str, str]]:
    """Write the files of a submission below a new or empty folder.

    Returns:
        The number of files, and path -> reason for everything that stays out.

    Raises:
        UsageError: the archive cannot be read or is too large, or the folder cannot take its files.
    """
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(f"expected a new or empty folder; {folder} is something else, and nothing was changed")
    with closing(open_source(archive)) as source:
        entries, limit = take_in(source, str(archive)), source.limits.unpacked_bytes
        if sum(member.size for member in entries.files.values()) > limit:
            raise UsageError(f"{archive} is too large: at most {limit >> 20} MiB are unpacked")
        refused = dict(entries.refused)
        folders = {parent.as_posix() for path in entries.files for parent in PurePosixPath(path).parents}
        files = {path: member for path, member in entries.files.items() if path not in folders}
        refused |= dict.fromkeys(entries.files.keys() - files.keys(), "its name is also the name of a folder")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for path, member in files.items():
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    file.writelines(read_blocks(member, f"{archive}: {path}"))
        except BaseException:
            remove(folder)
            raise
    return len(files), refused
