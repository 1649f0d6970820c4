"""A scheme says how program points and marks become a total. Each is a file `schemes/NAME.toml` in the course.

It is apart from assignment.toml because that file decides verdicts: a change there would grade every submission again.
The keys are explained in `instructor/course/schemes/win_rate.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

from common.errors import UsageError
from grader.assignment import Assignment, Check
from grader.typed_toml import Mistake, converted, read_toml

SCHEMES = "schemes"
DEFAULT = "win_rate"
ROUNDINGS = {"nearest": lambda steps: floor(steps + Fraction(1, 2)), "up": ceil, "down": floor}
UNITS = ("percent", "points")
ID = re.compile(r"[a-z][a-z0-9_]*")
PERSON = ("id", "first_name", "last_name")
LATE_MINUTES = "late_minutes"
SCHEME = "scheme"
FINAL = "final"
YES, NO = "yes", "no"
OUTCOME = (
    *("submitted_at", LATE_MINUTES, "above_cap", "penalty", "rounding", "overrides", "comments"),
    *("total", "grade", FINAL, SCHEME, "note"),
)
"""PERSON, OUTCOME: the columns of marks.csv before and after the items and parts."""
MINUTES_PER_DAY = 24 * 60


@dataclass(frozen=True)
class Item:
    """Something with points; `points` is the most that can be given."""

    id: str
    title: str
    points: Fraction


@dataclass(frozen=True)
class Part:
    """A part of the total, with the checks and marks that it counts (`Check.is_of`).

    Attributes:
        points: full points, to which the points of what it counts are scaled; None if they count as they are.
    """

    id: str
    title: str
    counts: tuple[str, ...]
    points: Fraction | None = None


@dataclass(frozen=True)
class Rounding:
    """How a total is rounded: to a multiple of `step`, by one of ROUNDINGS."""

    step: Fraction
    how: str

    def __call__(self, points: Fraction) -> Fraction:
        return ROUNDINGS[self.how](points / self.step) * self.step


@dataclass(frozen=True)
class LateRule:
    """What a late submission loses.

    Attributes:
        per_day: the loss for each day begun after the due date, in `unit` (one of UNITS; percent of the total).
        grace_minutes: up to this many minutes late, nothing is lost.
        latest_days: a submission that is later than this has a total of 0.
    """

    per_day: Fraction
    unit: str
    grace_minutes: int
    latest_days: int

    def days(self, minutes: int) -> int:
        """Return the days that count; 0 within the grace."""
        return 0 if minutes <= self.grace_minutes else ceil(Fraction(minutes, MINUTES_PER_DAY))

    def penalty(self, total: Fraction, minutes: int) -> Fraction:
        """Return what a total loses, at most all of it."""
        days = self.days(minutes)
        if days > self.latest_days:
            return total
        lost = self.per_day * days
        return min(total, lost if self.unit == "points" else total * lost / 100)


@dataclass(frozen=True)
class PassRule:
    """The least shares in [0, 1] for the grade `pass`: of the cap, and of the points of parts (part id -> share)."""

    total: Fraction
    parts: dict[str, Fraction]


@dataclass(frozen=True)
class Description:
    """What the file of a scheme says; the names of the fields are its keys.

    Attributes:
        profile: the profile of `grade` whose results count.
        cap: the largest total; None for the full points of all parts.
        by_hand: marks that assignment.toml does not know.
        extra: extra credit, which a person may give in addition to the parts.
        left_out: beginnings of the ids of checks and marks that no part counts.
    """

    title: str
    profile: str
    rounding: Rounding
    parts: tuple[Part, ...]
    cap: Fraction | None = None
    by_hand: tuple[Item, ...] = ()
    extra: tuple[Item, ...] = ()
    left_out: tuple[str, ...] = ()
    late: LateRule | None = None
    pass_if: PassRule | None = None


@dataclass(frozen=True)
class Scheme(Description):
    """A scheme with its name, and with everything that can be counted: checks, marks and items by hand.

    Attributes:
        others: the course's other schemes, if this one was not named and is only the default among them.
    """

    name: str = ""
    units: tuple[Check, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def choice(self) -> str:
        """A sentence if the scheme is only the default among several, else an empty string."""
        if not self.others:
            return ""
        return f"The scheme is {self.name}, the default. --scheme chooses another one: {', '.join(self.others)}."

    @property
    def scaling(self) -> str:
        """A sentence about the parts whose full points are not those of what they count; an empty string if there is none."""
        scaled = [
            f"{part.id} from {float(counted):g} points to {float(full):g}"
            for part in self.parts
            if (full := self.full_points(part)) != (counted := self.counted_points(part))
        ]
        return f"The scheme {self.name} scales {', '.join(scaled)}." if scaled else ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a command says about the scheme that it uses."""
        return tuple(filter(None, (self.choice, self.scaling)))

    @property
    def most(self) -> Fraction:
        """The largest total."""
        return sum(map(self.full_points, self.parts), Fraction(0)) if self.cap is None else self.cap

    def counted_by(self, part: Part) -> list[Check]:
        """Return the checks, marks and items by hand that a part counts."""
        return [unit for unit in self.units if _is_named(unit, part.counts)]

    def counted_points(self, part: Part) -> Fraction:
        """Return the sum of the points of what a part counts."""
        return sum((Fraction(str(unit.points)) for unit in self.counted_by(part)), Fraction(0))

    def full_points(self, part: Part) -> Fraction:
        """Return the points that a part has for full points in all that it counts."""
        return self.counted_points(part) if part.points is None else part.points


