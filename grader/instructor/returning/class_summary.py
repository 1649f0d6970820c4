"""What the results of a class say together: outcomes, points, the difficulty of each item, common mistakes, a leaderboard.

Nothing in a ClassSummary leads to a student. The order of the leaderboard follows from the scores alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from grader.assignment import Assignment, Check
from grader.instructor.marking.items import Items
from grader.instructor.returning.anonymous import Anonymiser, pattern_of
from grader.instructor.returning.class_results import ClassResults
from grader.instructor.returning.marks_table import MarksRow, as_number
from grader.pipeline.results import COULD_NOT_GRADE, FAILED, MALFORMED, PARTIAL, Results, Verdict

BINS = 10
LEAST_SUBMISSIONS = 2  # a mistake that only one submission makes would single out its author
MOST_MISTAKES = 12


@dataclass(frozen=True)
class Distribution:
    """The points of the submissions for which they are known.

    Attributes:
        counts: number of submissions in each of BINS equal ranges from 0 to `most`; a range includes its lower end.
        median: None if there are no such submissions.
        left_out: number of submissions without such points, because something waits for a person.
    """

    counts: tuple[int, ...]
    most: float
    median: float | None
    left_out: int


@dataclass(frozen=True)
class ItemDifficulty:
    """How a class did in one check or mark; `share` is the mean share of its points, None if nobody has points yet."""

    id: str
    title: str
    points: float
    share: float | None
    full: int
    part: int
    zero: int
    waiting: int

    @property
    def is_solved(self) -> bool:
        """Whether every submission got full points."""
        return self.full > 0 and not (self.part or self.zero or self.waiting)


@dataclass(frozen=True)
class Mistake:
    """A message that several submissions got, up to numbers.

    Attributes:
        example: one of the messages, without anything that leads to a student.
        checks: titles of the checks that gave it.
        submissions: number of different submissions that got it.
    """

    example: str
    checks: tuple[str, ...]
    submissions: int


@dataclass(frozen=True)
class MatchScore:
    """An engine's match against the opponent; `rate` is the score rate in [0, 1], with its 95 % interval from low to high."""

    label: str
    wins: int
    draws: int
    losses: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class ClassSummary:
    """Everything on the page of the class but the ladder.

    Attributes:
        outcomes: (words, number of students).
        profiles: profile -> number of results graded with it.
        points: the program points of the submissions that were graded completely.
        totals: the totals of the submissions that have one.
        open_totals: number of these totals that are not final.
        rare_mistakes: number of messages that fewer than LEAST_SUBMISSIONS different submissions got.
        opponent: the engine that submissions play; empty if the assignment has no match.
    """

    title: str
    students: int
    outcomes: tuple[tuple[str, int], ...]
    profiles: Mapping[str, int]
    points: Distribution
    totals: Distribution
    open_totals: int
    items: tuple[ItemDifficulty, ...]
    mistakes: tuple[Mistake, ...]
    rare_mistakes: int
    leaderboard: tuple[MatchScore, ...]
    opponent: str


def summarise(
    rows: Sequence[MarksRow],
    found: ClassResults,
    labels: Mapping[str, str],
    assignment: Assignment,
    items: Items,
    anonymiser: Anonymiser,
) -> ClassSummary:
    """Return the summary of a class.

    Args:
        rows: the marks; only students with a line count. The 0 of those who handed in nothing says nothing about an item.
        items: what has points under the scheme that totalled the marks.
        labels: id -> pseudonym, from `engine_labels`.
    """
    ids = [row.id for row in rows]
    graded = [row for row in rows if row.id in found.by_student]
    results = [found.by_student[row.id].results for row in graded]
    program = [one.points for one in results if not one.could_not_grade]
    totals = [total for row in graded if (total := as_number(row.remarks["total"])) is not None]
    waiting = sum(bool(one.could_not_grade) for one in results)
    refused = sum(i in found.refused for i in ids)
    mistakes, rare = _mistakes(results, anonymiser)
    scores: dict[str, MatchScore] = {}
    for i, label in labels.items():
        if label not in scores and (score := match_score(found.by_student[i].results, label)):
            scores[label] = score
    return ClassSummary(
        title=assignment.title,
        students=len(rows),
        outcomes=(
            ("graded", len(results) - waiting),
            ("partly graded, a person has to look", waiting),
            ("refused", refused),
            ("no result", len(rows) - len(results) - refused),
        ),
        profiles=dict(sorted(Counter(one.profile for one in results).items())),
        points=_distribution(program, len(results), sum(check.points for check in assignment.checks)),
        totals=_distribution(totals, len(results), float(items.scheme.most)),
        open_totals=len(totals) - sum(row.is_final for row in graded),
        items=_difficulties(results, graded, assignment, items),
        mistakes=mistakes,
        rare_mistakes=rare,
        leaderboard=tuple(scores.values()),
        opponent=assignment.opponent if assignment.long_checks.get("match") else "",
    )


