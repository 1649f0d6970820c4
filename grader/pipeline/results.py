"""Verdicts and results, and the one place that writes them to results.json and reads them back.

`results.json` holds the sha256 of each file needed to repeat its verdicts, and a checksum of its own content. The checksum is
not a signature, because anyone who can write to the folder can also compute a new one. It reveals accidents and careless edits.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import write_whole
from grader.assignment import Check

VERSION = 2
"""The version of the format of results.json."""
RESULTS, REPORT = "results.json", "report.html"
RUN, SUBMISSION, VERDICTS, GAMES = SEALED = ("run.json", "submission.zip", "verdicts.jsonl", "games.jsonl")
"""SEALED: the files with which a verdict can be repeated; results.json holds their digests."""
PASSED, PARTIAL, FAILED = "passed", "partial", "failed"
COULD_NOT_GRADE, AWAITING_MARKS = "could_not_grade", "awaiting_marks"
STATUSES = (PASSED, PARTIAL, FAILED, COULD_NOT_GRADE, AWAITING_MARKS)
MALFORMED = (AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""The exceptions that a function may raise when it reads JSON of the wrong shape."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, or a mark that a person has yet to give.

    Attributes:
        status: one of STATUSES.
        message: one sentence, which the student reads first.
        expected: what the check expects, in words.
        seen: what the submission did.
        evidence: plain values with which the verdict can be repeated (seeds, positions, numbers).
        basis: sha256 of everything that the verdict rests on (`grader.pipeline.judging`); empty for marks.
    """

    id: str
    status: str
    points: float
    max_points: float
    message: str
    handout: str
    title: str = ""
    expected: str = ""
    seen: str = ""
    seconds: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)
    basis: str = ""

    @classmethod
    def of(cls, check: Check, status: str, message: str, points: float = 0.0, **found: Any) -> Verdict:
        """Return the verdict on a check, which gives the id, the title, the points and the section of the handout."""
        return cls(check.id, status, points, check.points, message, check.handout, check.title, **found)

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Verdict:
        """Read what `to_json` wrote; raise one of MALFORMED for anything else."""
        verdict = cls(**data)
        for name in ("id", "message", "handout", "title", "expected", "seen", "basis"):
            if not isinstance(getattr(verdict, name), str):
                raise ValueError(f"{name} {getattr(verdict, name)!r}")
        if verdict.status not in STATUSES:
            raise ValueError(f"{verdict.id}: status {verdict.status!r}")
        if not (math.isfinite(verdict.points) and 0 <= verdict.points <= verdict.max_points):
            raise ValueError(f"{verdict.id}: {verdict.points} of {verdict.max_points} points")
        return verdict


