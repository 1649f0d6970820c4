"""A student's notebook becomes text: nothing in it acts, what can be read stays. The browser's part is test_formgrader.py."""

import base64
import html
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from hostile_cells import CELLS, SCRIPT, to_cell
from hypothesis import given, settings
from hypothesis import strategies as st

nbformat = pytest.importorskip("nbformat")
harmless = pytest.importorskip("grader.instructor.harmless_notebook", reason="nbconvert or nh3 is not installed")

from nbconvert.filters.markdown_mistune import markdown2html_mistune as markdown2html  # noqa: E402

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
BREAKING = {"blockquote", "br", "div", "h1", "h2", "li", "p", "pre", "table", "td", "th", "tr"}


class Page(HTMLParser):
    """The elements, attributes and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.targets, self.parts, self.depth = set(), set(), [], [], 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.depth += tag not in ("br", "hr", "img")
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.targets += [value for name, value in attrs if name in ("href", "src")]
        if tag in BREAKING:
            self.parts.append(" ")

    def handle_endtag(self, tag):
        self.depth -= 1

    def handle_data(self, data):
        self.parts.append(data)

    @property
    def text(self):
        return "".join(self.parts)


def one_line(text):
    return " ".join(text.split())


def cleaned(*cells):
    """The cells of a notebook after the step, and what was removed."""
    notebook, removed = harmless.harmless_notebook(nbformat.v4.new_notebook(cells=list(cells)))
    nbformat.validate(notebook)
    return notebook.cells, removed


def shown(text):
    """What nbconvert, and so formgrader, makes of the cleaned text."""
    return Page(markdown2html(harmless.harmless_markdown(text, {})[0]))


def assert_inert(page):
    allowed = {name for names in harmless.ATTRIBUTES.values() for name in names} | {"target", "rel"}
    assert page.elements <= harmless.TAGS | {"article"}
    assert page.attributes <= allowed
    assert page.depth == 0
    for target in page.targets:
        assert re.match(
            r"https?://[a-z0-9.-]+\.[a-z]|mailto:|(program|reports)\.html$|data:image/(png|jpeg|gif|webp|svg\+xml);base64,",
            target,
            re.I,
        )


@pytest.mark.parametrize("name", CELLS)
def test_a_hostile_cell_becomes_what_its_sample_says(name):
    told = CELLS[name]
    (cell,), removed = cleaned(to_cell(told))
    page = Page(markdown2html(cell.source))
    assert_inert(page)
    assert one_line(page.text) == one_line(told["becomes"])
    assert page.targets == told.get("links", [])
    assert removed == told["becomes"].count("[link removed]") + told["becomes"].count("[picture removed")
    assert cell.metadata == {}
    assert "attachments" not in cell


@pytest.mark.parametrize("name", CELLS)
def test_a_second_pass_changes_nothing(name):
    cells, _ = cleaned(to_cell(CELLS[name]))
    again, removed = cleaned(*cells)
    assert [cell.source for cell in again] == [cell.source for cell in cells]
    assert removed == 0


@given(st.lists(st.sampled_from([*CELLS, *"<>&[]()!*_`$\\\n\t #|:~-'\""]), max_size=12), st.text(max_size=40))
@settings(max_examples=150)
def test_whatever_is_put_together_is_inert_and_a_second_pass_changes_nothing(pieces, text):
    source = "".join(CELLS[piece]["source"].replace(SCRIPT, "x()") if piece in CELLS else piece for piece in pieces)
    for given_text in (source + text, text + source):
        block, _ = harmless.harmless_markdown(given_text.encode("utf-8", "replace").decode(), {})
        assert_inert(Page(markdown2html(block)))
        assert harmless.harmless_markdown(block, {}) == (block, 0)


@given(st.text())
def test_text_in_a_code_block_is_shown_as_it_was_typed(text):
    text = "".join(c for c in text.encode("utf-8", "replace").decode() if c == "\n" or c.isprintable())
    block = harmless.literal(text)
    assert Page(markdown2html(block)).text.strip() == text.strip()
    assert html.unescape(block).startswith("<article><pre>")


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org",
        "HTTP://Example.org/a?b#c",
        "https://xn--fiqs8s.example/中文",
        "mailto:a@example.org",
        "program.html",
    ],
)
def test_links_that_a_report_needs_stay_and_open_a_page_of_their_own(target):
    page = shown(f"[a]({target})")
    assert [html.unescape(t).lower().replace("%e4%b8%ad%e6%96%87", "中文") for t in page.targets] == [target.lower()]
    assert {"target", "rel"} <= page.attributes


@pytest.mark.parametrize(
    "source", ["![a](attachment:a%20b.png)", "![a](<attachment:a b.png>)", '<img src="attachment:a b.png" alt="a">']
)
def test_pictures_that_the_notebook_holds_stay(source):
    cell = nbformat.v4.new_markdown_cell(source, attachments={"a b.png": {"image/png": PNG}})
    (cell,), removed = cleaned(cell)
    assert Page(markdown2html(cell.source)).targets == [f"data:image/png;base64,{PNG}"]
    assert removed == 0
    (again,), _ = cleaned(cell)
    assert again.source == cell.source


@pytest.mark.parametrize(("inside", "stays"), [("<rect/>", True), ("<script>alert(1)</script>", False)])
def test_svg_that_the_notebook_holds_stays_if_it_only_draws(inside, stays):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    cell = nbformat.v4.new_markdown_cell("![a](attachment:a.svg)", attachments={"a.svg": {"image/svg+xml": svg}})
    (cell,), removed = cleaned(cell)
    page = Page(markdown2html(cell.source))
    assert len(page.targets) == stays == 1 - removed and "script" not in page.elements
    assert [target.split(",")[0] for target in page.targets] == ["data:image/svg+xml;base64"] * stays
    (again,), _ = cleaned(cell)
    assert again.source == cell.source


def test_a_picture_written_into_the_text_stays_however_long_it_is():
    long = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(harmless.MAX_RENDERED)).decode()
    assert shown(f"![a](data:image/png;base64,{long})").targets == [f"data:image/png;base64,{long}"]


def test_large_pictures_and_long_cells_stay_when_the_notebook_is_shown_again():
    long = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(harmless.MAX_RENDERED_IN_ALL)).decode()
    attached = {"attachments": {"a.png": {"image/png": long}}}
    cells = [
        nbformat.v4.new_markdown_cell("# A\n\n![a](attachment:a.png)", **attached),
        nbformat.v4.new_code_cell("#" * 99_000),
    ]
    once, _ = cleaned(*cells, nbformat.v4.new_code_cell("&" * 99_000), nbformat.v4.new_markdown_cell("**B**"))
    again, removed = cleaned(*once)
    assert [cell.source for cell in again] == [cell.source for cell in once] and removed == 0
    assert Page(once[0].source).targets == [f"data:image/png;base64,{long}"] and "strong" in Page(once[3].source).elements


def test_one_picture_shown_many_times_does_not_fill_the_memory():
    url = f"data:image/png;base64,{PNG}"
    room = harmless.Room(pictures=10 * len(url))
    blocks = [harmless.harmless_markdown("![a](attachment:a.png)\n" * 8, {"a.png": url}, room) for _ in range(2)]
    pages = [Page(block) for block, _ in blocks]
    assert [(len(page.targets), removed) for page, (_, removed) in zip(pages, blocks, strict=True)] == [(8, 0), (2, 6)]
    assert "[picture removed: a]" in pages[1].text


def test_what_is_too_long_too_deep_or_too_many_is_shown_as_typed_or_counted():
    long = "**word** " * (harmless.MAX_RENDERED // 9 + 1)
    assert shown(long).text.strip() == long.strip()
    deep = "<b>" * (harmless.MAX_DEPTH + 1) + "x"
    assert shown(deep).text.strip() == deep
    cells, _ = cleaned(*[nbformat.v4.new_markdown_cell("x") for _ in range(harmless.MAX_CELLS + 2)])
    assert "2 more cells are not shown." in cells[-1].source
    many, _ = cleaned(*[nbformat.v4.new_markdown_cell("**x** " * 6000) for _ in range(7)])
    assert [("strong" in cell.source) for cell in many] == [True] * 5 + [False] * 2


def test_metadata_that_nbgrader_needs_stays_and_nothing_else():
    known = {"grade_id": "report-engine", "grade": True, "solution": True, "locked": False, "task": False}
    known |= {"points": 5, "schema_version": 3, "cell_type": "markdown", "checksum": "0" * 32}
    cell = nbformat.v4.new_markdown_cell("x", metadata={"nbgrader": {**known, "comment": "<b>"}, "tags": ["y"]})
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"title": "<script>", "widgets": {"x": 1}})
    clean, _ = harmless.harmless_notebook(notebook)
    assert clean.cells[0].metadata == {"nbgrader": known}
    assert set(clean.metadata) == {"kernelspec", "language_info"}
    assert "<script>" not in nbformat.writes(clean)


def test_ids_and_texts_that_no_file_can_hold_are_replaced():
    odd = SimpleNamespace(source="a \ud800 b", cell_type="markdown", metadata={}, get=lambda key, default=None: default)
    clean, _ = harmless.harmless_notebook(SimpleNamespace(cells=[odd]))
    assert clean.cells[0].id == "cell-0"
    assert Page(clean.cells[0].source).text.strip() == "a ? b"
