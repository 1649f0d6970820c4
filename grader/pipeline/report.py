"""Render results as a self-contained report.html that a student can understand: each check with its points and the reason."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jinja2

from common.files import write_whole
from common.harmless_text import on_screen
from grader.pipeline.results import Results

TEMPLATES = Path(__file__).with_name("templates")

STATUS_WORDS = {
    "passed": "passed",
    "partial": "in part",
    "failed": "failed",
    "could_not_grade": "could not be graded",
    "awaiting_marks": "awaits marks",
}


def format_points(value: float) -> str:
    """Return points as text without trailing zeros."""
    return f"{value:g}"


def without_control_characters(value: Any) -> Any:
    """Remove control characters from a text, because a submission's output may contain them; return other values unchanged."""
    return on_screen(value, keep="\n") if isinstance(value, str) else value


def template_environment(*folders: Path) -> jinja2.Environment:
    """Return an environment for the templates in these folders; it escapes every value and removes control characters."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=without_control_characters,
    )
    environment.filters["format_points"] = format_points
    environment.filters["minutes"] = lambda seconds: f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return environment


def render_report(results: Results, *, made: str = "", with_seed: bool = True) -> str:
    """Return the page as text. Everything that comes from a submission is escaped by the template engine.

    Args:
        made: the date on the page; empty for the current time.
        with_seed: whether the page names the seed of the hidden positions and games.
    """
    environment = template_environment(TEMPLATES)
    matches = [verdict.evidence["match"] for verdict in results.verdicts if "match" in verdict.evidence]
    return environment.get_template("report.html.j2").render(
        results=results,
        words=STATUS_WORDS,
        matches=matches,
        made=made or time.strftime("%Y-%m-%d %H:%M"),
        with_seed=with_seed,
    )


def write_report(results: Results, path: Path) -> None:
    """Write the page, whole or not at all."""
    write_whole(path, render_report(results))
