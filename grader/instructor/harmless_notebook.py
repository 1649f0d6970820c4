"""Make a student's notebook harmless, so that formgrader and feedback show text that can be read and does nothing.

nbgrader shows Markdown as nbconvert renders it, with every link and every HTML element, on a page that can set all scores.
Here the same parser renders each cell, and nh3 keeps only a short list of elements and attributes. The result is one block of
HTML in which every character that Markdown, HTML or MathJax acts on is a character reference. Only text, links to http, https
and mailto, and pictures inside the notebook remain (`grader.pipeline.shown_pictures`). A second pass changes nothing.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

import nbformat
import nh3
from mistune import HTMLRenderer
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from common.errors import UsageError
from grader.instructor.notebook import CELL_ID, KERNEL, PAGE_NAME, REPORT_NAME
from grader.pipeline.results import MALFORMED
from grader.pipeline.shown_pictures import HELD, picture_url

# mistune took 15 s of CPU time for the worst 40 000 characters that were tried. Longer text is shown as it was typed.
MAX_RENDERED, MAX_RENDERED_IN_ALL = 40_000, 200_000
# A cell that is harmless already is not rendered, which takes less time. It was at most so many times shorter before.
MADE_LONGER = 16
MAX_PICTURES_IN_ALL = 96 << 20  # characters of data URLs: all kept reports once, and not one picture a thousand times
MAX_CELLS = 1000
MAX_DEPTH = 100  # limit for nested elements, because programs that read the page afterwards are recursive
MAX_TARGET = 2000

BLOCKS = "blockquote center dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr li ol p pre summary ul"
TABLES = "caption table tbody td tfoot th thead tr"
INLINE = "a abbr b br cite code del em i img ins kbd mark q s samp small span strong sub sup u var"
TAGS = set(f"{BLOCKS} {TABLES} {INLINE}".split())
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    **{tag: {"align", "colspan", "rowspan", "style"} for tag in ("td", "th")},
    **{tag: {"align"} for tag in ("div", "p")},
    "ol": {"start"},
}
# A host must have a dot, and no port, user or number. No link may lead to a server on the marker's machine: merely visiting
# nbgrader's /formgrader/?path=FOLDER runs that folder's configuration.
TARGET = re.compile(
    rf"https?://(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+(?:[/?#]\S*)?|mailto:[^\s:/]+|{re.escape(REPORT_NAME)}|{re.escape(PAGE_NAME)}",
    re.ASCII | re.IGNORECASE,
)
VALUES = {
    "href": TARGET,
    "align": re.compile("left|center|right|justify"),
    "style": re.compile("text-align: ?(left|center|right);?"),
    **dict.fromkeys(("width", "height"), re.compile(r"[0-9]{1,4}(px|%)?")),
    **dict.fromkeys(("colspan", "rowspan", "start"), re.compile("[0-9]{1,3}")),
}
INLINE_PICTURE = re.compile(r"data(?::|&#58;)image/(?:[a-z]+|svg\+xml);base64,([A-Za-z0-9+/=]{40,})")

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
ACTIVE = re.compile(r"""[\t\n!"#$&'*:<>@\[\\\]^_`{|}~]""")
CODED = rf"(?:(?!{CONTROL.pattern}|{ACTIVE.pattern}).|&#[0-9]{{1,3}};)*+"
MADE_HERE = re.compile(r"<article>[^\n]*</article>")
LITERAL = re.compile(rf"<article>(?:<p><em>{CODED}</em></p>)?<pre>{CODED}</pre></article>")
# MathJax commands that make a link, load an extension or set an attribute. A space after the backslash makes them plain text.
TEX = re.compile(r"\\(?=(?:href|require|mmlToken|class|cssId|style|unicode|html\w*)(?![A-Za-z]))")


@dataclass
class Room:
    """How much of a notebook may still be shown as more than its text, in characters."""

    text: int = MAX_RENDERED_IN_ALL
    pictures: int = MAX_PICTURES_IN_ALL


class Renderer(IPythonRenderer):
    """nbconvert's renderer, except for pictures, which are looked up here, and code, which needs no highlighting."""

    def __init__(self) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return HTMLRenderer.image(self, text, url, title)

    def block_code(self, code: str, info: str | None = None) -> str:
        return HTMLRenderer.block_code(self, code, None)

    def task_list_item(self, text: str, checked: bool = False) -> str:
        return f"<li>{'☑' if checked else '☐'} {text}</li>\n"


