"""Show a study to a person: pages that need no script and no network, a table for a spreadsheet, and a folder for JPlag."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from common.errors import UsageError
from common.files import remove, write_whole
from common.harmless_text import csv_cell, on_screen
from grader.instructor.similarity.comparison import Passage, passages
from grader.instructor.similarity.study import Pair, Study
from grader.instructor.similarity.works import Work

TEMPLATES = Path(__file__).with_name("templates")
INDEX, TABLE, JPLAG = "index.html", "pairs.csv", "jplag"
PAGES = "pair-*.html"
COLUMNS = ("part", "first", "second", "earlier", "share_first", "share_second", "common_characters", "page")
COLOURS = 12  # in templates/look.css.j2
BANDS = 10


@dataclass(frozen=True)
class SourceLine:
    """A line of a source on a page; `group` is None if the line is not in a passage, `begins` if the passage begins there."""

    number: int
    text: str
    group: int | None
    begins: bool


@dataclass(frozen=True)
class Side:
    """One of the two columns of a page; `files` holds each file's path and lines."""

    label: str
    share: float
    earlier: bool
    files: tuple[tuple[str, tuple[SourceLine, ...]], ...]


@dataclass(frozen=True)
class Band:
    """How many pairs of each part have shares from `least` to below `most`."""

    least: float
    most: float
    counts: tuple[int, ...]


def write_pages(study: Study, works: Sequence[Work], out: Path, least: float, most_pages: int) -> int:
    """Write the table and the pages, remove pages of an earlier run that are no longer there, and return how many pairs
    have a page.

    The table comes first: by it, `require_place` knows the folder if the program is stopped and called again.

    Args:
        least: the smallest share with which a pair gets a page.
        most_pages: the largest number of these pages.
    """
    render = _renderer()
    by_label = {work.label: work for work in works}
    shown = {page_name(number, pair): pair for number, pair in enumerate(study.above(least)[:most_pages], 1)}
    write_if_new(out / TABLE, _table(study, shown))
    for name, pair in shown.items():
        page = render("pair.html.j2", pair=pair, sides=_sides(study, pair, by_label), colours=COLOURS)
        write_if_new(out / name, page)
    index = render(
        "index.html.j2",
        study=study,
        works=works,
        shown=shown,
        parts=study.parts,
        bands=bands(study),
        least=least,
        hidden=len(study.above(least)) - len(shown),
        colours=COLOURS,
    )
    write_if_new(out / INDEX, index)
    for old in out.glob(PAGES):
        if old.name not in shown:
            remove(old)
    return len(shown)


def require_place(out: Path) -> None:
    """Raise a UsageError unless the folder is new, empty, or was written by an earlier run."""
    if out.exists() and not (out.is_dir() and ((out / TABLE).is_file() or not any(out.iterdir()))):
        raise UsageError(f"expected a new folder, or one of an earlier comparison, after --out; {out} holds something else")
    out.mkdir(parents=True, exist_ok=True)


def page_name(number: int, pair: Pair) -> str:
    """Return the file name of a pair's page."""
    return f"pair-{number:03}-{pair.part.lower()}.html"


def write_if_new(path: Path, content: str) -> None:
    """Write a file unless it has this content already, so that a second run changes nothing."""
    if not path.is_file() or path.read_bytes() != content.encode("utf-8", "backslashreplace"):
        write_whole(path, content)


def bands(study: Study) -> list[Band]:
    """Return how many pairs there are in each tenth of the shares, from the highest one."""
    tenth = {
        part: [min(int(pair.share * BANDS), BANDS - 1) for pair in study.pairs if pair.part == part] for part in study.parts
    }
    return [
        Band(i / BANDS, (i + 1) / BANDS, tuple(tenth[part].count(i) for part in study.parts)) for i in reversed(range(BANDS))
    ]


def _table(study: Study, shown: Mapping[str, Pair]) -> str:
    pages = {id(pair): name for name, pair in shown.items()}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for pair in study.pairs:
        first, second = (f"{share:.3f}" for share in pair.common.shares)
        row = (pair.part, pair.first, pair.second, "yes" if pair.earlier else "no", first, second)
        writer.writerow([csv_cell(cell) for cell in (*row, pair.common.characters, pages.get(id(pair), ""))])
    return "\ufeff" + text.getvalue()


def _sides(study: Study, pair: Pair, works: Mapping[str, Work]) -> list[Side]:
    labels = pair.first, pair.second
    found = passages(*(study.prints[label][pair.part] for label in labels))
    return [
        Side(label, share, works[label].earlier, _marked_files(works[label].files(pair.part), side))
        for label, share, side in zip(labels, pair.common.shares, found, strict=True)
    ]


def _marked_files(files: Mapping[str, str], found: Sequence[Passage]) -> tuple[tuple[str, tuple[SourceLine, ...]], ...]:
    """Return each file with its lines; a line that two passages touch belongs to the first one."""
    groups: dict[int, int] = {}
    begins: set[int] = set()
    for passage in found:
        begins.add(next((line for line in range(passage.first, passage.last + 1) if line not in groups), passage.first))
        for line in range(passage.first, passage.last + 1):
            groups.setdefault(line, passage.group)
    marked = []
    start = 0
    for path, text in files.items():
        lines = text.rstrip("\n").split("\n")
        numbered = enumerate(lines, 1)
        marked.append(
            (path, tuple(SourceLine(n, line, groups.get(start + n - 1), start + n - 1 in begins) for n, line in numbered))
        )
        start += text.count("\n") + 1  # the empty line between files
    return tuple(marked)


def _renderer() -> Callable[..., str]:
    """Return a function that fills a template; text from submissions is escaped and control characters are removed."""

    def plain(value: Any) -> Any:
        if isinstance(value, (str, Path)) and not hasattr(value, "__html__"):
            return on_screen(str(value), keep="\n\t")
        return value

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda share: f"{share:.0%}"
    return lambda name, **values: environment.get_template(name).render(**values)


def write_jplag(works: Sequence[Work], handed_out: Mapping[str, bytes], out: Path) -> None:
    """Write the sources in JPlag's layout: `submissions/LABEL/`, `earlier/LABEL/` and the base code in `base/`."""
    unfinished = out / f".{JPLAG}.part"
    remove(unfinished)
    for work in works:
        _write_all(work.sources, unfinished / ("earlier" if work.earlier else "submissions") / work.label)
    _write_all(handed_out, unfinished / "base")
    remove(out / JPLAG)
    os.replace(unfinished, out / JPLAG)


def _write_all(sources: Mapping[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in sources.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
