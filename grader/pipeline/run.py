"""One grading run of one submission: what the checks are given, and the verdicts that they leave.

The run's folder holds `run.json` (how it is graded, with which seed), `submission.zip` (what is graded: the collected files),
`reports/` (what a person reads), `workspace/`, `verdicts.jsonl` (a line a check, appended the moment it is decided, so that a
killed run continues) and, at the end, `report.html` and `results.json`, which names the digests of the others. `earlier/`
holds the runs before it (grader/pipeline/run_folder.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.assignment import ROOT, Assignment, Profile, load_assignment
from grader.confinement.sandbox import ProcessLimits, Sandbox, find_sandbox
from grader.pipeline.seal import SUBMISSION
from grader.pipeline.submission import Submission, read_submission
from grader.pipeline.workspace import framework_files

PASSED, PARTIAL, FAILED = "passed", "partial", "failed"
COULD_NOT_GRADE, AWAITING_MARKS = "could_not_grade", "awaiting_marks"
FOLDER_VARIABLE = "GRADER_RUN"
CURRENT = "scratch/current.txt"
OVERRUN = "overrun"  # in the evidence of a check that took too long, which is not tried again


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check, as it stands in results.json.

    Attributes:
        status: passed, partial, failed, could_not_grade or awaiting_marks.
        message: what a student reads first, one sentence.
        expected: what was asked for, in words.
        seen: what the submission did.
        evidence: plain values to repeat the verdict by (seeds, positions, numbers).
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Run:
    """A run's folder, read by the checks (in pytest) and by the grader that started them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        data = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        self.data: dict[str, Any] = data
        self.seed: int = data["seed"]
        self.looked_at: bool = data["identity"].get("looked_at", False)
        self.workspace = folder / "workspace"
        self.assignment: Assignment = load_assignment()
        self.profile: Profile = self.assignment.profile(data["profile"])
        self.sandbox: Sandbox = find_sandbox(data["sandbox"])

    @classmethod
    def from_environment(cls) -> Run:
        """The run that the environment names; for the checks."""
        return cls(Path(os.environ[FOLDER_VARIABLE]))

    @property
    def asked(self) -> frozenset[str]:
        """The checks of this run, by id: those that are asked for but the ones whose verdicts were taken over."""
        return frozenset(self.data["identity"]["checks"]) - frozenset(self.data.get("taken_over", ()))

    @property
    def submission(self) -> Submission:
        """The submission's collected files, as they were when the run began."""
        kept = read_submission(self.folder / SUBMISSION, self.assignment, at_the_top=True)
        return replace(kept, name=self.data["identity"]["submission"])

    @property
    def worker_limits(self) -> ProcessLimits:
        limits = self.assignment.limits
        return ProcessLimits(limits["worker_memory_mib"], 3600, limits["processes"], limits["file_size_mib"])

    @property
    def engine_limits(self) -> ProcessLimits:
        limits = self.assignment.limits
        return ProcessLimits(limits["engine_memory_mib"], 3600, limits["processes"], limits["file_size_mib"])

    def random(self, check_id: str) -> random.Random:
        """The check's own generator: drawn afresh for each run, repeatable from the run's recorded seed."""
        return random.Random(f"{self.seed}:{check_id}")

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What has been decided so far, by check; a last line cut off by a kill is no verdict."""
        found: dict[str, Verdict] = {}
        try:
            lines = (self.folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return found
        for line in lines:
            try:
                verdict = Verdict(**json.loads(line))
            except (ValueError, TypeError):
                continue
            found[verdict.id] = verdict
        return found

    def record(self, verdict: Verdict) -> None:
        """Append a verdict and make it last through a power cut."""
        with open(self.folder / "verdicts.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(verdict.to_json()) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def current(self) -> str:
        """The check that was begun last; empty before the first one."""
        try:
            return (self.folder / CURRENT).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def begin(self, check_id: str) -> None:
        """A check begins."""
        _write_whole(self.folder / CURRENT, check_id)

    def progress(self, sentence: str) -> None:
        """What a long check is at, for whoever waits; an empty sentence clears it."""
        _write_whole(self.folder / "progress.txt", sentence)


def _write_whole(target: Path, text: str) -> None:
    """So that whoever reads the file meanwhile finds all of it."""
    fresh = target.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(target)


def judging_files(assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Relative paths of every file that can change a verdict: the assignment, the rooms of the grader that a submission goes
    through, the framework that it is laid over, and what the opponents are built from."""
    opponents = {source for sources in assignment.opponents.values() for source in sources}
    header = f"{assignment.engine_folder}/{assignment.engine_header}"
    grader = {path.relative_to(root).as_posix() for path in (root / "grader").rglob("*.py")}
    grader = {path for path in grader if not path.startswith(("grader/instructor/", "grader/student/"))}
    return sorted({"assignment.toml", header, *grader, *framework_files(assignment, root), *opponents})


def grader_digest(assignment: Assignment, root: Path = ROOT) -> str:
    """sha256 over the names and contents of `judging_files`."""
    total = hashlib.sha256()
    for relative in judging_files(assignment, root):
        content = hashlib.sha256((root / relative).read_bytes()).hexdigest()
        total.update(f"{relative}\0{content}\n".encode())
    return total.hexdigest()


def run_identity(
    submission: Submission, assignment: Assignment, profile: str, sandbox: Sandbox, *, looked_at: bool = False
) -> dict[str, Any]:
    """What must be the same for a killed run to be continued and a finished one not to be repeated.

    Args:
        looked_at: whether a person has cleared what `grader.pipeline.handed_out` finds in the submission.
    """
    return {
        "submission": submission.name,
        "digest": submission.digest,
        "profile": profile,
        "sandbox": sandbox.level,
        "grader": grader_digest(assignment),
        "checks": [check.id for check in assignment.checks],
        "looked_at": looked_at,
    }
