"""Draw a sample and an archive for each student, and write the download, the roster and what must come of it."""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from math import ceil
from pathlib import Path
from random import Random

from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import csv_cell
from grader.assignment import ROOT, Assignment, Check
from grader.instructor import trust
from grader.instructor.rehearsal.downloads import PLATFORMS, Attempt, Entry
from grader.instructor.rehearsal.packing import PACKINGS, Packing, zipped
from grader.instructor.rehearsal.people import Person, person, stranger
from grader.instructor.trust import Sample
from grader.pipeline.handed_out import checks_decided_by

DOWNLOAD, ROSTER, EXPECTED = "download.zip", "roster.csv", "expected.csv"
GRADED, REFUSED, MISSING, UNKNOWN = "graded", "refused", "missing", "unknown"
DUE = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=8)))
LATE_MINUTES = 90
# Shares of the class, each rounded up; the rest hands in one readable archive in time.
UNREADABLE, ABSENT, TWICE, LATE = 0.06, 0.06, 0.12, 0.12
FIELDS = ("id", "first_name", "last_name", "sample", "archive", "attempts", "late", "outcome")


@dataclass(frozen=True)
class Pupil:
    """One row of expected.csv.

    Attributes:
        sample: what counts; None if nothing was handed in.
        packing: the archive that counts; None if nothing was handed in.
        earlier: an attempt that does not count, or None.
    """

    person: Person
    sample: Sample | None
    packing: Packing | None
    earlier: Sample | None
    late: bool
    on_roster: bool = True

    @property
    def outcome(self) -> str:
        if not self.on_roster:
            return UNKNOWN
        if self.packing is None:
            return MISSING
        return GRADED if self.packing.readable else REFUSED


def draw_class(size: int, seed: int, platform: str, samples: Sequence[Sample]) -> list[Pupil]:
    """Draw the class; a last pupil is not on the roster. The same arguments give the same class.

    Args:
        samples: what students can have written; the first ones are used first.
    """
    rng = Random(seed)
    readable = [packing for packing in PACKINGS if packing.readable]
    unreadable = [packing for packing in PACKINGS if not packing.readable]
    places = list(range(size))
    rng.shuffle(places)
    counts = [ceil(size * share) for share in (UNREADABLE, ABSENT, TWICE, LATE)]
    chosen: list[set[int]] = []
    for count in counts[:3]:
        chosen.append({places.pop() for _ in range(count)})
    damaged, absent, twice = chosen
    late = set(rng.sample(sorted(set(range(size)) - absent), counts[3]))
    order = rng.sample(range(len(samples)), len(samples))
    found = []
    for number in range(size):
        if number in absent:
            found.append(Pupil(person(number), None, None, None, late=False))
            continue
        kinds = unreadable if number in damaged else readable
        earlier = rng.choice(samples) if number in twice and platform != "moodle" else None
        sample = samples[order[number % len(order)]]
        found.append(Pupil(person(number), sample, kinds[number % len(kinds)], earlier, number in late))
    return [*found, Pupil(stranger(), samples[0], readable[0], None, late=False, on_roster=False)]


def attempts_of(pupils: Iterable[Pupil], rng: Random) -> Iterator[Attempt]:
    """Yield the attempts of the class in order of students, each student's in order of time."""
    for pupil in pupils:
        if pupil.sample is None or pupil.packing is None:
            continue
        minutes = LATE_MINUTES if pupil.late else -rng.randrange(10, 3 * 24 * 60)
        time = DUE + timedelta(minutes=minutes)
        if pupil.earlier is not None:
            before = DUE - timedelta(days=4)
            yield Attempt(pupil.person, 0, ".zip", zipped(files_of(pupil.earlier), before), before, late=False)
        content = pupil.packing.pack(files_of(pupil.sample), time)
        yield Attempt(pupil.person, int(pupil.earlier is not None), pupil.packing.suffix, content, time, pupil.late)


