"""What a student wrote, on one page that a marker reads: the reports in Markdown and in notebooks, with their pictures.

The page is made of the harmless text of `grader.instructor.harmless_notebook`. It has no script, and it loads nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import Any

import nbformat

from common.errors import UsageError
from common.harmless_text import on_screen
from common.pages import policy_for
from grader.instructor.harmless_notebook import MAX_RENDERED, harmless_notebook, read_notebook
from grader.pipeline.kept_reports import kept_names
from grader.pipeline.shown_pictures import linked_pictures

MARKDOWN, NOTEBOOK = ".md", ".ipynb.txt"  # as `grader.pipeline.kept_reports` names them
VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'
STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:54rem;margin:0 auto;padding:1rem 1.2rem 4rem;overflow-wrap:break-word}"
    "img{max-width:100%}pre,table{overflow-x:auto;max-width:100%}pre{background:#f2f5f8;padding:.6rem}table{border-collapse:collapse;display:block;width:fit-content}"
    "td,th{border:1px solid #d0d7de;padding:.3rem .6rem;vertical-align:top}"
)


def report_page(reports: Mapping[str, bytes], title: str) -> str:
    """Return the page; empty if no report is Markdown or a notebook.

    Args:
        reports: kept path -> content, as `grader.pipeline.kept_reports` returns it.
    """
    cells: list[Any] = []
    encoded = cache(lambda kept: base64.b64encode(reports[kept]).decode())  # once, however many cells show a picture
    for name, content in reports.items():
        if found := _cells_of(name, content):
            cells.append(nbformat.v4.new_markdown_cell(f"# `{name}`"))
            for cell in found:
                if cell.cell_type == "markdown" and len(cell.source) <= MAX_RENDERED:
                    cell.attachments = {**cell.get("attachments", {}), **_pictures_beside(name, cell.source, reports, encoded)}
            cells += found
    if not cells:
        return ""
    notebook, _ = harmless_notebook(nbformat.v4.new_notebook(cells=cells))
    policy = f"{policy_for('')}; img-src data:"
    head = (
        f'<!doctype html>\n<html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"{VIEWPORT}<title>{escape(on_screen(title))}</title><style>{STYLE}</style></head><body>"
    )
    return "\n".join([head, *(cell.source for cell in notebook.cells), "</body></html>\n"])


def _cells_of(name: str, content: bytes) -> list[Any]:
    """Return the cells of a report, none if it is neither Markdown nor a notebook."""
    folded = name.casefold()
    if folded.endswith(MARKDOWN):
        return [nbformat.v4.new_markdown_cell(content.decode("utf-8", "replace"))]
    if not folded.endswith(NOTEBOOK):
        return []
    try:
        return list(read_notebook(content).cells)
    except UsageError as error:
        return [nbformat.v4.new_raw_cell(f"This is not a notebook: {error}")]


def _pictures_beside(
    name: str, text: str, reports: Mapping[str, bytes], encoded: Callable[[str], str]
) -> dict[str, dict[str, str]]:
    """Return the pictures that a report shows from other files, as a notebook would hold them: link -> type -> content."""
    links = {link: kept_names([path])[path] for link, path in linked_pictures(text, name).items()}
    # The type does not matter, because the content decides.
    return {link: {"": encoded(kept)} for link, kept in links.items() if kept in reports}
