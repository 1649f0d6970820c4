"""The parts of a handout that are generated: the points, from assignment.toml, and what a person marks, from rubric.toml.

Each part lies between two markers, in every language of the handout: `docs/handout.zh.md` is the Chinese text of
`docs/handout.md`. Titles of checks and criteria are in English everywhere. Checks are grouped by their chapter, in the
assignment's order. Every section to which the assignment, a stub or the framework refers must be a heading of the handout.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from common.errors import UsageError
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_assignment
from grader.instructor.notebook import COURSE, RubricItem, load_rubric, table_cell
from grader.pipeline.workspace import framework_files

POINTS = ("<!-- points: begin (python -m grader handout) -->", "<!-- points: end -->")
CRITERIA = ("<!-- criteria: begin (python -m grader handout) -->", "<!-- criteria: end -->")
NUMBER = r"\d+(?:\.\d+)*"
HEADING = re.compile(rf"^#{{2,4}} ({NUMBER}) (.+)$", re.MULTILINE)
REFERENCE = re.compile(rf"handout(?: sections?)? ({NUMBER}(?:(?:, | and ){NUMBER})*)")


@dataclass(frozen=True)
class Words:
    """The words of the tables in one language.

    Attributes:
        points, criteria: the cells of a table's first row.
    """

    points: tuple[str, ...]
    criteria: tuple[str, ...]
    total: str


WORDS = {
    "": Words(("Section", "Check", "What it checks", "Points"), ("Part", "What earns the points", "Points"), "Total"),
    ".zh": Words(("节", "检查项", "检查什么", "分值"), ("部分", "得分条件", "分值"), "合计"),
}
"""What stands before `.md` in the name of a handout -> its words."""


def headings(text: str) -> dict[str, str]:
    """Return number -> title for every numbered heading."""
    return {number: title.strip() for number, title in HEADING.findall(text)}


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = ("|" + "".join(f" {cell} |" if cell else " |" for cell in cells) for cells in (head, *rows))
    return "\n".join([first, "|" + "---|" * len(head), *others])


def points_table(assignment: Assignment, titles: dict[str, str], words: Words = WORDS[""]) -> str:
    """Return the points: a row for each check and mark, a heading row with the sum for each chapter, and the total."""
    items = [*assignment.checks, *assignment.marks]
    rows: list[tuple[str, ...]] = []
    for chapter, group in groupby(items, key=lambda item: item.handout.split(".")[0]):
        members = list(group)
        rows.append((f"**{chapter}**", "", f"**{titles.get(chapter, '')}**", f"**{sum(m.points for m in members):g}**"))
        rows += [(m.handout, f"`{m.id}`", table_cell(m.title), f"{m.points:g}") for m in members]
    rows.append(("", "", f"**{words.total}**", f"**{sum(item.points for item in items):g}**"))
    return _table(words.points, rows)


def criteria_table(assignment: Assignment, rubric: Sequence[RubricItem], words: Words = WORDS[""]) -> str:
    """Return what a person marks: a row for each criterion, and a heading row with the points of each mark."""
    rows = []
    for mark in assignment.marks:
        rows.append((f"**{table_cell(mark.title)}**", "", f"**{mark.points:g}**"))
        for item in (item for item in rubric if item.mark == mark.id):
            titles = [item.title, *[""] * (len(item.criteria) - 1)]
            for title, (points, what) in zip(titles, item.criteria, strict=True):
                rows.append((table_cell(title), table_cell(what), f"{points:g}"))
    return _table(words.criteria, rows)


def _replaced(text: str, markers: tuple[str, str], table: str, name: str) -> str:
    before, begin, rest = text.partition(markers[0])
    _, end, after = rest.partition(markers[1])
    if not begin or not end or begin in rest or end in after:
        raise UsageError(f"expected {markers[0]} and then {markers[1]}, once each, in {name}")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def render(text: str, assignment: Assignment, rubric: Sequence[RubricItem], name: str) -> str:
    """Return a handout with the tables that the assignment and its rubric give, in the language that its name says.

    Raises:
        UsageError: the text does not hold the markers once each, in order.
    """
    words = WORDS[Path(name).with_suffix("").suffix]
    text = _replaced(text, POINTS, points_table(assignment, headings(text), words), name)
    return _replaced(text, CRITERIA, criteria_table(assignment, rubric, words), name) if assignment.marks else text


def missing_sections(text: str, assignment: Assignment, root: Path = ROOT) -> list[str]:
    """Return `section (who refers to it)` for each section that is referred to but is not a heading of the handout."""
    named = [(item.handout, item.id) for item in (*assignment.checks, *assignment.marks)]
    for name in dict.fromkeys([*assignment.stubs, *framework_files(assignment, root)]):
        place = root / assignment.place(name)
        if name.endswith((".py", ".cpp", ".h")) and place.is_file():
            for numbers in REFERENCE.findall(place.read_text(encoding="utf-8")):
                named += [(number, name) for number in re.findall(NUMBER, numbers)]
    there = headings(text)
    return [f"{number} ({who})" for number, who in dict.fromkeys(named) if number not in there]


def texts(assignment: Assignment, root: Path = ROOT) -> dict[str, str]:
    """Return name -> text of the handout and of its translations that exist.

    Raises:
        UsageError: the handout cannot be read.
    """
    stem = assignment.place(assignment.handout).removesuffix(".md")
    names = [f"{stem}{language}.md" for language in WORDS]
    try:
        return {name: (root / name).read_text(encoding="utf-8") for name in names if name == names[0] or (root / name).exists()}
    except OSError as error:
        raise UsageError(f"expected the handout at {error.filename}: {error.strerror}") from error


def main(*, check: bool, assignment: Assignment | None = None, root: Path = ROOT) -> int:
    """Write the tables of an assignment, by default the main one, or with `check` only say whether they differ.

    Returns:
        1 if one differs under `check`, or if the handout lacks a section that is referred to; else 0.
    """
    assignment = assignment or load_assignment()
    rubric = load_rubric(assignment, root / assignment.home / "course" if assignment.home else root / COURSE.relative_to(ROOT))
    outcome = 0
    for name, text in texts(assignment, root).items():
        if missing := missing_sections(text, assignment, root):
            print(f"{name} lacks sections that are referred to: {', '.join(missing)}", file=sys.stderr)
            return 1
        fresh = render(text, assignment, rubric, name)
        if not check:
            (root / name).write_text(fresh, encoding="utf-8")
            print(f"the tables in {name} {'are already up to date' if fresh == text else 'have been updated'}")
        elif fresh != text:
            command = f"python -m grader handout{assignment.lab_option}"
            print(f"the tables in {name} are out of date; run {command}", file=sys.stderr)
            outcome = 1
    return outcome
