"""What is known about one student before any total: points, what is lacking and why, lateness, and decisions of people.

The sources are the result of the programs, marks by hand (a CSV file and nbgrader's gradebook) and overrides, in this order.
Nothing is guessed: where something is lacking or two sources disagree, the student's total is incomplete and says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from grader.instructor.collecting.attempts import COLLECTED, MISSING
from grader.instructor.gradebook_entries import GradebookEntry
from grader.instructor.marking.items import Items
from grader.instructor.marking.schemes import LATE_MINUTES, Part, profile_warning
from grader.instructor.marking.tables import Handed, HandMark, Override

NOT_GRADED, NOT_MARKED = "could not be graded:", "not marked:"
"""Reasons that end with a colon are followed by what they concern."""


@dataclass(frozen=True)
class Sources:
    """Everything that was read about one student.

    Attributes:
        entry: the result of the programs; None if there is none.
        unreadable: why there is no result that can be used; empty if nothing says so.
        remark: what has to be known about the result, even if it counts; empty if nothing has.
        unknown_owners: whether submissions were collected of which nobody knows the owner.
        handed: the line of collected.csv; None without one.
        by_hand: item -> mark, from the CSV file.
        formgrader: item -> mark, from nbgrader's gradebook.
        overrides: item, part or late_minutes -> override.
    """

    entry: GradebookEntry | None
    unreadable: str
    handed: Handed | None
    by_hand: dict[str, HandMark]
    formgrader: dict[str, HandMark]
    overrides: dict[str, Override]
    remark: str = ""
    unknown_owners: bool = False


@dataclass(frozen=True)
class Policy:
    """What the instructor has decided for students about whom something is not known."""

    missing_as_zero: bool = False
    unknown_as_on_time: bool = False


@dataclass(frozen=True)
class Change:
    """An override that was applied, or a correction of a check in formgrader; `before` is None if there were no points."""

    item: str
    points: Fraction
    before: Fraction | None
    reason: str
    by: str


@dataclass
class Standing:
    """One student's points and what is lacking; only this module changes it.

    Attributes:
        points: item or part -> points. A mark is there as a whole or by its items, a part only if it was overridden.
        lacking: check, mark or item by hand without points -> why.
        no_result: why there are no program points; empty if there are some.
        doubts: reasons why no total can be final, whatever the points.
        remarks: phrases that stay true of a final total.
        warning: why the total is not final although nothing is lacking; empty if it is.
        late_minutes: None if it is not known or does not apply.
    """

    points: dict[str, Fraction] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    submitted_at: str = ""
    late_minutes: int | None = None
    no_result: str = ""
    handed_in: bool = True
    warning: str = ""


def standing_of(sources: Sources, items: Items, policy: Policy) -> Standing:
    """Return what the sources say about a student."""
    standing = Standing()
    _look_at_what_was_handed_in(standing, sources, policy)
    _take_program_points(standing, sources, items)
    _take_marks(standing, sources, items)
    if not standing.handed_in:
        _count_the_rest_as_0(standing, sources, items)
    _take_late_minutes(standing, sources, items, policy)
    _apply_overrides(standing, sources, items)
    return standing


def reasons(standing: Standing, units: Iterable[str]) -> list[str]:
    """Return why these units have no points, one phrase for each reason."""
    grouped: dict[str, list[str]] = {}
    for unit in units:
        if unit in standing.lacking:
            grouped.setdefault(standing.lacking[unit], []).append(unit)
    return [f"{why} {', '.join(found)}" if why.endswith(":") else why for why, found in grouped.items()]


def part_points(standing: Standing, part: Part, items: Items) -> Fraction | None:
    """Return a part's points: those of an override, or those of its items, scaled; None if one is missing or given twice."""
    if part.id in standing.points:
        return standing.points[part.id]
    units = items.scheme.counted_by(part)
    if any(unit.id in standing.lacking for unit in units):
        return None
    details = {unit.id: [name for name in items.rubric.get(unit.id, ()) if name in standing.points] for unit in units}
    if any(unit in standing.points and given for unit, given in details.items()):
        return None
    names = [name for unit, given in details.items() for name in (unit, *given)]
    earned = sum((standing.points.get(name, Fraction(0)) for name in names), Fraction(0))
    return items.parts[part.id] * earned / items.scheme.counted_points(part)


