"""The page about the whole class, to be published: one file without any external request, and without anyone's name."""

from __future__ import annotations

from dataclasses import dataclass

from grader.instructor.returning.class_summary import ClassSummary, Distribution
from grader.instructor.returning.folders import TEMPLATES
from grader.instructor.returning.ladder import LadderTable
from grader.pipeline.report import template_environment

# The histogram in the units of its viewBox, which are pixels on a phone.
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 200, 24, 16, 44
GAP = 3
LABEL = 48  # half of the width of the words below the median


@dataclass(frozen=True)
class Bar:
    """A bar of the histogram: its place in the picture, its count, and the range of points from `low` to `high`."""

    x: float
    y: float
    width: float
    height: float
    count: int
    low: float
    high: float


@dataclass(frozen=True)
class Histogram:
    """A histogram as a picture.

    Attributes:
        ticks: (x, points) below the bars.
        median_x: the place of the median; None if there is none.
        label_x: the middle of the words about it.
        base: y of the axis.
    """

    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, float], ...]
    median_x: float | None
    label_x: float
    base: float


def histogram(points: Distribution) -> Histogram:
    """Return the picture of a distribution."""
    inner, base = WIDTH - 2 * LEFT, HEIGHT - BOTTOM
    step, most = inner / len(points.counts), max(1, *points.counts)
    range_width = points.most / len(points.counts)
    bars = []
    for i, count in enumerate(points.counts):
        height = (base - TOP) * count / most
        bars.append(
            Bar(LEFT + i * step + GAP / 2, base - height, step - GAP, height, count, i * range_width, (i + 1) * range_width)
        )
    ticks = tuple((LEFT + inner * share, points.most * share) for share in (0, 0.5, 1))
    median_x = None if points.median is None else LEFT + inner * points.median / points.most
    label_x = min(max(median_x or 0, LABEL), WIDTH - LABEL)
    return Histogram(tuple(bars), ticks, median_x, label_x, base)


def render_class_page(summary: ClassSummary, ladder: LadderTable | None) -> str:
    """Return the page as text."""
    return (
        template_environment(TEMPLATES)
        .get_template("class.html.j2")
        .render(
            summary=summary,
            histogram=histogram,
            width=WIDTH,
            height=HEIGHT,
            left=LEFT,
            ladder=ladder,
        )
    )
