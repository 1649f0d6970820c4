"""Totals by a scheme. The arithmetic is exact; a total is rounded once, at the end.

For each total, with the numbers as marks.csv shows them:

    parts + extra credit - above_cap - penalty + rounding = total
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from grader.instructor.marking.items import Items
from grader.instructor.marking.schemes import Scheme
from grader.instructor.marking.standing import Standing, part_points, reasons

PLACES = Decimal("0.0001")
PASS, FAIL = "pass", "fail"


@dataclass(frozen=True)
class Total:
    """One student's total.

    Attributes:
        parts: part -> points, as shown; None if something is lacking.
        extra: item of extra credit -> points, as shown.
        above_cap: what the cap takes away. It is None, as are the next three, if the total is incomplete.
        penalty: what is lost because the submission was late.
        rounding: what the rounding of the total, and of the shown parts, adds.
        total: the points that count.
        grade: PASS or FAIL, empty if the scheme gives no grade or the total is incomplete.
        reasons: why the total is incomplete; empty if it is final.
    """

    parts: dict[str, Decimal | None]
    extra: dict[str, Decimal]
    above_cap: Decimal | None = None
    penalty: Decimal | None = None
    rounding: Decimal | None = None
    total: Decimal | None = None
    grade: str = ""
    reasons: tuple[str, ...] = ()


def shown(points: Fraction) -> Decimal:
    """Return points as the tables show them, with at most four places."""
    exact = Decimal(points.numerator) / Decimal(points.denominator)
    rounded = exact.quantize(PLACES, ROUND_HALF_UP).normalize()
    return rounded.quantize(Decimal(1)) if rounded == rounded.to_integral() else rounded


def total_of(standing: Standing, items: Items) -> Total:
    """Return the total of a student, or an incomplete one that says what is lacking."""
    scheme = items.scheme
    parts = {part.id: part_points(standing, part, items) for part in scheme.parts}
    extra = {item.id: standing.points[item.id] for item in scheme.extra if item.id in standing.points}
    shown_parts = {part: None if points is None else shown(points) for part, points in parts.items()}
    shown_extra = {item: shown(points) for item, points in extra.items()}
    open_parts = [part for part in scheme.parts if parts[part.id] is None]
    lacking = dict.fromkeys(unit.id for part in open_parts for unit in scheme.counted_by(part))
    why = [*standing.doubts, *reasons(standing, lacking)]
    if why or open_parts:
        return Total(shown_parts, shown_extra, reasons=tuple(why))
    whole = sum((points for points in parts.values() if points is not None), Fraction(0)) + sum(extra.values(), Fraction(0))
    capped = min(whole, scheme.most)
    late = scheme.late.penalty(capped, standing.late_minutes) if scheme.late and standing.late_minutes else Fraction(0)
    final = scheme.rounding(capped - late)
    above, penalty, total = shown(whole - capped), shown(late), shown(final)
    sums = sum((points for points in (*shown_parts.values(), *shown_extra.values()) if points is not None), Decimal(0))
    rounding = total - (sums - above - penalty)
    return Total(shown_parts, shown_extra, above, penalty, rounding, total, _grade(scheme, parts, final))


def _grade(scheme: Scheme, parts: dict[str, Fraction | None], total: Fraction) -> str:
    if not scheme.pass_if:
        return ""
    full = {part.id: scheme.full_points(part) for part in scheme.parts}
    enough = [total >= scheme.pass_if.total * scheme.most]
    enough += [(parts[part] or Fraction(0)) >= share * full[part] for part, share in scheme.pass_if.parts.items()]
    return PASS if all(enough) else FAIL
