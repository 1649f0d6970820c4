"""A student's reports beside the run that graded the programs: a marker reads them without unpacking an untrusted archive.

They are written from memory as plain files below names made of harmless characters. What a browser or a notebook server
would run or render, such as HTML, gets `.txt` behind its name, so that it is shown as text.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

REPORTS = "reports"
# Shown by their own programs, or as text.
PASSIVE = {".pdf", ".md", ".docx", ".doc", ".odt", ".txt", ".csv", ".tex", ".png", ".jpg", ".jpeg", ".gif", ".webp"}
MAX_LETTERS = 80  # of a folder's or file's name
ALLOWED_SIGNS = "-_.()+, "


def kept_names(names: Iterable[str]) -> dict[str, str]:
    """Report -> the relative path that it is kept under; no two are the same, also where case does not count."""
    kept: dict[str, str] = {}
    files: set[str] = set()
    folders: set[str] = set()
    for name in sorted(names):
        *parents, file = name.split("/")
        stem, _, suffix = file.rpartition(".")
        stem, suffix = (_clean(stem), f".{_clean(suffix)}") if stem else (_clean(file), "")
        if suffix.lower() not in PASSIVE:
            suffix += ".txt"
        places = [_clean(parent) or "_" for parent in parents]
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


def _clean(name: str) -> str:
    """A name that no shell, browser or file system takes for anything else, without a dot at its beginning."""
    letters = "".join(c if c.isalnum() or c in ALLOWED_SIGNS else "_" for c in name)
    return letters[:MAX_LETTERS].strip(" .").lstrip("-")


def write_reports(files: Mapping[str, bytes], folder: Path) -> None:
    """Write reports into `folder/reports`, in place of what was there; none leave no folder."""
    fresh, place = folder / f".{REPORTS}", folder / REPORTS
    _remove(fresh)
    for name, path in kept_names(files).items():
        (fresh / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh / path).write_bytes(files[name])
    _remove(place)
    if fresh.exists():
        fresh.rename(place)


def _remove(place: Path) -> None:
    """A folder with all that it holds, or the link in its place."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


def read_reports(folder: Path) -> dict[str, bytes]:
    """Kept path -> content, of the plain files in `folder/reports`; links are not followed."""
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
    """Whether exactly these reports are in `folder/reports`."""
    return {path: files[name] for name, path in kept_names(files).items()} == read_reports(folder)


def copy_reports(run: Path, folder: Path) -> list[str]:
    """Put the reports of a run into `folder/reports`, in place of what was there; returns their paths below that."""
    files = read_reports(run)
    write_reports(files, folder)
    return list(files)