def _look_at_what_was_handed_in(standing: Standing, sources: Sources, policy: Policy) -> None:
    handed = sources.handed
    if handed:
        standing.submitted_at = handed.submitted.isoformat() if handed.submitted else ""
        if handed.outcome not in (COLLECTED, MISSING):
            standing.doubts.append(f"collected.csv has the outcome {handed.outcome!r}, so a person has to look")
        if handed.outcome == MISSING and handed.attempts:
            standing.doubts.append(f"collected.csv counts none of {handed.attempts} attempts, so a person has to look")
        if handed.outcome == MISSING and sources.entry:
            standing.doubts.append("collected.csv says that nothing was handed in, but there is a result")
    if sources.entry:
        standing.doubts += [sources.unreadable] if sources.unreadable else []
        standing.remarks += [sources.remark] if sources.remark else []
        return
    nothing = handed is not None and handed.outcome == MISSING
    if (nothing or (handed is None and policy.missing_as_zero)) and not sources.unreadable and not standing.doubts:
        standing.handed_in = False
        standing.remarks.append("nothing was handed in" if nothing else "no result, counted as nothing handed in")
        if sources.unknown_owners and not policy.missing_as_zero:
            standing.warning = "one of the submissions whose owner is not known may belong to this student"
    standing.no_result = sources.unreadable or (
        "something was handed in, but there is no result" if handed and handed.outcome == COLLECTED else "there is no result"
    )


def _take_program_points(standing: Standing, sources: Sources, items: Items) -> None:
    entry = sources.entry
    if entry:
        standing.warning = profile_warning(entry.profile, items.scheme)
    program = {check.id: check.points for check in entry.checks} if entry else {}
    for check in items.checks:
        points = program.get(check)
        if points is not None:
            standing.points[check] = Fraction(str(points))
        else:
            standing.lacking[check] = NOT_GRADED if entry else standing.no_result


def _take_marks(standing: Standing, sources: Sources, items: Items) -> None:
    for check in items.checks:
        _take_check(standing, check, sources)
    for unit in (mark.id for mark in items.marks):
        details = [name for name in items.rubric.get(unit, ()) if _merged(standing, name, sources)]
        whole = _merged(standing, unit, sources)
        if whole and details:
            standing.doubts.append(f"{unit} is given as a whole and by {', '.join(details)}")
        elif not whole and (not details or len(details) < len(items.rubric[unit])):
            _lacks_marks(standing, unit, items)
    for item in items.scheme.extra:
        _merged(standing, item.id, sources)


def _take_check(standing: Standing, check: str, sources: Sources) -> None:
    """Take a person's points for a check, which need a reason if the program has decided."""
    before = standing.points.get(check)
    given = sources.by_hand.get(check)
    if given and given.points is not None and before is not None and given.points != before:
        standing.doubts.append(
            f"{given.where} gives points for {check}, which the program has decided: correct it with an override"
        )
        return
    corrected = sources.formgrader.get(check)
    if not _merged(standing, check, sources):
        return
    standing.lacking.pop(check, None)
    if corrected and corrected.points is not None and before is not None and corrected.points != before:
        if corrected.comment:
            standing.changes.append(Change(check, corrected.points, before, corrected.comment, "formgrader"))
        else:
            standing.doubts.append(f"the correction of {check} in formgrader lacks a reason: write it as a comment there")


def _merged(standing: Standing, item: str, sources: Sources) -> bool:
    """Enter what people gave for an item; return whether it has points now."""
    marks = [mark for given in (sources.by_hand, sources.formgrader) if (mark := given.get(item))]
    points = {mark.points for mark in marks if mark.points is not None}
    if len(points) > 1:
        places = " and ".join(f"{float(m.points):g} ({m.where})" for m in marks if m.points is not None)
        standing.doubts.append(f"two marks for {item} disagree: {places}")
    elif points:
        standing.points[item] = points.pop()
    for mark in marks:
        if mark.extra and item in standing.points:
            standing.points[item] += mark.extra
            standing.remarks.append(f"{item} includes {float(mark.extra):g} extra credit from formgrader")
        elif mark.extra and not points:
            standing.doubts.append(
                f"{item} has {float(mark.extra):g} extra credit in formgrader, but no points there, so it does not count: type "
                "the points of the item, or take the extra credit out"
            )
        comment = f"{item}: {mark.comment}"
        if mark.comment and comment not in standing.comments:
            standing.comments.append(comment)
    return item in standing.points


