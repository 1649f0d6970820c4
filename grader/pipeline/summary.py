"""The summary at the end of a grade command: each submission with its outcome (graded, could not grade, refused) and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.pipeline.results import COULD_NOT_GRADE, Results

GRADED, UNSURE, REFUSED = "graded", "could not grade", "refused"
NAME_CHARACTERS = 32


@dataclass(frozen=True)
class SummaryRow:
    """The line of one submission.

    Attributes:
        points: the points as text; empty if the submission was refused.
        reasons: sentences and phrases that explain the outcome.
        wrong_call: whether the command asks for something that needs another option (a new seed needs --again).
    """

    name: str
    outcome: str
    points: str = ""
    reasons: tuple[str, ...] = ()
    wrong_call: bool = False

    @property
    def exit_code(self) -> int:
        """0 if all is done, 1 if a person has to look, 2 if the submission or the call cannot be used."""
        return 2 if self.outcome == REFUSED or self.wrong_call else int(self.outcome == UNSURE)


def summary_row(results: Results, remarks: Sequence[str]) -> SummaryRow:
    """Return the line of a graded submission; checks that could not be graded for the same reason are grouped."""
    reasons: dict[str, list[str]] = {}
    for verdict in results.verdicts:
        if verdict.status == COULD_NOT_GRADE:
            reasons.setdefault(verdict.message, []).append(verdict.id)
    unsure = tuple(f"{together(ids)}: {message}" for message, ids in reasons.items())
    points = f"{results.points:g} of {results.max_program_points:g}"
    return SummaryRow(results.submission, UNSURE if unsure else GRADED, points, (*remarks, *unsure))


def together(ids: Sequence[str]) -> str:
    """Group checks by part: `minimax (4 checks)`, or the id if there is only one."""
    parts: dict[str, list[str]] = {}
    for check_id in ids:
        parts.setdefault(check_id.split(".")[0], []).append(check_id)
    return ", ".join(found[0] if len(found) == 1 else f"{part} ({len(found)} checks)" for part, found in parts.items())


def summary_lines(rows: Sequence[SummaryRow]) -> Iterator[str]:
    """Yield the lines of the table, and a last line that counts the outcomes."""
    width = min(NAME_CHARACTERS, max(len(name) for name in ("submission", *(row.name for row in rows))))
    numbers = max(len(points) for points in ("points", *(row.points for row in rows)))
    outcomes = max(map(len, (GRADED, UNSURE, REFUSED)))
    yield f"{'submission':{width}}  {'outcome':{outcomes}}  {'points':{numbers}}  reason".rstrip()
    for row in rows:
        name = row.name if len(row.name) <= NAME_CHARACTERS else f"{row.name[: NAME_CHARACTERS - 3]}..."
        reason = " ".join(text if text.endswith(".") else f"{text}." for text in row.reasons)
        yield f"{name:{width}}  {row.outcome:{outcomes}}  {row.points:{numbers}}  {reason}".rstrip()
    counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in (GRADED, UNSURE, REFUSED)}
    yield f"{len(rows)} in all: {', '.join(f'{count} {outcome}' for outcome, count in counts.items() if count)}."
