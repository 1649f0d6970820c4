"""The kit that students get: the files that `[release]` of assignment.toml allows, as a folder and as a .zip.

The kit also holds the bank of expected values (`grader.instructor.bank`), which is made for each release and with which a
student's checks compare. Before anything is written, the kit is searched for leaks: markers and lines of the solution, copies
of an instructor's file, paths to the instructor's folder, links, caches, binaries, and files that are not on the allow-list.
On one machine, the same tree and seed give the same bytes: names are sorted, times and modes are fixed, and the .zip is not
compressed, because the output of a compressor depends on its version.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from operator import itemgetter
from pathlib import Path, PurePosixPath

from arena.engine.cores import available_cores
from common.errors import UsageError
from common.files import remove
from grader.assignment import INSTRUCTOR, ROOT, Assignment, matches
from grader.assignment_file import load_named
from grader.instructor import handout
from grader.instructor.bank import CASES
from grader.instructor.stubs import BEGIN, END, RESEMBLING, make_stub
from grader.instructor.warmup import cell_lines, solution_lines
from grader.judge.support.oracle import BANK
from grader.pipeline.archive_names import IGNORED_FOLDERS
from grader.pipeline.handed_out import DIGESTS, LEAST, answers_below, digests_of, sources_below, stub_fingerprints
from grader.pipeline.judging import require_tests
from grader.pipeline.likeness import Fingerprints, fingerprints, is_source
from grader.pipeline.opponents import engine_files

README = "README.txt"
UNFINISHED = ".release-{}"  # holds a kit until it is complete
SHARED = "shared_lines.txt"  # beside a reference
LINE = "is a line of the solution"
BANK_PATH = BANK.relative_to(ROOT).as_posix()
MARKER = re.compile(r"\b(?:BEGIN|START|END|STOP)[\W_]*SOLU?T|\bSOLUTION[\W_]*(?:BEGIN|START|END|STOP)S?\b", re.IGNORECASE)
# Paths below instructor/. Paths below grader/instructor/ may appear: everybody knows that this folder is withheld.
INSTRUCTOR_PATH = re.compile(r"""(?<!grader[/\\])\binstructor[/\\]|["']instructor["']""")
CACHES = IGNORED_FOLDERS | {"tmp", "results", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
BYTECODE = (".pyc", ".pyo", ".so", ".o")
WEIGHTS = (".model", ".pt")
PNG = (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82")  # how a picture begins and ends
# The minimum number of characters in a line that proves a leak: shorter lines occur in any solution. In a whole file, much of
# which occurs in any program, only longer lines count.
REGION_LINE, FILE_LINE = 20, 40
FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest time that a .zip can hold
FIXED_TIME_S = 315532800  # the same time in seconds, UTC
MODE = 0o644


@dataclass
class Kit:
    """The files to hand out, as relative path -> content, and the links found among them."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Secrets:
    """What must not be handed out.

    Attributes:
        files: content -> path, for every instructor's file that is not empty.
        lines: stripped line of the solution -> path of its file.
        shared: stripped lines that the framework has too, so that the kit may hold them.
        stubs: relative path -> stub generated from the reference.
        given: fingerprints of the stubs.
        sources: path -> fingerprints, without those of the stubs, for each source of the reference and each source that
            answers a part.
    """

    files: dict[bytes, str]
    lines: dict[str, str]
    shared: frozenset[str]
    stubs: dict[str, bytes]
    given: Fingerprints
    sources: dict[str, Fingerprints]


def collect_kit(assignment: Assignment, root: Path) -> Kit:
    """Read the files on the allow-list.

    Raises:
        UsageError: no file matches a pattern, or there is no text for the kit's README.
    """
    kit = Kit()
    unused = dict.fromkeys(assignment.kit)
    for path in _below({pattern.split("/")[0] for pattern in assignment.kit}, root):
        relative = path.relative_to(root).as_posix()
        if path.is_symlink() and (path.is_dir() or assignment.is_in_kit(relative)):
            kit.links.append(relative)
        elif path.is_file() and assignment.is_in_kit(relative):
            kit.files[relative] = path.read_bytes()
            for pattern in [pattern for pattern in unused if matches(relative, [pattern])]:
                del unused[pattern]
    if assignment.home:
        own = {path: root / assignment.place(path) for path in assignment.own_files}
        kit.files |= {path: place.read_bytes() for path, place in own.items() if place.is_file()}
        unused = {pattern: None for pattern in unused if not any(matches(path, [pattern]) for path in kit.files)}
    if unused and not kit.links:
        raise UsageError(
            f"expected a file for each pattern of release.kit in assignment.toml; no file matches {', '.join(unused)}"
        )
    try:
        kit.files[README] = (root / assignment.kit_readme).read_bytes()
    except OSError as error:
        raise UsageError(f"expected the kit's README at {assignment.kit_readme}: {error.strerror}") from error
    return kit


def _below(places: set[str], root: Path) -> Iterator[Path]:
    """Yield everything at and below these entries of the root, except plain folders; links are not followed."""
    for start in sorted(path for place in places for path in root.glob(place)):
        if start.is_symlink() or start.is_file():
            yield start
            continue
        for folder, folders, files in os.walk(start):
            yield from (Path(folder, name) for name in sorted(files))
            yield from (path for path in (Path(folder, name) for name in sorted(folders)) if path.is_symlink())


def read_secrets(assignment: Assignment, root: Path) -> Secrets:
    """Read the instructor's files, which must not be handed out.

    Raises:
        UsageError: there is no reference (as in a kit), or its markers are wrong.
    """
    folder, reference = root / INSTRUCTOR, root / assignment.reference
    if not reference.is_dir():
        raise UsageError(f"expected the reference solution in {reference}, against which a kit is checked; nothing is there")
    contents: dict[bytes, str] = {}
    hidden: dict[str, str] = {}
    public: set[str] = set()
    stubs: dict[str, bytes] = {}
    rooms = {folder, reference, root / assignment.samples}
    for path in sorted({path for room in rooms for path in room.rglob("*") if path.is_file()}):
        where = path.relative_to(root).as_posix()
        if CACHES.intersection(where.split("/")):
            continue
        content = path.read_bytes()
        if content.strip():
            contents[content] = where
        if path.suffix == ".ipynb":
            solved, open_to_all = solution_lines(content)
            hidden |= {line: where for line in solved if len(line) >= REGION_LINE}
            public |= open_to_all
        if not path.is_relative_to(reference):
            continue
        relative, text = path.relative_to(reference).as_posix(), content.decode("utf-8", "replace")
        if relative in assignment.stubs:
            stubs[relative] = make_stub(text, relative).encode()
            public.update(line.strip() for line in stubs[relative].decode().splitlines())
            hidden |= dict.fromkeys(_region_lines(text), where)
        else:
            lines = (line.strip() for line in text.splitlines())
            hidden |= {line: where for line in lines if len(line) >= FILE_LINE}
    # Lines that the framework has too, such as the head of a loop.
    lists = [path for path in {folder / SHARED, reference.with_name(SHARED)} if path.is_file()]
    shared = frozenset(line.strip() for path in lists for line in path.read_text(encoding="utf-8").splitlines())
    secret = {line: where for line, where in hidden.items() if line not in public | shared}
    answers = [*sources_below(root, [f"{reference.relative_to(root).as_posix()}/**/*"]), *answers_below(root, assignment)]
    given = stub_fingerprints(stubs)
    sources = {path: fingerprints((root / path).read_bytes(), path).without(given) for path in answers}
    return Secrets(contents, secret, shared, stubs, given, sources)


def _region_lines(text: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if BEGIN.match(line) or END.match(line):
            inside = not inside
        elif inside and len(line.strip()) >= REGION_LINE:
            yield line.strip()


def expect_opponents(kit: Kit, assignment: Assignment, root: Path) -> None:
    """Raise UsageError if the kit lacks a file of an opponent: even the checks of Python read these to know what judges."""
    if lacking := sorted(engine_files(assignment, root) - kit.files.keys()):
        raise UsageError(
            "expected release.kit in assignment.toml to name all files of the opponents, without which no check of a student "
            f"runs; it lacks {', '.join(lacking)}"
        )


def find_leaks(kit: Kit, secrets: Secrets, assignment: Assignment) -> list[str]:
    """Return a sentence for each leak in the kit, sorted by path."""
    found = [(path, "a symbolic link, which would lead out of the kit") for path in kit.links]
    for path, content in kit.files.items():
        found += [(path, reason) for reason in _leaks_of(path, content, secrets, assignment)]
    return [f"{path}: {reason}." for path, reason in sorted(found, key=itemgetter(0))]


def _leaks_of(path: str, content: bytes, secrets: Secrets, assignment: Assignment) -> Iterator[str]:
    if path == BANK_PATH:
        return
    if path != README and not assignment.is_in_kit(path):
        yield "not named by release.kit in assignment.toml"
    if CACHES.intersection(PurePosixPath(path).parts) or path.endswith(BYTECODE):
        yield "a cache, a tool's folder or a compiled file"
        return
    if path in secrets.stubs:
        if content != secrets.stubs[path]:
            yield f"differs from the stub that the reference gives; run python -m grader stubs{assignment.lab_option}"
    elif content in secrets.files:
        yield f"a copy of {secrets.files[content]}"
    if path.endswith(WEIGHTS) or (path.endswith(".png") and content.startswith(PNG[0]) and content.endswith(PNG[1])):
        return
    if b"\0" in content:
        yield "a binary file"
        return
    if is_source(path) and (likest := likest_secret(path, content, secrets)) and likest[0] >= assignment.likeness.kit:
        yield f"has {likest[0]:.0%} in common with {likest[1]}"
    lines = cell_lines(content) if path.endswith(".ipynb") else content.decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        if MARKER.search(line) or (path.endswith(".py") and RESEMBLING.search(line)):
            yield f"line {number} looks like a marker of the solution, {_quoted(line)}"
        if line.strip() in secrets.lines:
            yield f"line {number} {LINE} ({secrets.lines[line.strip()]}), {_quoted(line)}"
        if INSTRUCTOR_PATH.search(line) and line.strip() not in secrets.shared:
            yield f"line {number} leads to the instructor's folder, {_quoted(line)}"


def likest_secret(path: str, content: bytes, secrets: Secrets) -> tuple[float, str] | None:
    """Find the withheld source that is most similar to a source of the kit; code from the stubs does not count.

    Returns:
        The common share in [0, 1] and the path of that source; None if the sources are too short to compare.
    """
    own = fingerprints(content, path).without(secrets.given)
    shares = [
        (max(own.share_in(secret), secret.share_in(own)), where)
        for where, secret in secrets.sources.items()
        if path.endswith(".py") == where.endswith(".py") and min(len(own), len(secret)) >= LEAST
    ]
    return max(shares, default=None)


def _quoted(line: str) -> str:
    return repr(line.strip()[:80])


def write_kit(files: Mapping[str, bytes], name: str, out: Path) -> tuple[Path, Path]:
    """Write `out/name/` and `out/name.zip`, which holds that folder; an existing kit is never overwritten.

    Raises:
        UsageError: one of the two exists already, or cannot be written.
    """
    folder, archive = out / name, out / f"{name}.zip"
    for path in (folder, archive):
        _expect_nothing_at(path)
    new = [place for place in (out, *out.parents) if not place.exists()]
    fresh = out / UNFINISHED.format(name)
    try:
        fresh.mkdir(parents=True)
        _write_folder(files, fresh / name)
        with zipfile.ZipFile(fresh / archive.name, "w") as target:
            for relative in sorted(files):
                entry = zipfile.ZipInfo(f"{name}/{relative}", FIXED_TIME)
                entry.create_system, entry.external_attr = 3, (0o100000 | MODE) << 16
                target.writestr(entry, files[relative])
        (fresh / name).rename(folder)
        (fresh / archive.name).rename(archive)
    except OSError as error:
        raise UsageError(f"the kit cannot be written to {out}: {error}") from error
    finally:
        remove_unfinished(name, out)
        for place in new if not folder.exists() else ():
            with suppress(OSError):  # by now it holds something else
                place.rmdir()
    return folder, archive


def remove_unfinished(name: str, out: Path) -> None:
    """Remove what an interrupted release left: its unfinished kit, and the folder if the .zip did not get beside it."""
    fresh = out / UNFINISHED.format(name)
    if not fresh.is_dir():
        return
    if not (fresh / name).exists() and (fresh / f"{name}.zip").exists():
        remove(out / name)
    remove(fresh)


def _expect_writable(out: Path) -> None:
    """Raise a UsageError if nothing can be written to a folder, which may still have to be made."""
    nearest = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise UsageError(f"the kit cannot be written to {out}: {nearest} is not a folder that can be written to")


def _expect_nothing_at(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UsageError(f"expected no {path.name} in {path.parent}; remove it first, or name another folder")


def _write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    for relative in sorted(files):
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[relative])
        path.chmod(MODE)
        os.utime(path, (FIXED_TIME_S, FIXED_TIME_S))
    for path in [*(p for p in folder.rglob("*") if p.is_dir()), folder]:
        path.chmod(0o755)
        os.utime(path, (FIXED_TIME_S, FIXED_TIME_S))


def main(
    out: Path, root: Path = ROOT, *, seed: int | None = None, cases: int = CASES, jobs: int | None = None, lab: str = ""
) -> int:
    """Build the kit. If there are leaks, or the handout is out of date, print sentences, write nothing and return 1.

    Args:
        seed: seed of the bank's cases; None draws one.
        cases: number of cases in each family of the bank.
        jobs: number of processes that make the bank (default: one per core).
        lab: the lab whose kit it is; empty for the main assignment.
    """
    assignment = load_named(lab, root)
    remove_unfinished(assignment.id, out)
    for path in (out / assignment.id, out / f"{assignment.id}.zip"):
        _expect_nothing_at(path)
    kit = collect_kit(assignment, root)
    expect_opponents(kit, assignment, root)
    if leaks := find_leaks(kit, read_secrets(assignment, root), assignment):
        print("\n".join(leaks), file=sys.stderr)
        if any(LINE in leak for leak in leaks):
            shared = PurePosixPath(assignment.reference).with_name(SHARED)
            print(f"If the framework needs such a line too, add it to {shared}.", file=sys.stderr)
        print(f"Nothing was written, because of {len(leaks)} leak{'' if len(leaks) == 1 else 's'}.", file=sys.stderr)
        return 1
    if handout.main(check=True, assignment=assignment, root=root):
        print("Nothing was written, because students would read the wrong points.", file=sys.stderr)
        return 1
    require_tests(assignment, root)
    _expect_writable(out)  # before the long work
    make_bank = getattr(import_module(assignment.bank), "make_bank", None)
    if make_bank is None:
        raise UsageError(f"expected a function make_bank in {assignment.bank}, the release.bank of assignment.toml; got none")
    seed = secrets.randbelow(2**31) if seed is None else seed
    print("Computing the expected values of the kit's checks, which takes a few minutes.", flush=True)
    kit.files[DIGESTS] = digests_of(kit.files, assignment)
    kit.files[BANK_PATH] = make_bank(seed, cases, jobs or available_cores())
    folder, archive = write_kit(kit.files, assignment.id, out)
    print(f"{len(kit.files)} files, {sum(map(len, kit.files.values())) / 1e6:.1f} MB, no leak: {folder} and {archive}")
    print(f"The expected values of its checks were drawn with seed {seed}; --seed {seed} makes this kit again.")
    return 0
