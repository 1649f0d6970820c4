"""`python -m grader report-draft`: a report that begins with the student's own figures, for the student to write the rest.

It takes the environment, the results of the last `python -m grader check`, matches recorded by `evaluate.py` or `ladder.py`,
and the curves of the last training run. What is not there is named with the command that makes it, and nothing is made up.
The picture of a Markdown report is copied to report/; a notebook holds its own. Both are handed in as they are, and the marker
sees them rendered (`grader.instructor.report_page`). A report that exists is never replaced unless the student asks for it.
"""

from __future__ import annotations

import base64
import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from arena.match.match import MatchResult
from arena.match.records import read_records
from arena.match.setup import MatchSetup
from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import markdown_cell
from common.scoring import format_points
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_assignment
from grader.pipeline.listeners import Announce
from grader.pipeline.results import read_results
from grader.student.check import OUT as CHECKED
from grader.student.check import choose_checks
from grader.student.surroundings import surroundings

NOTEBOOK, MARKDOWN, RECORDS = ".ipynb", ".md", ".jsonl"
CURVES, PICTURE = Path("tmp", "training.csv"), Path("tmp", "training.svg")
MAX_BYTES = 16 << 20
FOLDER = "report"  # `submit` packs what is in it
TITLE = "# Report\n\nFigures and pictures are from my own runs."
TO_WRITE = {
    "Environment": "Say what else your figures depend on: a GPU, other programs.",
    "Checks": "Say what fell short and why.",
    "Engine": "Describe search, evaluation, clock, opening and swap, and how much each idea gained, in numbers.",
    "Win rates": "Compare before and after your main changes. What can the intervals not decide?",
    "Problems": "What went wrong, how did you find it, and how do you know that it is fixed?",
    "AlphaZero": (
        "Explain the signs, noise and temperature, and what network and search learn from each other, with this run."
    ),
    "Suggestions and sources": "What should this assignment change? Name papers, programs, people, AI assistants.",
}
"""What the student has to write: title of the section -> one line, which the draft shows in italics."""


@dataclass(frozen=True)
class Section:
    """A section of the report.

    Attributes:
        title: a title of TO_WRITE.
        figures: Markdown made from what was measured.
        picture: an SVG file to show below the figures.
    """

    title: str
    figures: str = ""
    picture: Path | None = None

    def markdown(self, picture: str) -> str:
        """Return the section's text; `picture` is what its picture is called there."""
        shown = f"![{self.title}]({picture})" if self.picture else ""
        return "\n\n".join(part for part in (f"## {self.title}", self.figures, shown, _in_italics(self.title)) if part)


def _in_italics(title: str) -> str:
    return f"*{TO_WRITE[title]}*"


def unanswered(report: str) -> list[str]:
    """Return the titles of the sections in which a report still shows what is to be written."""
    return [title for title in TO_WRITE if _in_italics(title) in report]


def sections(matches: Sequence[Path], root: Path, assignment: Assignment) -> list[Section]:
    """Return the sections of section 6 of the handout, filled with what this folder holds.

    Raises:
        UsageError: a file that was named, or that the framework wrote, cannot be read.
    """
    rows = surroundings(assignment).items()
    played = "\n\n".join(_match(path) for path in matches)
    if not played and assignment.opponents:
        played = (
            f"No match yet: `python Minimax/evaluate.py --agents-path build/my_engine build/engines/{assignment.opponent} "
            "--num-plays 64 --json build/match.json`, then `python -m grader report-draft --match build/match.json`."
        )
    curves, picture = _training(root)
    return [
        Section("Environment", _table(("What", "Value"), rows)),
        Section("Checks", _checks(root, assignment)),
        Section("Engine"),
        Section("Win rates", played),
        Section("Problems"),
        Section("AlphaZero", curves, picture),
        Section("Suggestions and sources"),
    ]


