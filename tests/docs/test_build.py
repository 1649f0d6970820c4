"""The pages of docs/build.py: complete, readable without a network, and with a sentence where something is missing."""

import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from docs import build

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VOID = {"meta", "br", "hr", "img"}


class Structure(HTMLParser):
    """What a page holds; `wrong` are tags that are closed in another order than opened."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open, self.wrong, self.counts = [], [], [], [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        self.sources += [found["src"]] if "src" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    assert build.main([str(folder), "--html"]) == 0
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.mark.parametrize("name", build.PAGES)
def test_a_page_is_whole_and_asks_no_other_machine(pages, name):
    text = pages[f"{name}.html"]
    page = Structure(text)
    assert page.wrong == page.open == [] and all(source.startswith("data:image/png;base64,") for source in page.sources)
    assert not re.search(r"<link|<script|@import|url\((?!#)", text)
    assert len(page.ids) == len(set(page.ids)), "an anchor occurs twice"
    for link in page.links:
        target, _, anchor = link.partition("#")
        other = Structure(pages[target]) if target and "://" not in target else page
        assert "://" in link or not anchor or unquote(anchor) in other.ids, link


@pytest.mark.parametrize("name", build.PAGES)
def test_a_page_holds_all_of_its_text(pages, name):
    source = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    text = pages[f"{name}.html"]
    page = Structure(text)
    for block in FENCED.findall(source):
        assert block in html.unescape(text)
    plain = FENCED.sub("", source)
    assert page.counts["h2"] == len(re.findall(r"^## ", plain, re.MULTILINE))
    assert page.counts.get("table", 0) == len(re.findall(r"^\|[-:| ]+\|$", plain, re.MULTILINE))
    assert page.counts.get("svg", 0) + page.counts.get("img", 0) == plain.count("![")
    assert "&lt;!--" not in text and "**" not in re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL)


def test_a_chinese_sentence_is_not_torn_by_a_line_break(pages):
    assert not re.search(r"[\u4e00-\u9fff，。；]\n[\u4e00-\u9fff]", pages["theory.zh.html"])


def test_without_a_browser_there_is_html_and_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.main([str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "apt-get install chromium" in said
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".html"] * len(build.PAGES)


def test_without_a_chinese_font_the_other_pages_are_printed(tmp_path, monkeypatch, capsys):
    printed = []
    monkeypatch.setattr(build, "browser", lambda: "chromium")
    monkeypatch.setattr(build, "has_chinese_font", lambda: False)
    monkeypatch.setattr(build, "print_pdf", lambda program, source, target: printed.append(target.name))
    assert build.main([str(tmp_path)]) == 2
    assert "apt-get install fonts-noto-cjk" in capsys.readouterr().err
    assert printed == [f"{name}.pdf" for name in build.PAGES if not name.endswith(".zh")]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert build.main([str(tmp_path / "file")]) == 2
    assert "expected a folder that can be written" in capsys.readouterr().err


def test_a_browser_that_prints_nothing_is_named(tmp_path):
    with pytest.raises(build.UsageError, match=r"expected a PDF of x\.html"):
        build.print_pdf(shutil.which("true"), tmp_path / "x.html", tmp_path / "x.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not any(shutil.which(name) for name in build.BROWSERS), reason="prints with Chromium")
def test_a_page_is_printed(tmp_path):
    (tmp_path / "x.html").write_text(build.page("theory"), encoding="utf-8")
    build.print_pdf(build.browser(), tmp_path / "x.html", tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")


def test_the_command_starts_from_any_folder(tmp_path):
    command = [sys.executable, str(ROOT / "docs" / "build.py"), "--html", str(tmp_path / "out")]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
