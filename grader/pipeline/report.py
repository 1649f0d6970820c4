"""Render results as a self-contained report.html that a student can understand: each check with its points and the reason."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import jinja2

from arena.view.page import TEMPLATES as VIEWER
from arena.view.page import script
from common import pages
from common.files import write_whole
from common.scoring import format_points
from grader.assignment_file import load_named
from grader.pipeline.gains import failures_first, missing_points, nearest_first, subtotals
from grader.pipeline.pictures import pictures_of
from grader.pipeline.results import Results
from grader.pipeline.sections import read_sections

TEMPLATES = Path(__file__).with_name("templates")
SENTENCE = re.compile(r"(?<=[a-z0-9)%][.!?]) (?=[A-Z])")

STATUS_WORDS = {
    "passed": "passed",
    "partial": "in part",
    "failed": "failed",
    "could_not_grade": "could not be graded",
    "awaiting_marks": "awaits marks",
}


def in_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, so that each can stand on a line of its own."""
    return [part for line in text.split("\n") for part in SENTENCE.split(line) if part]


@cache  # the environment keeps compiled templates
def template_environment(*folders: Path) -> jinja2.Environment:
    """Return an environment for the templates in these folders; see `common.pages`."""
    environment = pages.template_environment(*folders)
    environment.filters["format_points"] = format_points
    environment.filters["sentences"] = in_sentences
    environment.filters["minutes"] = lambda seconds: f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return environment


def report_templates() -> list[Path]:
    """Return the files that a report is made of."""
    return sorted(path for folder in (TEMPLATES, VIEWER) for path in folder.glob("*.j2"))


def render_report(results: Results, *, made: str = "", with_seed: bool = True, folder: Path | None = None) -> str:
    """Return the page as text. Everything that comes from a submission is escaped by the template engine.

    Args:
        made: the date on the page; empty for the current time.
        with_seed: whether the page names the seed of the hidden positions and games, and the node of a cluster.
        folder: where the page stays, if it does.
    """
    environment, assignment = template_environment(TEMPLATES, VIEWER), load_named(results.assignment)
    plays = assignment.is_in_kit("human_play.py")
    pictures = {verdict.id: pictures_of(verdict, with_commands=plays) for verdict in results.verdicts}
    long = {check for ids in assignment.long_checks.values() for check in ids}
    has_games = any(each.games for each in pictures.values())
    return environment.get_template("report.html.j2").render(
        results=results,
        words=STATUS_WORDS,
        matches={verdict.id: verdict.evidence["match"] for verdict in results.verdicts if "match" in verdict.evidence},
        pictures=pictures,
        parts=subtotals(results),
        near=nearest_first(results.program, long),
        checks=failures_first(results, long),
        missing_points=missing_points,
        sections=read_sections(assignment, folder=folder),
        purposes={item.id: item.purpose for item in (*assignment.checks, *assignment.marks)},
        has_games=has_games,
        policy=pages.policy_for(script() if has_games else ""),
        made=made or time.strftime("%Y-%m-%d %H:%M"),
        with_seed=with_seed,
    )


def write_report(results: Results, path: Path) -> None:
    """Write the page, whole or not at all."""
    write_whole(path, render_report(results, folder=path.parent))
