"""`python -m grader likeness SUBMISSION...`: list submissions of a class that are nearly the same, for a person to look at.

For each pair, the engines are compared, and so is the Python code. Code from the stubs and the rest of the kit is left out,
because every student has it. A share is relative to the shorter of the two, so that added code hides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment, load_assignment
from grader.pipeline.handed_out import LEAST, common_to_all
from grader.pipeline.likeness import Fingerprints, fingerprints, is_source
from grader.pipeline.listeners import Announce
from grader.pipeline.submission import Submission, read_submission

ENGINE, PYTHON = "engine", "Python"


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions that have much in common.

    Attributes:
        part: ENGINE or PYTHON.
        share: common share in [0, 1] of the shorter one.
        fingerprints: number of common fingerprints; a few dozen prove little.
    """

    first: str
    second: str
    part: str
    share: float
    fingerprints: int


def part_fingerprints(submission: Submission, given: Fingerprints) -> dict[str, Fingerprints]:
    """Return part -> fingerprints, without those of the code that everyone was given."""
    files: dict[str, list[Fingerprints]] = {ENGINE: [], PYTHON: []}
    for path, content in submission.files.items():
        if is_source(path):
            files[PYTHON if path.endswith(".py") else ENGINE].append(fingerprints(content, path))
    return {part: Fingerprints.union(several).without(given) for part, several in files.items()}


def similar_pairs(parts: dict[str, dict[str, Fingerprints]], least: float) -> list[SimilarPair]:
    """Return the pairs with at least that share in common, largest share first.

    Args:
        parts: submission -> part -> fingerprints.
        least: smallest share in [0, 1].
    """
    found = []
    for (first, one), (second, other) in combinations(parts.items(), 2):
        for part in (ENGINE, PYTHON):
            shorter = min(len(one[part]), len(other[part]))
            if shorter < LEAST:
                continue
            common = one[part].common(other[part])
            if common >= least * shorter:
                found.append(SimilarPair(first, second, part, common / shorter, common))
    return sorted(found, key=lambda pair: (-pair.share, pair.first, pair.second))


def main(paths: Sequence[Path], out: Path | None, announce: Announce, root: Path = ROOT) -> int:
    """List the pairs; return 1 if there are any, else 0.

    Args:
        out: JSON file to which the same list is written.

    Raises:
        UsageError: fewer than two submissions can be read, or `out` cannot be written.
    """
    assignment: Assignment = load_assignment(root / "assignment.toml")
    given, parts = common_to_all(assignment, root), dict[str, dict[str, Fingerprints]]()
    for path in paths:
        try:
            submission = read_submission(path, assignment)
        except UsageError as error:
            announce(f"{path} was left out: {error}")
            continue
        # Two students may have handed in archives with the same name, in different folders.
        parts[submission.name if submission.name not in parts else str(path)] = part_fingerprints(submission, given)
    if len(parts) < 2:
        raise UsageError(f"expected at least two submissions that can be read; got {len(parts)}")
    pairs = similar_pairs(parts, assignment.likeness.pair)
    for pair in pairs:
        announce(f"{pair.share:4.0%}  {pair.part:6}  {pair.first}  {pair.second}  ({pair.fingerprints} fingerprints)")
    announce(
        f"{len(parts)} submissions, {len(pairs)} pairs with at least {assignment.likeness.pair:.0%} in common, apart from the "
        "code that everyone was given. A share proves nothing: read both."
    )
    if out is not None:
        try:
            out.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"the list cannot be written to {out}: {error.strerror}") from error
    return 1 if pairs else 0
