"""The sections of the handout: their titles, and links to them if the assignment says where students read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import ROOT, Assignment

HEADING = re.compile(r"^#{2,4} (\d+(?:\.\d+)*) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A section of the handout; `link` is empty if nobody knows its address."""

    number: str
    title: str = ""
    link: str = ""


def read_sections(assignment: Assignment, root: Path = ROOT) -> dict[str, Section]:
    """Return number -> section; empty if the handout is not there, as in the archive for another machine."""
    try:
        text = (root / assignment.place(assignment.handout)).read_text(encoding="utf-8")
    except OSError:
        return {}
    url = assignment.handout_url
    return {
        number: Section(number, title.strip(), f"{url}#{anchor(f'{number} {title}')}" if url else "")
        for number, title in HEADING.findall(text)
    }


def anchor(heading: str) -> str:
    """Return the anchor that sites such as GitHub give a heading: `5.4 AlphaZero MCTS` becomes 54-alphazero-mcts."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