def files_of(sample: Sample) -> dict[str, bytes]:
    """Return relative path -> content of a sample's submission."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "submission")
        trust.lay_out(sample, folder)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def certain_checks(sample: Sample, assignment: Assignment) -> set[str]:
    """Return the checks whose points a sample's files decide for certain.

    Checks that depend on luck are left out, and so are those that take minutes, whose brief versions decide little, and those
    of other files in the folders that the sample changes: these files may import what it changed.
    """
    decided, _ = trust.checks_for(sample, assignment)
    folders = {path.split("/")[0] for path in (*sample.files, *sample.without)}
    near = checks_decided_by(folders, assignment)
    long = {check_id for ids in assignment.long_checks.values() for check_id in ids}
    untouched = [c for c in assignment.checks if c.id not in long and not any(c.is_of(name) for name in near)]
    return {check.id for check in (*decided, *untouched)} - set(sample.luck)


def expected_points(sample: Sample, check: Check) -> str:
    """Return the points that a sample must get for a certain check: a number, or `<N` for fewer than N."""
    share = sample.expected.get(check.id, 1.0)
    return f"<{check.points:g}" if share is None else f"{share * check.points:g}"


def write_class(pupils: Sequence[Pupil], platform: str, seed: int, out: Path, assignment: Assignment) -> None:
    """Write the download, the roster and expected.csv into a folder.

    Raises:
        UsageError: the folder holds the rehearsal of another class, which is left as it is.
    """
    attempts = list(attempts_of(pupils, Random(seed)))
    students = [pupil.person for pupil in pupils if pupil.on_roster]
    header = ("id", "first_name", "last_name", "email", "canvas_id", "moodle_id")
    rows: list[Sequence[object]] = [header]
    rows += [(p.id, p.first_name, p.last_name, p.email, p.canvas_id, p.moodle_id) for p in students]
    files = {
        DOWNLOAD: _download(PLATFORMS[platform](attempts)),
        ROSTER: csv_text(rows).encode(),
        EXPECTED: csv_text(_expected_rows(pupils, assignment)).encode(),
    }
    if any((out / name).is_file() and (out / name).read_bytes() != content for name, content in files.items()):
        raise UsageError(
            f"expected a new folder after --out; {out} holds the rehearsal of another class, whose results would be compared "
            "with this one: name another folder, or remove that one first"
        )
    for name, content in files.items():
        write_whole(out / name, content)


def _expected_rows(pupils: Iterable[Pupil], assignment: Assignment) -> Iterator[Sequence[object]]:
    yield *FIELDS, *(check.id for check in assignment.checks)
    for pupil in pupils:
        sample = pupil.sample
        points = [""] * len(assignment.checks)
        if sample is not None and pupil.outcome == GRADED:
            certain = certain_checks(sample, assignment)
            points = [expected_points(sample, check) if check.id in certain else "" for check in assignment.checks]
        yield (
            pupil.person.id,
            pupil.person.first_name,
            pupil.person.last_name,
            sample.name if sample else "",
            pupil.packing.name if pupil.packing else "",
            0 if sample is None else 1 + (pupil.earlier is not None),
            "yes" if pupil.late else "no",
            pupil.outcome,
            *points,
        )


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV with a byte order mark, as Excel expects, and without formulas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return "\ufeff" + text.getvalue()


def _download(entries: Iterable[Entry]) -> bytes:
    """Return the bulk download as a .zip, with the times at which students handed in."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, entry.time.timetuple()[:6])
            info.create_system, info.external_attr = 3, 0o100644 << 16
            archive.writestr(info, entry.content)
    return content.getvalue()


def require_place(out: Path) -> None:
    """Raise a UsageError unless the folder is new, empty, or holds an earlier rehearsal."""
    if out.exists() and not (out.is_dir() and ((out / EXPECTED).is_file() or not any(out.iterdir()))):
        raise UsageError(f"expected a new folder, or one of an earlier rehearsal, after --out; {out} holds something else")
    out.mkdir(parents=True, exist_ok=True)


def samples_of_a_class(root: Path = ROOT) -> list[Sample]:
    """Return the reference, the variants and the mutants."""
    return trust.load_samples(("variants", "mutants"), root=root)