def _table(heading: Sequence[str], rows: Any) -> str:
    lines = [heading, ["---"] * len(heading), *([markdown_cell(str(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _checks(root: Path, assignment: Assignment) -> str:
    found = sorted((root / CHECKED).glob("*/results.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        return "No checks yet: `python -m grader check`, then make this draft again."
    results = read_results(found[-1])
    rows = [(v.id, f"{format_points(v.points)} of {format_points(v.max_points)}", v.status, v.message) for v in results.program]
    about = f"Checks of {results.environment.get('date', 'an unknown date')}, profile {results.profile}, seed {results.seed}:"
    ran, usual = {v.id for v in results.program}, choose_checks(assignment, (), ())
    if missing := sum(check.id not in ran for check in usual):
        about = (
            f"The last check ran with --only, so {missing} of {len(usual)} checks are missing here: "
            f"`python -m grader check`, then make this draft again.\n\n{about}"
        )
    return f"{about}\n\n{_table(('Check', 'Points', 'Outcome', 'Message'), rows)}"


def _match(path: Path) -> str:
    """Return the figures of a recorded match."""
    try:
        match = _read_match(path)
        rows = []
        for agent in match["agents"]:
            numbers, lost = agent["statistics"], ", ".join(f"{how} {times}" for how, times in agent["losses_by"].items())
            rate = "{:.2f}, {:.2f} to {:.2f}".format(numbers["score_rate"], *numbers["interval_95"])
            engine = agent["path"].removeprefix(f"{ROOT}/")  # ladder.py names its engines by the whole path
            rows.append((engine, numbers["wins"], numbers["draws"], numbers["losses"], rate, lost or "-"))
        limit_s, told_s, here = float(match["limits"]["move_s"]), match["limits"].get("told_move_s"), match["machine"]
        planned = "" if told_s is None else f", engines told to plan for {float(told_s):g} s"
        about = (
            f"{int(match['plays'])} games ({int(match['distinct_games'])} distinct), at most {limit_s:g} s a move{planned}, "
            f"seed {int(match['seed'])}, on {int(here['cores'])} cores of {markdown_cell(str(here['processor']))}."
        )
    except OSError as error:
        raise UsageError(f"expected a match at {path}: {error.strerror}") from error
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(
            f"expected a file that evaluate.py --json wrote, or records of a match (.jsonl), at {path}; it is neither"
        ) from error
    heading = ("Engine", "Wins", "Draws", "Losses", "Win rate, 95 %", "How it lost")
    return f"{_table(heading, rows)}\n\n{about}"


def _read_match(path: Path) -> Any:
    """Return what `evaluate.py --json` writes, from such a file or from the records (.jsonl) of a match."""
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise UsageError(f"expected at most {MAX_BYTES >> 20} MiB in {path}; it is larger")
    if path.suffix != RECORDS:
        return json.loads(text)
    heading, games = read_records(path)
    played = MatchResult(MatchSetup.from_json(heading["match"]), tuple(games[index] for index in sorted(games)))
    return {**played.to_json(), "machine": heading["machine"]}


def _training(root: Path) -> tuple[str, Path | None]:
    """Return the figures of the last training run, and its picture if there is one."""
    path = root / CURVES
    if not path.is_file():
        return "No training run yet: `python train.py --seed 1`, then make this draft again.", None
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        last = rows[-1]
        about = f"{int(last['games'])} games; at the end a loss of {float(last['loss']):.2f}, an entropy of "
        about += f"{float(last['entropy']):.2f}. The network when it was measured:"
        measured = [
            (row["games"], row["win_ratio"], row["opponent_playouts"], row["losing_lines"], row["exact_playouts"])
            for row in rows
            if row["win_ratio"] or row["losing_lines"]
        ]
    except (OSError, ValueError, KeyError, TypeError, IndexError, csv.Error) as error:
        raise UsageError(f"expected the curves of a training run in {path}; they cannot be read: train again") from error
    heading = ("Games", "Win ratio", "of pure MCTS with playouts", "Losing lines", "with playouts")
    picture = root / PICTURE
    return f"{about}\n\n{_table(heading, measured)}", picture if picture.is_file() else None


def as_notebook(parts: Sequence[Section]) -> str:
    """Return the report as a notebook (nbformat 4.5) without code, with its pictures inside."""
    cells: list[dict[str, Any]] = [_cell("title", TITLE)]
    for number, part in enumerate(parts):
        cell = _cell(f"section-{number}", part.markdown("attachment:picture.svg"))
        if part.picture:
            # Programs that show notebooks put an attachment into a data URL as it is, and so expect base64.
            picture = base64.b64encode(part.picture.read_bytes()).decode("ascii")
            cell["attachments"] = {"picture.svg": {"image/svg+xml": picture}}
        cells.append(cell)
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cell(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def as_markdown(parts: Sequence[Section], folder: Path) -> str:
    """Return the report as Markdown for a file in this folder, from which it links to its pictures."""
    texts = [part.markdown(Path(os.path.relpath(part.picture, folder)).as_posix() if part.picture else "") for part in parts]
    return "\n\n".join([TITLE, *texts]) + "\n"


def _with_packed_picture(part: Section, root: Path) -> Section:
    """Return the section with a copy of its picture, in the folder that is handed in with the report."""
    if part.picture is None:
        return part
    picture = part.picture.read_text(encoding="utf-8", errors="replace")
    path = _free_name(root / FOLDER / part.picture.name, picture)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, picture)
    return replace(part, picture=path)


def main(out: Path, matches: Sequence[Path], announce: Announce, *, force: bool = False, root: Path = ROOT) -> int:
    """Write the draft; if a file is there already, write it under a new name, unless `force` allows to replace the file.

    Raises:
        UsageError: the name does not end in .ipynb or .md, the assignment has no report, or the figures cannot be read.
    """
    if out.suffix not in (NOTEBOOK, MARKDOWN):
        raise UsageError(f"expected a name that ends in {NOTEBOOK} or {MARKDOWN} for the draft; got {out.name}")
    assignment = load_assignment()
    if not assignment.reports:
        raise UsageError(f"expected an assignment with a report; {assignment.title} has none, so there is nothing to draft")
    parts = sections(matches, root, assignment)
    if out.suffix == NOTEBOOK:
        text = as_notebook(parts)
    else:
        text = as_markdown([_with_packed_picture(part, root) for part in parts], out.resolve().parent)
    path = out if force else _free_name(out, text)
    if path.is_file() and path.read_bytes() == text.encode():
        announce(f"{path} already holds these figures; nothing was written.")
        return 0
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    kept = f"; {out} stays as it is (--force replaces it)" if path != out else ""
    announce(
        f"The draft is in {path}{kept}. Replace each line in italics with your own text. `python -m grader submit` "
        f"packs what is in {FOLDER}/ (handout, section 6)."
    )
    return 0


def _free_name(out: Path, text: str) -> Path:
    """Return `out`, or the first numbered name beside it that is free or already holds this text."""
    numbered = (out.with_name(f"{out.stem}.{number}{out.suffix}") for number in count(1))
    return next(p for p in chain([out], numbered) if not p.exists() or (p.is_file() and p.read_bytes() == text.encode()))
