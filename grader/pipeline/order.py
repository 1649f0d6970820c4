"""How submissions are to be graded (Order), which checks are graded again (Regrade), and what identifies a run (Identity)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from grader.assignment import Assignment
from grader.confinement.sandbox import Sandbox
from grader.pipeline.judging import grader_digest
from grader.pipeline.submission import Submission


@dataclass(frozen=True)
class Regrade:
    """Which checks are graded again if a submission has been graded before; the verdicts of the others are kept.

    Attributes:
        only: ids of checks; empty for all checks.
        which: those that did not pass (failed), or whose basis is no longer the recorded one (changed); None for all of `only`.
    """

    only: tuple[str, ...] = ()
    which: Literal["failed", "changed"] | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.which, *self.only)))


@dataclass(frozen=True)
class Order:
    """How submissions are to be graded.

    Attributes:
        assignment: the assignment, with the checks to run: all or some.
        profile: name of one of the assignment's profiles.
        out: folder for results; each submission gets a folder below it.
        seed: seed for positions and games; None draws a new one for each submission.
        again: whether finished submissions are graded again.
        request: id of the request to do so (`grader.pipeline.requests`); runs that were made for it are not graded again.
        looked_at: whether a person has cleared the resemblances that `grader.pipeline.handed_out` reports.
        whole_match: whether all games of the match are played, even if the points are known earlier.
        regrade: which checks of a submission that was graded before are graded again; None for all if anything has changed.
    """

    assignment: Assignment
    profile: str
    out: Path
    sandbox: Sandbox
    seed: int | None = None
    again: bool = False
    looked_at: bool = False
    whole_match: bool = False
    regrade: Regrade | None = None
    request: str = ""


@dataclass(frozen=True)
class Identity:
    """What identifies a run: with the same identity, a killed run is continued and a finished one is not repeated.

    Attributes:
        submission: name of the submission.
        digest: sha256 of its collected files.
        sandbox: level of confinement.
        grader: sha256 of everything that can change a verdict.
        checks: ids of the requested checks.
        assignment: id of the assignment; empty in the record of a run from before there were labs.
    """

    submission: str
    digest: str
    profile: str
    sandbox: str
    grader: str
    checks: tuple[str, ...]
    looked_at: bool = False
    whole_match: bool = False
    assignment: str = ""

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
            whole_match=order.whole_match,
            assignment=assignment.id,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the form that `from_json` reads."""
        return {**asdict(self), "checks": list(self.checks)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Identity:
        """Read what `to_json` wrote; raise KeyError or TypeError for anything else."""
        return cls(**{**data, "checks": tuple(data["checks"])})
