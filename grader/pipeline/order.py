"""How submissions are to be graded (Order), and what identifies a run (Identity)."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.assignment import ROOT, Assignment
from grader.confinement.sandbox import Sandbox
from grader.pipeline.submission import Submission
from grader.pipeline.workspace import framework_files


@dataclass(frozen=True)
class Order:
    """How submissions are to be graded.

    Attributes:
        assignment: the assignment, with the checks to run: all or some.
        profile: name of one of the assignment's profiles.
        out: folder for results; each submission gets a folder below it.
        seed: seed for positions and games; None draws a new one for each submission.
        again: whether finished submissions are graded again.
        looked_at: whether a person has cleared the resemblances that `grader.pipeline.handed_out` reports.
    """

    assignment: Assignment
    profile: str
    out: Path
    sandbox: Sandbox
    seed: int | None = None
    again: bool = False
    looked_at: bool = False


@dataclass(frozen=True)
class Identity:
    """What identifies a run: with the same identity, a killed run is continued and a finished one is not repeated.

    Attributes:
        submission: name of the submission.
        digest: sha256 of its collected files.
        sandbox: level of confinement.
        grader: sha256 of everything that can change a verdict.
        checks: ids of the requested checks.
    """

    submission: str
    digest: str
    profile: str
    sandbox: str
    grader: str
    checks: tuple[str, ...]
    looked_at: bool = False

    @classmethod
    def of(cls, submission: Submission, order: Order) -> Identity:
        """Return the identity of the run that grades this submission under this order."""
        assignment = order.assignment
        return cls(
            submission=submission.name,
            digest=submission.digest,
            profile=order.profile,
            sandbox=order.sandbox.level,
            grader=grader_digest(assignment),
            checks=tuple(check.id for check in assignment.checks),
            looked_at=order.looked_at,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        return {**asdict(self), "checks": list(self.checks)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Identity:
        """Read what `to_json` wrote; raise KeyError or TypeError for anything else."""
        return cls(**{**data, "checks": tuple(data["checks"])})


def judging_files(assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Return the relative paths of all files that can change a verdict.

    These are the assignment, the packages of the grader that a submission passes through, the framework that the submission
    is laid over, and the sources of the opponents.
    """
    opponents = {source for sources in assignment.opponents.values() for source in sources}
    header = f"{assignment.engine_folder}/{assignment.engine_header}"
    grader = {path.relative_to(root).as_posix() for path in (root / "grader").rglob("*.py")}
    grader = {path for path in grader if not path.startswith(("grader/instructor/", "grader/student/"))}
    return sorted({"assignment.toml", header, *grader, *framework_files(assignment, root), *opponents})


def grader_digest(assignment: Assignment, root: Path = ROOT) -> str:
    """Return the sha256 of the names and contents of `judging_files`."""
    total = hashlib.sha256()
    for relative in judging_files(assignment, root):
        content = hashlib.sha256((root / relative).read_bytes()).hexdigest()
        total.update(f"{relative}\0{content}\n".encode())
    return total.hexdigest()
