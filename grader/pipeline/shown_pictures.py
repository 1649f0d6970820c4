"""The pictures of a report that a marker sees: PNG, JPEG, GIF, WebP, and SVG that draws and does nothing else.

An SVG file can run scripts, load files and link elsewhere. Here it is parsed and written again with a short list of elements
and attributes. A file with anything else that changes what is drawn is not shown, and `submit` says so beforehand. The pictures
that `train.py` and `Minimax/ladder.py` draw need nothing else.
"""

from __future__ import annotations

import base64
import posixpath
import re
from urllib.parse import unquote, urlsplit
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from common.errors import UsageError

SVG = "http://www.w3.org/2000/svg"
ELEMENTS = frozenset("svg g title desc path line polyline polygon rect circle ellipse text tspan".split())  # noqa: SIM905
ATTRIBUTES = frozenset(
    """
    cx cy d dx dy fill fill-opacity fill-rule font-family font-size font-style font-weight height opacity points r rx ry stroke
    stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity stroke-width text-anchor transform viewBox width x x1 x2 y y1
    y2
    """.split()  # noqa: SIM905 (a list with one word per line would be no clearer)
)
# Attributes that change nothing in a picture without styles, scripts and links.
DROPPED = re.compile(
    r"id|class|role|version|preserveAspectRatio|aria-[a-z]+|data-[\w-]+|http://www\.w3\.org/XML/1998/namespace \w+"
)
VALUE = re.compile(r"(?!.*url)[\w\s.,%()#+'-]*", re.IGNORECASE | re.DOTALL)
# A picture in Markdown, or in HTML inside it. Every part has a limit, so that the time is linear in the length of the text.
LINK = re.compile(
    r"""!\[[^\]]{0,500}\]\(\s{0,9}(?:<([^>\n]{1,500})>|([^)\s>]{1,500}))"""
    r"""|<img\s[^>]{0,500}?src\s{0,9}=\s{0,9}["']([^"']{1,500})""",
    re.IGNORECASE,
)
HELD = "attachment:"  # begins the link to a picture that a notebook holds
MAX_DEPTH, MAX_SVG_BYTES = 50, 2 << 20
RASTER = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


def plain_svg(content: bytes) -> str:
    """Return an SVG picture, written again from what ELEMENTS and ATTRIBUTES allow. A second pass changes nothing.

    Raises:
        UsageError: the picture contains something else; the message completes "it ...".
    """
    if len(content) > MAX_SVG_BYTES:
        raise UsageError(f"is larger than {MAX_SVG_BYTES >> 20} MiB")
    written: list[str] = []
    open_elements: list[str] = []

    def name_of(name: str) -> str:
        space, _, local = name.rpartition(" ")
        if space != SVG or local not in ELEMENTS or (local == "svg") != (not open_elements):
            raise UsageError(f"contains <{local[:40]}>")
        return local

    def start(name: str, values: dict[str, str]) -> None:
        local = name_of(name)
        kept = {} if open_elements else {"xmlns": SVG}
        for key, value in values.items():
            if key not in ATTRIBUTES and not DROPPED.fullmatch(key):
                raise UsageError(f"uses {key.rpartition(' ')[2][:40]}=...")
            if key in ATTRIBUTES and not VALUE.fullmatch(value):
                raise UsageError(f"uses {key}={quoteattr(value[:40])}")
            if key in ATTRIBUTES:
                kept[key] = value
        open_elements.append(local)
        if len(open_elements) > MAX_DEPTH:
            raise UsageError(f"has elements nested more than {MAX_DEPTH} deep")
        written.append("".join([f"<{local}", *(f" {key}={quoteattr(value)}" for key, value in kept.items()), ">"]))

    def end(_: str) -> None:
        written.append(f"</{open_elements.pop()}>")

    def doctype(*_: object) -> None:
        raise UsageError("contains <!DOCTYPE>")

    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: written.append(escape(text))
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UsageError(f"is not SVG: {error}") from error
    return "".join(written)


def picture_url(content: bytes) -> str | None:
    """Return a data URL that an <img> shows, or None if the content is not a picture that is shown."""
    for beginning, kind in RASTER:
        if content.startswith(beginning) and (kind != "webp" or content[8:12] == b"WEBP"):
            return _data_url(kind, content)
    try:
        return _data_url("svg+xml", plain_svg(content).encode())
    except UsageError:
        return None


def why_not_shown(content: bytes) -> str:
    """Return why a picture is not shown, as the rest of a sentence that begins with "it"; empty if it is shown."""
    if picture_url(content):
        return ""
    if b"<svg" not in content[:4096]:
        return "is not a PNG, JPEG, GIF, WebP or SVG file"
    try:
        plain_svg(content)
    except UsageError as error:
        return str(error)
    return ""


def linked_pictures(text: str, report: str) -> dict[str, str]:
    """Return link -> path for each picture that Markdown shows from another file; both are without percent signs.

    Args:
        report: path of the report, to which the links are relative.
    """
    links = [unquote("".join(groups)) for groups in LINK.findall(text)]
    folder = posixpath.dirname(report)
    return {link: posixpath.normpath(posixpath.join(folder, link)) for link in links if not _is_elsewhere(link)}


def pictures_elsewhere(text: str) -> list[str]:
    """Return the links of the pictures that Markdown shows from the web, which no marker sees."""
    links = dict.fromkeys("".join(groups) for groups in LINK.findall(text))
    return [link for link in links if _is_elsewhere(link) and not link.startswith(("data:", HELD))]


def _is_elsewhere(link: str) -> bool:
    try:
        return bool(urlsplit(link).scheme or link.startswith("//"))
    except ValueError:
        return True


def _data_url(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
