"""What a check records about a submission besides pass or fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.errors import StudentFault


@dataclass
class Ruling:
    """What a test records besides pass or fail; a test gets it as the fixture `ruling`.

    Attributes:
        shares: shortcoming -> the share of the check's points that remains, from assignment.toml.
        share: the share of the points to give.
        message: the text that the student reads first.
        expected: what a correct solution does, for the report.
        seen: what this solution did, for the report.
        evidence: whatever is needed to replay the check or to decide it by hand, as JSON values.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    share: float = 1.0
    message: str = ""
    expected: str = ""
    seen: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    def expect(self, condition: bool, message: str) -> None:
        """Fail the check with this message unless the condition holds."""
        if not condition:
            raise StudentFault(message)

    def deduct(self, shortcoming: str, message: str) -> None:
        """Give the share that assignment.toml sets for this shortcoming, and say why.

        The module of the test calls this with the name of the shortcoming itself, which is compared with assignment.toml
        before anything is graded (`grader.pipeline.judging.require_tests`).
        """
        self.partial(self.shares[shortcoming], message)

    def partial(self, share: float, message: str) -> None:
        """Give this share of the points and say why; if called several times, the smallest share counts."""
        if share < self.share:
            self.share = share
        self.message = f"{self.message} {message}".strip()
