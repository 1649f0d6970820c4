"""Write a made-up class: the download, the roster, its marks and decisions, and the expected outcome of each student."""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from random import Random

from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import csv_cell
from grader.assignment import Assignment
from grader.instructor import trust
from grader.instructor.course import COURSE
from grader.instructor.marking.schemes import SCHEMES
from grader.instructor.notebook import load_rubric
from grader.instructor.rehearsal.downloads import PLATFORMS, RIVAL, Attempt, Entry
from grader.instructor.rehearsal.made_up_marks import by_hand_rows, override_rows
from grader.instructor.rehearsal.packing import zipped
from grader.instructor.rehearsal.pupils import GRADED, REFUSED, Pupil, certain_checks, expected_points
from grader.instructor.trust import Sample

DOWNLOAD, ROSTER, EXPECTED, TIMES = "download.zip", "roster.csv", "expected.csv", "times.csv"
BY_HAND, OVERRIDES = "by_hand.csv", "overrides.csv"
DUE = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=8)))
LATE_MINUTES = 90
FIELDS = ("id", "first_name", "last_name", "sample", "archive", "attempts", "late_minutes", "outcome", "counted")


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
        if pupil.rival is not None:
            yield Attempt(pupil.person, 0, ".zip", zipped(files_of(pupil.rival), time), time, pupil.late, RIVAL)


def files_of(sample: Sample) -> dict[str, bytes]:
    """Return relative path -> content of a sample's submission."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "submission")
        trust.lay_out(sample, folder)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write_class(pupils: Sequence[Pupil], platform: str, seed: int, out: Path, assignment: Assignment) -> None:
    """Write the download, the roster, the tables that people would write, a course and expected.csv into a folder.

    Raises:
        UsageError: the folder holds the rehearsal of another class, which is left as it is.
    """
    attempts = list(attempts_of(pupils, Random(seed)))
    students = [pupil.person for pupil in pupils if pupil.on_roster]
    header = ("id", "first_name", "last_name", "email", "canvas_id", "moodle_id")
    roster = [(p.id, p.first_name, p.last_name, p.email, p.canvas_id, p.moodle_id) for p in students]
    rubric = load_rubric(assignment)
    tables: dict[str, Iterable[Sequence[object]]] = {
        EXPECTED: _expected_rows(pupils, attempts, platform, assignment),
        ROSTER: [header, *roster],
        BY_HAND: by_hand_rows(pupils, assignment, rubric, Random(f"marks of {seed}")),
        OVERRIDES: override_rows(pupils, assignment, rubric),
    }
    if times := list(_times_to_look_up(pupils, attempts, platform)):
        tables[TIMES] = [("id", "submitted_at"), *times]
    settings = [COURSE / "rubric.toml", COURSE / "nbgrader_config.py", *sorted((COURSE / SCHEMES).glob("*.toml"))]
    settings += sorted((COURSE / "templates").iterdir())
    files = {  # EXPECTED comes first: by it, `require_place` knows the folder if the program is stopped and called again
        **{name: csv_text(rows).encode() for name, rows in tables.items()},
        DOWNLOAD: _download(PLATFORMS[platform](attempts)),
        **{f"{COURSE.name}/{path.relative_to(COURSE)}": path.read_bytes() for path in settings},
    }
    if any((out / name).is_file() and (out / name).read_bytes() != content for name, content in files.items()):
        raise UsageError(
            f"expected a new folder after --out; {out} holds the rehearsal of another class, whose results would be compared "
            "with this one: name another folder, or remove that one first"
        )
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(out / name, content)


def _times_to_look_up(pupils: Iterable[Pupil], attempts: Iterable[Attempt], platform: str) -> Iterator[tuple[str, str]]:
    """Yield (student, time) where a download does not say the time: Canvas only marks who is late, and Moodle nobody."""
    last = {attempt.person.id: attempt.time.isoformat() for attempt in attempts}
    for pupil in pupils:
        counts = pupil.on_roster and pupil.outcome in (GRADED, REFUSED)
        if (pupil.late and platform == "canvas") or (counts and platform == "moodle"):
            yield pupil.person.id, last[pupil.person.id]


def _expected_rows(
    pupils: Iterable[Pupil], attempts: Sequence[Attempt], platform: str, assignment: Assignment
) -> Iterator[Sequence[object]]:
    yield *FIELDS, *(check.id for check in assignment.checks)
    for pupil in pupils:
        sample, own = pupil.sample, [attempt for attempt in attempts if attempt.person == pupil.person]
        points = [""] * len(assignment.checks)
        if sample is not None and pupil.outcome == GRADED:
            certain = certain_checks(sample, assignment)
            points = [expected_points(sample, check) if check.id in certain else "" for check in assignment.checks]
        counts = pupil.outcome in (GRADED, REFUSED)
        yield (
            pupil.person.id,
            pupil.person.first_name,
            pupil.person.last_name,
            sample.name if sample else "",
            pupil.packing.name if pupil.packing else "",
            min(1, len(own)) if platform == "moodle" else len(own),
            (LATE_MINUTES if pupil.late else 0) if counts else "",
            pupil.outcome,
            sha256(own[-1].content).hexdigest() if counts else "",
            *points,
        )


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV with a byte order mark, as Excel expects, and without formulas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return "\ufeff" + text.getvalue()


def _download(entries: Iterable[Entry]) -> bytes:
    """Return the bulk download as a .zip."""
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