def _count_the_rest_as_0(standing: Standing, sources: Sources, items: Items) -> None:
    """Give 0 for everything without points; if only some items of a mark have points, the others get 0."""
    if any(standing.points.values()):
        standing.remarks.append("marks given by a person count")
    for unit in standing.lacking:
        details = items.rubric.get(unit, ())
        given = [name for name in details if name in standing.points or name in sources.overrides]
        if given and unit not in sources.overrides:
            standing.points |= {name: Fraction(0) for name in details if name not in standing.points}
            if len(given) < len(details):
                standing.remarks.append(f"the items of {unit} that nobody gave count as 0")
        else:
            standing.points[unit] = Fraction(0)
    standing.lacking.clear()


def _take_late_minutes(standing: Standing, sources: Sources, items: Items, policy: Policy) -> None:
    if not standing.handed_in or LATE_MINUTES in sources.overrides:
        return
    standing.late_minutes = sources.handed.late_minutes if sources.handed else None
    if standing.late_minutes is None and items.scheme.late:
        if sources.handed and sources.handed.marked_late:
            standing.doubts.append(
                "the platform marks the submission as late, but not by how much: give its time with collect --times, or "
                "override late_minutes"
            )
        elif policy.unknown_as_on_time:
            standing.remarks.append("the time of the submission is not known; counted as on time")
        else:
            standing.doubts.append("it is not known whether the submission was late")


def _apply_overrides(standing: Standing, sources: Sources, items: Items) -> None:
    for item, override in sources.overrides.items():
        if item == LATE_MINUTES:
            known = sources.handed.late_minutes if sources.handed else None
            before = None if known is None else Fraction(known)
            standing.late_minutes = int(override.points)
        elif _is_given_twice(standing, item, sources, items):
            continue
        else:
            before = _replace_points(standing, item, override.points, items)
        standing.changes.append(Change(item, override.points, before, override.reason, override.by))
    for part in items.scheme.parts:
        names = [name for unit in items.scheme.counted_by(part) for name in (unit.id, *items.rubric.get(unit.id, ()))]
        if part.id in sources.overrides and (without_effect := [name for name in names if name in sources.overrides]):
            standing.remarks.append(f"{part.id} is overridden, so the overrides of {', '.join(without_effect)} change no total")
    late = items.scheme.late
    if late and standing.late_minutes and late.days(standing.late_minutes) > late.latest_days:
        standing.remarks.append(f"more than {late.latest_days} days late, so the total is 0")


def _is_given_twice(standing: Standing, item: str, sources: Sources, items: Items) -> bool:
    """Return whether an override is for an item of a mark that is given as a whole; a doubt says so."""
    mark = item.rpartition(".")[0]
    if mark not in items.rubric or (mark not in standing.points and mark not in sources.overrides):
        return False
    standing.doubts.append(f"{mark} is given as a whole, so {item} cannot be overridden: override {mark}")
    return True


def _replace_points(standing: Standing, item: str, points: Fraction, items: Items) -> Fraction | None:
    """Enter the points of an override, for a mark in place of those of its items; return the points before, if any."""
    part = next((part for part in items.scheme.parts if part.id == item), None)
    details = items.rubric.get(item, ())
    given = [standing.points.pop(name) for name in details if name in standing.points]
    all_given = bool(details) and len(given) == len(details)
    before = standing.points.get(item, sum(given, Fraction(0)) if all_given else None)
    if part:
        before = part_points(standing, part, items)
    standing.points[item] = points
    standing.lacking.pop(item, None)
    mark = item.rpartition(".")[0]
    if mark in standing.lacking:
        _lacks_marks(standing, mark, items)
    return before


def _lacks_marks(standing: Standing, mark: str, items: Items) -> None:
    """Note which points of a mark or an item by hand are lacking, if any are."""
    details = items.rubric.get(mark, ())
    rest = [name for name in details if name not in standing.points]
    standing.lacking.pop(mark, None)
    if rest or not details:
        standing.lacking[mark] = f"{NOT_MARKED} {', '.join(rest)}" if len(rest) < len(details) else NOT_MARKED
