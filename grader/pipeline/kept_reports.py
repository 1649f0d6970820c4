"""Keep a student's reports beside the graded run, so that a marker need not unpack an untrusted archive.

The reports are written from memory as plain files, with names made of harmless characters. Files that a browser or a notebook
server would run or render, such as HTML, get the suffix `.txt`, so that they are shown as text.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from common.files import remove
from common.harmless_text import file_name

REPORTS = "reports"
# Files of these kinds open in a viewer, or as text.
PASSIVE = {".pdf", ".md", ".docx", ".doc", ".odt", ".txt", ".csv", ".tex", ".png", ".jpg", ".jpeg", ".gif", ".webp"}
MAX_CHARACTERS = 80  # in the name of a folder or file


def kept_names(names: Iterable[str]) -> dict[str, str]:
    """Return report -> relative path under which it is kept. No two paths are equal, even if case is ignored."""
    kept: dict[str, str] = {}
    files: set[str] = set()
    folders: set[str] = set()
    for name in sorted(names):
        *parents, file = name.split("/")
        stem, _, suffix = file.rpartition(".")
        suffix = f".{file_name(suffix, MAX_CHARACTERS)}" if stem else ""
        stem = file_name(stem or file, MAX_CHARACTERS)
        if suffix.lower() not in PASSIVE:
            suffix += ".txt"
        places = [file_name(parent, MAX_CHARACTERS) or "_" for parent in parents]
        above = {"/".join(places[: i + 1]).casefold() for i in range(len(places))}
        if above & files:
            places, above = [f"{'_'.join(places)} (2)"], set()
        place = "".join(f"{part}/" for part in places)
        path, number = f"{place}{stem or 'report'}{suffix}", 1
        while path.casefold() in files | folders:
            number += 1
            path = f"{place}{stem or 'report'} ({number}){suffix}"
        files.add(path.casefold())
        folders |= above
        kept[name] = path
    return kept


def write_reports(files: Mapping[str, bytes], folder: Path) -> None:
    """Write reports into `folder/reports`, replacing what was there; if there are no reports, remove that folder."""
    fresh, place = folder / f".{REPORTS}", folder / REPORTS
    remove(fresh)
    for name, path in kept_names(files).items():
        (fresh / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh / path).write_bytes(files[name])
    remove(place)
    if fresh.exists():
        fresh.rename(place)


def read_reports(folder: Path) -> dict[str, bytes]:
    """Return kept path -> content for each plain file in `folder/reports`; links are not followed."""
    found: dict[str, bytes] = {}
    waiting = [folder / REPORTS]
    while waiting:
        path = waiting.pop()
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(mode):
            waiting.extend(path.iterdir())
        elif stat.S_ISREG(mode):
            found[path.relative_to(folder / REPORTS).as_posix()] = path.read_bytes()
    return dict(sorted(found.items()))


def are_kept(files: Mapping[str, bytes], folder: Path) -> bool:
    """Return whether `folder/reports` holds exactly these reports."""
    return {path: files[name] for name, path in kept_names(files).items()} == read_reports(folder)


def copy_reports(run: Path, folder: Path) -> list[str]:
    """Copy the reports of a run to `folder/reports`, replacing what was there; return their paths below that folder."""
    files = read_reports(run)
    write_reports(files, folder)
    return list(files)