def profile_warning(profile: str, scheme: Scheme) -> str:
    """Return a sentence if a result was graded with another profile than the scheme requires, else an empty string."""
    if profile == scheme.profile:
        return ""
    return (
        f"graded with profile {profile}, but the scheme {scheme.name} requires {scheme.profile}: "
        f"grade again with --profile {scheme.profile} before the marks are final"
    )


def load_scheme(name: str, course: Path, assignment: Assignment) -> Scheme:
    """Read and check a scheme.

    Args:
        name: the name of a file in the course's folder `schemes`, without .toml; empty for the only scheme, or for DEFAULT if
            there are several.

    Raises:
        UsageError: there is no such scheme, or several and no default, or its file is not TOML, misspells a key, or contradicts
            itself or the assignment.
    """
    folder = course / SCHEMES
    known = sorted(file.stem for file in folder.glob("*.toml"))
    if not known:
        example = f"labs/nogo/course/{SCHEMES}" if assignment.home else f"instructor/course/{SCHEMES}"
        raise UsageError(f"expected schemes of marks (*.toml) in {folder}; there are none: copy {example}")
    others: tuple[str, ...] = ()
    if not name and len(known) > 1:
        if DEFAULT not in known:
            raise UsageError(f"expected --scheme, because {folder} holds {', '.join(known)} and no {DEFAULT}; got none")
        name, others = DEFAULT, tuple(other for other in known if other != DEFAULT)
    name = name or known[0]
    if name not in known:
        whole_name = name.endswith(".toml") or "/" in name
        raise UsageError(
            f"expected a scheme among {', '.join(known)}, the files in {folder}"
            f"{' without folder and suffix' if whole_name else ''}; got {name!r}"
        )
    path = folder / f"{name}.toml"
    try:
        described = converted(read_toml(path, "a scheme"), Description, "")
    except Mistake as error:
        raise UsageError(f"{path}: {error}") from error
    hand = tuple(Check(item.id, item.title, float(item.points), "") for item in described.by_hand)
    scheme = Scheme(**vars(described), name=name, units=(*assignment.checks, *assignment.marks, *hand), others=others)
    for mistake in _mistakes(scheme, assignment):
        raise UsageError(f"{path}: {mistake}")
    return scheme


def _is_named(unit: Check, names: tuple[str, ...]) -> bool:
    return any(unit.is_of(name) for name in names)


