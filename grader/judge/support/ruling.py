"""What a check says of a submission beside passing or failing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.errors import StudentFault


@dataclass
class Ruling:
    """What a test says beside passing or failing; the fixture `ruling`.

    Attributes:
        shares: what is left of the check's points for each shortcoming that assignment.toml names.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    share: float = 1.0
    message: str = ""
    expected: str = ""
    seen: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    def expect(self, condition: bool, message: str) -> None:
        """Fail the check with this sentence unless the condition holds."""
        if not condition:
            raise StudentFault(message)

    def deduct(self, shortcoming: str, message: str) -> None:
        """Give the share that assignment.toml names for this shortcoming of the check, and say why."""
        self.partial(self.shares[shortcoming], message)

    def partial(self, share: float, message: str) -> None:
        """Give this share of the points (the smallest one given counts) and say why."""
        if share < self.share:
            self.share = share
        self.message = f"{self.message} {message}".strip()
