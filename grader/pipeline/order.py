"""What is asked for of a grader, and what a run is identified by."""

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
        assignment: with the checks that are to be run, all or some.
        profile: a name of the assignment's profiles.
        out: the folder for results; each submission gets one below it.
        seed: of positions and games; None draws a fresh one for each submission.
        again: whether what is finished is graded once more.
        looked_at: whether a person has cleared what `grader.pipeline.handed_out` finds in them.
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
    """What must be the same for a killed run to be continued and a finished one not to be repeated.

    Attributes:
        submission, digest: its name, and the sha256 of its collected files.
        sandbox: the level of confinement.
        grader: sha256 of everything that can change a verdict.
        checks: those that are asked for, by id.
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
        """Of the run that grades this submission by this order."""
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
        """As `from_json` takes it."""
        return {**asdict(self), "checks": list(self.checks)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Identity:
        """Raises KeyError or TypeError for what is not an identity."""
        return cls(**{**data, "checks": tuple(data["checks"])})


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
