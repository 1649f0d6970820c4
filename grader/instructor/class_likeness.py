"""`python -m grader likeness SUBMISSION...`: which submissions of a class are nearly the same, for a person to look at.

Of each pair the engines are compared, and the Python. What stubs and the rest of the kit give is left out first: every student
has that. A share is that of the shorter one, so that code which was added hides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment, load_assignment
from grader.pipeline.grading import Announce
from grader.pipeline.handed_out import LEAST, common_to_all
from grader.pipeline.likeness import Fingerprints, fingerprints, is_source
from grader.pipeline.submission import Submission, read_submission

ENGINE, PYTHON = "engine", "Python"


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions that have much in common.

    Attributes:
        part: ENGINE or PYTHON.
        share: in [0, 1], of the shorter one.
        fingerprints: in common; some dozen are little.
    """

    first: str
    second: str
    part: str
    share: float
    fingerprints: int


def part_fingerprints(submission: Submission, given: Fingerprints) -> dict[str, Fingerprints]:
    """Part -> fingerprints, without what everyone was given."""
    files: dict[str, list[Fingerprints]] = {ENGINE: [], PYTHON: []}
    for path, content in submission.files.items():
        if is_source(path):
            files[PYTHON if path.endswith(".py") else ENGINE].append(fingerprints(content, path))
    return {part: Fingerprints.union(several).without(given) for part, several in files.items()}


def similar_pairs(parts: dict[str, dict[str, Fingerprints]], least: float) -> list[SimilarPair]:
    """Pairs with at least that share in common, the largest first.

    Args:
        parts: of each submission, by its name.
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
    """List the pairs; 1 if there is one.

    Args:
        out: a JSON file for the same list.

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
        # Two students may have packed archives of the same name in folders of their own.
        parts[submission.name if submission.name not in parts else str(path)] = part_fingerprints(submission, given)
    if len(parts) < 2:
        raise UsageError(f"expected at least two submissions that can be read; got {len(parts)}")
    pairs = similar_pairs(parts, assignment.likeness.pair)
    for pair in pairs:
        announce(f"{pair.share:4.0%}  {pair.part:6}  {pair.first}  {pair.second}  ({pair.fingerprints} fingerprints)")
    announce(
        f"{len(parts)} submissions, {len(pairs)} pairs with at least {assignment.likeness.pair:.0%} in common beyond what "
        "everyone was given. A share is no proof: read both."
    )
    if out is not None:
        try:
            out.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"the list cannot be written to {out}: {error.strerror}") from error
    return 1 if pairs else 0