def engine_labels(found: ClassResults, ids: Sequence[str]) -> dict[str, str]:
    """Return id -> pseudonym (`engine 1`, ...) for each student with a graded match, the highest score first.

    Ties are broken by the digest of the submitted files, which does not depend on names. Students who handed in the same files,
    as a group does, have one engine, with the best of their scores.
    """
    scored = []
    for student in ids:
        if student in found.by_student and (score := match_score(found.by_student[student].results, "")):
            scored.append((-score.rate, -score.low, found.by_student[student].results.digest, student))
    label_of: dict[str, str] = {}
    return {student: label_of.setdefault(digest, f"engine {len(label_of) + 1}") for *_, digest, student in sorted(scored)}


def match_score(results: Results, label: str) -> MatchScore | None:
    """Return the score of the match against the opponent, or None if no match was graded."""
    for verdict in results.program:
        if "match" not in verdict.evidence or verdict.status == COULD_NOT_GRADE:
            continue
        try:
            match = verdict.evidence["match"]
            own = match["agents"][0]
            low, high = own["statistics"]["interval_95"]
            rate = own["statistics"]["score_rate"]
            if rate is None:  # no game was decided
                continue
            counts = int(own["wins"]), int(match["draws"]), int(own["losses"])
            return MatchScore(label, *counts, float(rate), float(low), float(high))
        except MALFORMED:
            continue
    return None


def _distribution(known: Sequence[float], submissions: int, most: float) -> Distribution:
    counts = [0] * BINS
    for points in known:
        counts[min(BINS - 1, int(points / most * BINS))] += 1
    return Distribution(tuple(counts), most, median(known) if known else None, submissions - len(known))


def _difficulties(
    results: Sequence[Results], rows: Sequence[MarksRow], assignment: Assignment, items: Items
) -> tuple[ItemDifficulty, ...]:
    """Return all checks and marks, the hardest first; those for which nobody has points yet come last."""
    found = []
    for check in assignment.checks:
        verdicts = [verdict for one in results for verdict in one.program if verdict.id == check.id]
        shares = [verdict.points / verdict.max_points for verdict in verdicts if verdict.status != COULD_NOT_GRADE]
        found.append(_difficulty(check, shares, len(verdicts)))
    for mark in items.marks:
        details = items.rubric.get(mark.id, ())
        asked = [row for row in rows if row.has(mark.id, details)]
        shares = [points / mark.points for row in asked if (points := row.points_of(mark.id, details)) is not None]
        if asked:
            found.append(_difficulty(mark, shares, len(asked)))
    return tuple(sorted(found, key=lambda item: (item.share is None, item.share, item.id)))


def _difficulty(item: Check, shares: Sequence[float], asked: int) -> ItemDifficulty:
    return ItemDifficulty(
        id=item.id,
        title=item.title,
        points=item.points,
        share=sum(shares) / len(shares) if shares else None,
        full=sum(share >= 1 for share in shares),
        part=sum(0 < share < 1 for share in shares),
        zero=sum(share <= 0 for share in shares),
        waiting=asked - len(shares),
    )


def _mistakes(results: Sequence[Results], anonymiser: Anonymiser) -> tuple[tuple[Mistake, ...], int]:
    """Return the messages that most submissions got, and the number of messages that too few got to be shown."""
    examples: dict[str, set[str]] = {}
    checks: dict[str, dict[str, None]] = {}
    submissions: dict[str, set[str]] = {}  # by the digest of their files, which the members of a group share
    for one in results:
        for verdict in filter(_is_mistake, one.program):
            example = anonymiser.sentence(verdict.message)
            pattern = pattern_of(example)
            examples.setdefault(pattern, set()).add(example)
            checks.setdefault(pattern, {})[verdict.title] = None
            submissions.setdefault(pattern, set()).add(one.digest)
    found = [
        Mistake(min(examples[pattern], key=lambda text: (len(text), text)), tuple(checks[pattern]), len(submissions[pattern]))
        for pattern in examples
    ]
    common = [mistake for mistake in found if mistake.submissions >= LEAST_SUBMISSIONS]
    common.sort(key=lambda mistake: (-mistake.submissions, mistake.example))
    return tuple(common[:MOST_MISTAKES]), len(found) - len(common)


def _is_mistake(verdict: Verdict) -> bool:
    # The result of a match is a measurement, which the leaderboard shows.
    return verdict.status in (PARTIAL, FAILED) and "match" not in verdict.evidence