def _mistakes(scheme: Scheme, assignment: Assignment) -> Iterator[str]:
    yield from _wrong_values(scheme, assignment)
    yield from _wrong_ids(scheme, assignment)
    yield from _wrong_counts(scheme)
    limit = sum(map(scheme.full_points, scheme.parts), Fraction(0)) + sum(item.points for item in scheme.extra)
    cap = float(scheme.most)
    if not 0 < scheme.most <= limit:
        yield f"expected a cap above 0 and at most {float(limit):g}, the points of all parts and extra; got {cap:g}"
    if (scheme.most / scheme.rounding.step).denominator != 1:
        without = ", the points of all parts, because the file has no cap" if scheme.cap is None else ""
        yield f"expected a cap that is a multiple of rounding.step ({float(scheme.rounding.step):g}); got {cap:g}{without}"
    if scheme.pass_if:
        if strange := sorted(set(scheme.pass_if.parts) - {part.id for part in scheme.parts}):
            names = ", ".join(part.id for part in scheme.parts)
            yield f"expected parts among {names} in pass_if.parts; got {', '.join(strange)}"
        for place, share in (("total", scheme.pass_if.total), *((f"parts.{k}", v) for k, v in scheme.pass_if.parts.items())):
            if share > 1:
                yield f"expected a share of at most 1 for pass_if.{place}; got {float(share):g}"


def _wrong_values(scheme: Scheme, assignment: Assignment) -> Iterator[str]:
    if scheme.profile not in assignment.profiles:
        yield f"expected profile among {', '.join(assignment.profiles)}; got {scheme.profile!r}"
    if scheme.rounding.how not in ROUNDINGS:
        yield f"expected rounding.how among {', '.join(ROUNDINGS)}; got {scheme.rounding.how!r}"
    if scheme.rounding.step == 0 or (100 / scheme.rounding.step).denominator != 1:
        yield f"expected a rounding.step that divides 100, such as 0.5; got {float(scheme.rounding.step):g}"
    if scheme.late and scheme.late.unit not in UNITS:
        yield f"expected late.unit among {', '.join(UNITS)}; got {scheme.late.unit!r}"
    if scheme.late and scheme.late.unit == "percent" and scheme.late.per_day > 100:
        yield f"expected late.per_day of at most 100 percent; got {float(scheme.late.per_day):g}"
    for place in ("parts", "by_hand", "extra"):
        for item in getattr(scheme, place):
            if item.points == 0:
                yield f"expected points above 0 for {item.id} in {place}; got 0"


def _wrong_ids(scheme: Scheme, assignment: Assignment) -> Iterator[str]:
    items: tuple[Item | Part, ...] = (*scheme.parts, *scheme.by_hand, *scheme.extra)
    taken = {*PERSON, *OUTCOME, *(item.id for item in (*assignment.checks, *assignment.marks))}
    for name in (item.id for item in items):
        if not ID.fullmatch(name):
            yield f"expected an id of lower-case letters, digits and underscores; got {name!r}"
        if name in taken:
            yield f"expected an id that no check, no mark, no other item and no column of marks.csv has; got {name!r} again"
        taken.add(name)


def _wrong_counts(scheme: Scheme) -> Iterator[str]:
    places = {f"the counts of {part.id}": part.counts for part in scheme.parts} | {"left_out": scheme.left_out}
    for place, names in places.items():
        for name in names:
            if not any(unit.is_of(name) for unit in scheme.units):
                yield f"expected checks or marks of the assignment, or ids of by_hand, in {place}; got {name!r}"
    for part in scheme.parts:
        if not scheme.counted_points(part):
            yield f"expected checks or marks with points in the counts of {part.id}; got none"
    for unit in scheme.units:
        where = [place for place, names in places.items() if _is_named(unit, names)]
        if not where:
            yield f"expected {unit.id} in the counts of a part, or in left_out; it is in neither"
        if len(where) > 1:
            yield f"expected {unit.id} in one place; it is in {' and in '.join(where)}"