@dataclass(frozen=True)
class Results:
    """The results of grading one submission.

    Attributes:
        digest: sha256 of the submission's collected files.
        seed: seed for positions and games.
        looked_at: whether a person has cleared the resemblances that `grader.pipeline.handed_out` reports.
        whole_match: whether all games of the match had to be played.
        grader: sha256 of everything that can change a verdict.
        sandbox: what the confinement prevents, by name, and a sentence about it.
        environment: the versions, the machine and the date that a verdict may depend on.
        collected: paths of the graded files in the submission.
        reports: paths of the files for a person to read.
        ignored: (path, reason) for everything else in the submission.
        notes: sentences about how the files were found.
        verdicts: one for each check, and one for each mark that a person gives.
        records: name -> sha256 of the files beside results.json with which the verdicts can be repeated.
    """

    assignment: str
    title: str
    submission: str
    digest: str
    profile: str
    seed: int
    looked_at: bool
    whole_match: bool
    grader: str
    sandbox: dict[str, Any]
    environment: dict[str, str]
    seconds: float
    collected: tuple[str, ...]
    reports: tuple[str, ...]
    ignored: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    records: dict[str, str] = field(default_factory=dict)

    @property
    def program(self) -> tuple[Verdict, ...]:
        """The verdicts of the checks, which a program decides."""
        return tuple(verdict for verdict in self.verdicts if verdict.status != AWAITING_MARKS)

    @property
    def points(self) -> float:
        return round(sum(verdict.points for verdict in self.program), 2)

    @property
    def max_points(self) -> float:
        return round(sum(verdict.max_points for verdict in self.verdicts), 2)

    @property
    def max_program_points(self) -> float:
        return round(sum(verdict.max_points for verdict in self.program), 2)

    @property
    def awaiting_marks(self) -> float:
        """The points that a person has yet to give."""
        return round(sum(verdict.max_points for verdict in self.verdicts if verdict.status == AWAITING_MARKS), 2)

    @property
    def could_not_grade(self) -> tuple[str, ...]:
        """The checks that a person has to look at."""
        return tuple(verdict.id for verdict in self.program if verdict.status == COULD_NOT_GRADE)

    @property
    def checksum(self) -> str:
        """The checksum of everything else in results.json."""
        return checksum(self._content())

    def _content(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        files = {"collected": list(own.pop("collected")), "reports": list(own.pop("reports"))}
        del own["verdicts"]
        return {
            "version": VERSION,
            **own,
            "points": self.points,
            "max_points": self.max_points,
            "max_program_points": self.max_program_points,
            "awaiting_marks": self.awaiting_marks,
            "could_not_grade": list(self.could_not_grade),
            "files": files,
            "ignored": [list(pair) for pair in self.ignored],
            "notes": list(self.notes),
            "checks": [verdict.to_json() for verdict in self.verdicts],
        }

    def to_json(self) -> dict[str, Any]:
        """Return the content of results.json; it includes the totals, for readers with other tools."""
        return {**self._content(), "checksum": self.checksum}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Results:
        """Read what `to_json` wrote; raise one of MALFORMED for anything else."""
        files = data["files"]
        taken = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        return cls(
            **{
                **taken,
                "seed": int(data["seed"]),
                "collected": tuple(str(name) for name in files["collected"]),
                "reports": tuple(str(name) for name in files["reports"]),
                "ignored": tuple((str(path), str(reason)) for path, reason in data["ignored"]),
                "notes": tuple(str(note) for note in data["notes"]),
                "verdicts": tuple(Verdict.from_json(check) for check in data["checks"]),
            }
        )

    def sealed(self, folder: Path) -> Results:
        """Return these results with the digests of the records in a run's folder."""
        return replace(self, records=digests(folder))

    def write(self, folder: Path) -> None:
        """Write results.json, whole or not at all."""
        write_whole(folder / RESULTS, json.dumps(self.to_json(), indent=1, ensure_ascii=False))


def read_results(path: Path) -> Results:
    """Read a results.json.

    Raises:
        UsageError: the file is missing, damaged or of another version, the run is unfinished, or the file or a record beside
            it was altered.
    """
    if not path.exists() and (path.parent / RUN).exists():
        raise UsageError(f"{path.parent} holds an unfinished run; give the same grade command again to finish it")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"expected a results.json at {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is damaged, or not a results.json of the grader: grade this submission again") from error
    if not isinstance(data, dict) or "checksum" not in data:
        raise UsageError(f"{path} has no checksum: an earlier version of the grader wrote it, or it was altered; grade again")
    if data.get("version") != VERSION:
        raise UsageError(f"{path} has format {data.get('version')}, and this grader reads format {VERSION}; grade again")
    if data["checksum"] != checksum({key: value for key, value in data.items() if key != "checksum"}):
        raise UsageError(f"{path} was altered after the grading (its checksum is wrong) and does not count; grade again")
    try:
        results = Results.from_json(data)
    except MALFORMED as error:
        raise UsageError(f"{path} lacks or misspells a value ({error!r}); grade this submission again") from error
    found = digests(path.parent)
    if altered := [name for name in SEALED if found.get(name) != results.records.get(name)]:
        raise UsageError(
            f"{path.parent}: {', '.join(altered)} was altered or removed after the grading, so the result does not count; "
            "grade again"
        )
    return results


def digests(folder: Path) -> dict[str, str]:
    """Return name -> sha256 for each record in a run's folder."""
    names = (name for name in SEALED if (folder / name).is_file())
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def checksum(data: dict[str, Any]) -> str:
    """Return the sha256 of the values; spaces, the order of keys and the escaping of characters do not change it."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()
