"""The sections of the handout: their titles, and links to them if the assignment says where students read it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from grader.assignment import ROOT, Assignment

HEADING = re.compile(r"^#{2,4} (\d+(?:\.\d+)*) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A section of the handout; `link` is empty if its address is unknown."""

    number: str
    title: str = ""
    link: str = ""


def read_sections(assignment: Assignment, root: Path = ROOT, folder: Path | None = None) -> dict[str, Section]:
    """Return number -> section; empty if the handout is not there, as in the archive for another machine.

    Args:
        folder: where a report lies that stays there, so that in a kit it can link to the handout of the kit.
    """
    try:
        text = (root / assignment.place(assignment.handout)).read_text(encoding="utf-8")
    except OSError:
        return {}
    url = assignment.handout_url or ("" if folder is None else _handout_from(folder, assignment, root))
    return {
        number: Section(number, title.strip(), f"{url}#{anchor(f'{number} {title}')}" if url else "")
        for number, title in HEADING.findall(text)
    }


def _handout_from(folder: Path, assignment: Assignment, root: Path) -> str:
    """Return the relative address of a kit's handout, its page if there is one; empty in the course's own tree.

    The course's reports are handed back, and then the handout does not lie beside them.
    """
    if (root / assignment.reference).is_dir():
        return ""
    text = root / assignment.place(assignment.handout)
    page = text.with_suffix(".html")
    return quote(os.path.relpath(page if page.is_file() else text, folder))


def anchor(heading: str) -> str:
    """Return the anchor that sites such as GitHub give a heading: `5.4 AlphaZero MCTS` becomes 54-alphazero-mcts."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
