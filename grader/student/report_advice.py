"""Say what is still to be done in a report before it is handed in, and what in it the person who marks will not see."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from common.csv_tables import listed
from grader.pipeline.kept_reports import PASSIVE
from grader.pipeline.shown_pictures import linked_pictures, pictures_elsewhere, why_not_shown
from grader.pipeline.submission import MAX_REPORT_BYTES, MAX_REPORTS, MAX_REPORTS_BYTES
from grader.student.report_draft import FOLDER, MARKDOWN, NOTEBOOK, unanswered

PAGES, PICTURE = (".html", ".htm", ".xhtml"), ".svg"


def report_advice(reports: Mapping[str, bytes], left_out: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each report that is not finished, and for each thing that a marker will not see.

    Args:
        reports: path -> content of the files that are packed for a person to read.
        left_out: paths of packed files that are beyond the limits, so that nobody will read them.
    """
    if left_out:
        yield (
            f"The person who marks will not see {listed(left_out)}, because only files of up to {MAX_REPORT_BYTES >> 20} MiB "
            f"are kept, and {MAX_REPORTS_BYTES >> 20} MiB and {MAX_REPORTS} files in all."
        )
    shown: set[str] = set()
    for path, content in reports.items():
        suffix = posixpath.splitext(path)[1].lower()
        if suffix not in (MARKDOWN, NOTEBOOK):
            continue
        text = content.decode("utf-8", "replace")
        if suffix == NOTEBOOK:
            try:
                cells = json.loads(text)["cells"]
                text = "\n\n".join(_source(cell) for cell in cells if cell["cell_type"] == "markdown")
                outputs = any(cell.get("outputs") for cell in cells)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                yield f"{path} is not a notebook, so nobody can read it."
                continue
            if outputs:
                yield f"{path} has code cells with outputs, which the person who marks will not see: put them into text cells."
        if titles := unanswered(text):
            yield f"{path} is not finished: it still has the draft's lines in italics below {', '.join(titles)}."
        pictures = dict.fromkeys(linked_pictures(text, path).values())
        shown |= pictures.keys()
        for picture in pictures:
            if picture in left_out:
                continue
            if picture not in reports:
                yield f"{path} shows {picture}, which is not packed: put it into {FOLDER}/ and change the link."
            elif reason := why_not_shown(reports[picture]):
                yield f"{path} shows {picture}, which {reason}: the person who marks will not see it. Save it as PNG."
        for link in pictures_elsewhere(text):
            yield f"{path} shows {link}, which the person who marks will not see: put the picture into {FOLDER}/."
    for path, content in reports.items():
        suffix = posixpath.splitext(path)[1].lower()
        if suffix in PAGES or (suffix == PICTURE and path not in shown):
            yield f"The person who marks will see only the source text of {path}: use PDF, Markdown or PNG."
        elif suffix not in (*PASSIVE, NOTEBOOK, PICTURE) and not _is_text(content):
            yield f"The person who marks may not be able to open {path}: use PDF, Markdown or PNG."


def _source(cell: Any) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