class Writer(HTMLParser):
    """Writes clean HTML as one coded line, with a note in place of each link or picture that nh3 removed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.open: list[str] = []
        self.deepest = self.removed = 0
        self._removed_link_at: int | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" not in values:
            self._removed_link_at = len(self.parts)
        elif tag == "img" and "src" not in values:
            self.removed += 1
            self.parts.append(coded(f"[picture removed: {values['alt']}]" if values.get("alt") else "[picture removed]"))
        else:
            self.parts.append("".join([f"<{tag}", *(f' {name}="{coded(value)}"' for name, value in values.items()), ">"]))
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)
            self.deepest = max(len(self.open), self.deepest)

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()
        if tag != "a" or self._removed_link_at is None:
            self.parts.append(f"</{tag}>")
        elif len(self.parts) > self._removed_link_at:  # an anchor without content was not a link
            self.removed += 1
            self.parts.append(coded(" [link removed]"))
        if tag == "a":
            self._removed_link_at = None

    def handle_data(self, data: str) -> None:
        literal = "pre" in self.open or "code" in self.open  # where MathJax does not look
        self.parts.append(coded(data if literal else TEX.sub(r"\\ ", data)))


def coded(text: str) -> str:
    """Return the text with references for all characters that a parser acts on; control characters become spaces."""
    return ACTIVE.sub(lambda match: f"&#{ord(match[0])};", CONTROL.sub(" ", text))


def picture(data: object) -> str | None:
    """Return a data URL for a picture in a notebook, given as base64 or as the text of an SVG file; None if it is not shown."""
    text = "".join(data) if isinstance(data, list) and all(isinstance(line, str) for line in data) else data
    if not isinstance(text, str):
        return None
    if text.lstrip().startswith("<"):
        return picture_url(text.encode("utf-8", "replace"))
    try:
        return picture_url(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError):
        return None


def harmless_markdown(text: str, pictures: dict[str, str], room: Room | None = None) -> tuple[str, int]:
    """Return one block of HTML for a cell's Markdown, and the number of links and pictures removed.

    Args:
        pictures: data URLs of the pictures that `attachment:NAME` names.
        room: what is left for this cell and those after it.
    """
    if LITERAL.fullmatch(text):
        return text, 0
    pictures, room = pictures.copy(), room or Room()

    def put_aside(match: re.Match[str]) -> str:
        if (url := picture(match[1])) is None:
            return ""
        name = f"picture {len(pictures)} of this text"
        pictures[name] = url
        return HELD + name.replace(" ", "%20")

    def value_kept(tag: str, name: str, value: str) -> str | None:
        if name == "src":
            inline = INLINE_PICTURE.fullmatch(value)
            url = picture(inline[1]) if inline else pictures.get(unquote(value.removeprefix(HELD)))
            if url is None or len(url) > room.pictures:
                return None
            room.pictures -= len(url)
            return url
        fits = name not in VALUES or (VALUES[name].fullmatch(value) and len(value) <= MAX_TARGET)
        return value if fits else None

    text = INLINE_PICTURE.sub(put_aside, text)
    done_before = MADE_HERE.fullmatch(text)
    length = len(text) // MADE_LONGER if done_before else len(text)
    if length > room.text or (len(text) > MAX_RENDERED and not done_before):
        return literal(text), 0
    room.text -= length
    clean = nh3.clean(
        text if done_before else MarkdownWithMath(renderer=Renderer()).render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=value_kept,
        url_schemes={"http", "https", "mailto", "data", HELD.rstrip(":")},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    writer = Writer()
    writer.feed(CONTROL.sub(" ", clean).strip())
    writer.close()
    if writer.deepest > MAX_DEPTH:
        return literal(text), 0
    return f"<article>{''.join(writer.parts)}</article>", writer.removed


def literal(text: str, heading: str = "") -> str:
    """Return one block of HTML that shows the text as it was typed."""
    return f"<article>{f'<p><em>{coded(heading)}</em></p>' if heading else ''}<pre>{coded(text)}</pre></article>"


def read_notebook(content: bytes) -> Any:
    """Return a valid notebook; raise a UsageError with the reason if the content is not one."""
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        nbformat.validate(notebook)
    except (*MALFORMED, nbformat.ValidationError) as error:
        raise UsageError(str(error).partition("\n")[0]) from error
    return notebook


def harmless_notebook(notebook: Any, *, run: bool = False) -> tuple[Any, int]:
    """Return the notebook as Markdown cells of harmless text, and the number of links and pictures removed.

    Outputs are removed, and so is all metadata except what nbgrader needs to recognise a cell.

    Args:
        run: whether the grader has run the code cells; their errors are shown then.
    """
    cells, removed, room = [], 0, Room()
    for number, cell in enumerate(notebook.cells[:MAX_CELLS]):
        text = cell.source.encode("utf-8", "replace").decode()
        if cell.cell_type != "markdown":
            source, lost = _code(cell, text, run=run), 0
        else:
            source, lost = harmless_markdown(text, _attached(cell.get("attachments", {})), room)
        removed += lost
        known = CELL_ID.fullmatch(str(cell.get("id", "")))
        cells.append(
            nbformat.v4.new_markdown_cell(source, id=known[0] if known else f"cell-{number}", metadata=_metadata(cell.metadata))
        )
    if len(notebook.cells) > MAX_CELLS:
        cells.append(nbformat.v4.new_markdown_cell(literal(f"{len(notebook.cells) - MAX_CELLS} more cells are not shown.")))
    return nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), removed


def _code(cell: Any, text: str, *, run: bool) -> str:
    """Return one block of HTML for a code cell or a raw cell."""
    if not run:
        return literal(text, f"A {cell.cell_type} cell, not run:")
    errors = (str(output.get("evalue", "")) for output in cell.get("outputs", []) if output.get("output_type") == "error")
    return literal("\n\n".join([text, *errors]), f"A {cell.cell_type} cell:")


def _attached(attachments: object) -> dict[str, str]:
    """Return the data URLs of a cell's attachments that are pictures."""
    bundles: Iterable[tuple[Any, Any]] = attachments.items() if isinstance(attachments, dict) else ()
    found = ((name, next(filter(None, map(picture, bundle.values())), None)) for name, bundle in bundles)
    return {name: url for name, url in found if url}


def _metadata(metadata: Any) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell if it is well-formed: a template writes it into the page unchanged."""
    given = metadata.get("nbgrader")
    if not isinstance(given, dict) or not CELL_ID.fullmatch(str(given.get("grade_id", ""))):
        return {}
    kept: dict[str, Any] = {"grade_id": given["grade_id"], "schema_version": 3, "cell_type": "markdown"}
    kept |= {key: given.get(key) is True for key in ("grade", "solution", "locked", "task")}
    if isinstance(given.get("points"), int | float):
        kept["points"] = given["points"]
    if re.fullmatch("[0-9a-f]{32}", str(given.get("checksum", ""))):
        kept["checksum"] = given["checksum"]
    return {"nbgrader": kept}
