"""A marker reads Markdown and notebooks on one page, with their pictures, and nothing on it acts."""

import base64
import json
from html.parser import HTMLParser

import pytest
from hostile_cells import CELLS

harmless = pytest.importorskip("grader.instructor.harmless_notebook", reason="nbconvert or nh3 is not installed")

from grader.instructor import report_page as module  # noqa: E402
from grader.instructor.report_page import report_page  # noqa: E402
from grader.pipeline.kept_reports import kept_names  # noqa: E402
from grader.student import report_draft  # noqa: E402

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="3" height="3"/></svg>'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


class Elements(HTMLParser):
    """The elements, attributes and targets of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.targets = set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets += [value for name, value in attrs if name in ("href", "src")]


def kept(files):
    """What `read_reports` returns for these files of a submission."""
    return {path: files[name] for name, path in kept_names(files).items()}


def notebook(*cells):
    about = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    return json.dumps({"cells": [{"metadata": {}, **cell} for cell in cells], **about}).encode()


def shown(kind, content):
    return f'src="data&#58;image/{kind};base64,{base64.b64encode(content).decode()}"'


def test_markdown_is_rendered_with_the_pictures_packed_beside_it():
    text = b"# Mine\n\n**bold** ![a](report/a b.svg)".replace(b"a b", b"a%20b") + b" ![p](<report/p.png>) ![t](report/t.svg)"
    files = {"report.md": text, "report/a b.svg": SVG, "report/p.png": PNG, "report/t.svg": SVG.replace(b"rect", b"script")}
    page = report_page(kept(files), "Reports of alice")
    assert "<h1>Mine</h1>" in page and "<strong>bold</strong>" in page
    assert shown("png", PNG) in page and "data&#58;image/svg+xml;base64," in page
    assert "&#91;picture removed&#58; t&#93;" in page and "script" not in page.replace("script-src", "")


@pytest.mark.parametrize("suffix", [".md", ".ipynb"])
def test_the_draft_of_a_student_reaches_the_marker_with_its_picture(tmp_path, suffix):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp/training.csv").write_text(
        "games,loss,entropy,opponent_playouts,win_ratio,losing_lines,exact_playouts\n150,2.25,1.5,25,0.8,3,100\n"
    )
    (tmp_path / "tmp/training.svg").write_bytes(SVG)
    report_draft.main(tmp_path / f"report/report{suffix}", [], lambda _: None, root=tmp_path)
    files = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in (tmp_path / "report").iterdir()}
    page = report_page(kept(files), "alice")
    assert "data&#58;image/svg+xml;base64," in page and "picture removed" not in page
    assert "<h2>Win rates</h2>" in page and "a loss of 2.25" in page


def test_a_notebooks_cells_are_rendered_and_its_code_is_shown_as_text():
    cells = (
        {"cell_type": "markdown", "id": "a", "source": "## Engine\n\n![p](p.png)"},
        {"cell_type": "code", "id": "b", "source": "<b>x", "outputs": [], "execution_count": None},
    )
    page = report_page(kept({"report/r.ipynb": notebook(*cells), "report/p.png": PNG}), "alice")
    assert "<h2>Engine</h2>" in page and shown("png", PNG) in page and "&#60;b&#62;x" in page
    damaged = report_page(kept({"report/r.ipynb": b'{"cells": 3}'}), "alice")
    assert "This is not a notebook&#58;" in damaged


def test_hostile_reports_become_inert_and_the_page_allows_no_script():
    hostile = {f"report/{number}.md": cell["source"].encode("utf-8", "replace") for number, cell in enumerate(CELLS.values())}
    page = report_page(kept(hostile), "<script>")
    policy = page.split('content="')[1].split('"')[0]
    assert "default-src 'none'" in policy and "script-src" not in policy and policy.endswith("img-src data:")
    assert "<title>&lt;script&gt;</title>" in page
    found = Elements(page.partition("<body>")[2])
    allowed = {name for names in harmless.ATTRIBUTES.values() for name in names} | {"target", "rel"}
    assert found.elements <= harmless.TAGS | {"article"} and found.attributes <= allowed
    assert {"a", "h1"} <= found.elements and "javascript:" not in " ".join(found.targets)


def test_there_is_no_page_without_markdown_or_a_notebook():
    assert report_page(kept({"report.pdf": b"%PDF", "report/p.png": PNG}), "alice") == ""


def test_a_picture_that_many_cells_show_is_in_memory_once(monkeypatch):
    seen, made_harmless = [], module.harmless_notebook
    monkeypatch.setattr(module, "harmless_notebook", lambda made: seen.append(made) or made_harmless(made))
    cells = [{"cell_type": "markdown", "id": f"c{i}", "metadata": {}, "source": "![](a.png)"} for i in range(3)]
    assert report_page(kept({"report.ipynb": notebook(*cells), "a.png": PNG}), "t").count("<img") == 3
    shown = [bundle[""] for cell in seen[0].cells for bundle in cell.get("attachments", {}).values()]
    assert len(shown) == 3 and all(text is shown[0] for text in shown)
