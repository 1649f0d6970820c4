"""The handout's table of points, rendered from assignment.toml so that the two cannot drift apart.

The table lies between two markers in the handout. Checks are grouped by their chapter, in the assignment's order. Every
section to which the assignment, a stub or the framework refers must be a heading of the handout.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby

from common.errors import UsageError
from grader.assignment import ROOT, Assignment, load_assignment
from grader.pipeline.workspace import framework_files

BEGIN = "<!-- points: begin (python -m grader handout) -->"
END = "<!-- points: end -->"
NUMBER = r"\d+(?:\.\d+)*"
HEADING = re.compile(rf"^#{{2,4}} ({NUMBER}) (.+)$", re.MULTILINE)
REFERENCE = re.compile(rf"handout(?: sections?)? ({NUMBER}(?:(?:, | and ){NUMBER})*)")


def headings(text: str) -> dict[str, str]:
    """Return number -> title for every numbered heading."""
    return {number: title.strip() for number, title in HEADING.findall(text)}


def table_cell(text: str) -> str:
    """Return a text that may stand in a cell of a Markdown table."""
    return text.replace("|", r"\|")


def points_table(assignment: Assignment, titles: dict[str, str]) -> str:
    """Return the table: a row for each check and mark, a heading row with the sum for each chapter, and the total."""
    items = [*assignment.checks, *assignment.marks]
    rows = ["| Section | Check | What it checks | Points |", "|---|---|---|---|"]
    for chapter, group in groupby(items, key=lambda item: item.handout.split(".")[0]):
        members = list(group)
        rows.append(f"| **{chapter}** | | **{titles.get(chapter, '')}** | **{sum(m.points for m in members):g}** |")
        rows += [f"| {m.handout} | `{m.id}` | {table_cell(m.title)} | {m.points:g} |" for m in members]
    rows.append(f"| | | **Total** | **{sum(item.points for item in items):g}** |")
    return "\n".join(rows)


def render(text: str, assignment: Assignment) -> str:
    """Return the handout with the table that the assignment gives.

    Raises:
        UsageError: the text does not hold the two markers once each, in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise UsageError(f"expected {BEGIN} and then {END}, once each, in {assignment.handout}")
    return f"{before}{BEGIN}\n\n{points_table(assignment, headings(text))}\n\n{END}{after}"


def missing_sections(text: str, assignment: Assignment) -> list[str]:
    """Return `section (who refers to it)` for each section that is referred to but is not a heading of the handout."""
    named = [(item.handout, item.id) for item in (*assignment.checks, *assignment.marks)]
    for name in dict.fromkeys([*assignment.stubs, *framework_files(assignment)]):
        place = ROOT / assignment.place(name)
        if name.endswith((".py", ".cpp", ".h")) and place.is_file():
            for numbers in REFERENCE.findall(place.read_text(encoding="utf-8")):
                named += [(number, name) for number in re.findall(NUMBER, numbers)]
    there = headings(text)
    return [f"{number} ({who})" for number, who in dict.fromkeys(named) if number not in there]


def main(*, check: bool, assignment: Assignment | None = None) -> int:
    """Write the table of an assignment, by default the main one, or with `check` only say whether it differs.

    Returns:
        1 if it differs under `check`, or if the handout lacks a section that is referred to; else 0.
    """
    assignment = assignment or load_assignment()
    path = ROOT / assignment.place(assignment.handout)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"expected the handout at {path}: {error.strerror}") from error
    if missing := missing_sections(text, assignment):
        print(f"{assignment.handout} lacks sections that are referred to: {', '.join(missing)}", file=sys.stderr)
        return 1
    fresh = render(text, assignment)
    if check:
        if fresh != text:
            print(f"the points in {assignment.handout} are out of date; run python -m grader handout", file=sys.stderr)
        return int(fresh != text)
    path.write_text(fresh, encoding="utf-8")
    print(f"the points in {assignment.handout} {'are already up to date' if fresh == text else 'have been updated'}")
    return 0
