"""The handout and what it links to as pages: `python docs/build.py [FOLDER]` writes HTML and PDF in both languages.

Each page is one file without links to fonts, styles or scripts elsewhere; its pictures are part of it. PDF is printed by
Chromium. Where there is no Chromium, or no Chinese font, the command says so and makes the rest.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mistune

from common.errors import UsageError
from common.files import replacing, write_whole
from common.program_ends import Parser
from grader.assignment import ROOT

DOCS = ROOT / "docs"
PAGES = ("handout", "theory", "family", "arena", "handout.zh", "theory.zh")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PDF_TIMEOUT_S = 300
DRAWN_BY = {".svg": "docs/generate.py", ".png": "docs/pictures/make.py"}
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
# A line break between Chinese characters, which a browser would show as a space.
CHINESE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n *(?=[\u3000-\u9fff\uff00-\uffef])")
STYLE = """
:root{color-scheme:light dark;--ink:#1f2328;--soft:#59636e;--paper:#fff;--fill:#f2f5f8;--edge:#d0d7de;--link:#0a5fc4}
@media (prefers-color-scheme:dark){
 :root{--ink:#e6edf3;--soft:#a0aab5;--paper:#0d1117;--fill:#1a212a;--edge:#3a434d;--link:#6cb2ff}}
body{font:16px/1.6 system-ui,"Segoe UI","Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;
 max-width:54rem;margin:0 auto;padding:1rem 1.2rem 4rem;color:var(--ink);background:var(--paper);overflow-wrap:break-word}
h1{line-height:1.25}h2{border-bottom:1px solid var(--edge);padding-bottom:.2em;margin-top:2em}
a{color:var(--link)}nav{background:var(--fill);padding:.6rem 1rem;border-radius:6px}nav ul{margin:.3rem 0;padding-left:1.2rem}
pre{padding:.8rem;border-radius:6px;overflow-x:auto;line-height:1.4}
code,pre{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.86em}pre code{font-size:1em}
figure,.table{margin:1rem 0;overflow-x:auto;--under:var(--paper)}pre{--under:var(--fill)}
figure,.table,pre{background:linear-gradient(to left,var(--under) 1rem,transparent) right/2rem 100% no-repeat local,
 linear-gradient(to left,var(--soft),transparent) right/.6rem 100% no-repeat scroll var(--under)}
figure svg,figure img{max-width:100%;height:auto}
table{border-collapse:collapse}
td,th{border:1px solid var(--edge);padding:.3rem .6rem;vertical-align:top}th{background:var(--fill)}
@media (max-width:700px){figure svg{max-width:none;width:600px}body{font-size:15px}
 table{font-size:.86em}td,th{padding:.25rem .4rem}ul,ol{padding-left:1.4rem}}
@page{size:A4;margin:18mm 16mm}
@media print{figure,.table{background:none}pre{background:var(--fill)}body{max-width:none;padding:0;font-size:10.5pt}
 h2,h3{break-after:avoid}pre,figure,tr,li{break-inside:avoid}
 pre{white-space:pre-wrap;font-size:8.5pt}nav{display:none}a{color:inherit;text-decoration:none}table{font-size:9.5pt}}
"""


class PageRenderer(mistune.HTMLRenderer):
    """Markdown of this folder as HTML: headings have anchors, pictures are part of the page, links lead to other pages."""

    def __init__(self) -> None:
        super().__init__(escape=True)
        self.headings: list[tuple[int, str, str]] = []

    def heading(self, text: str, level: int, **_: Any) -> str:
        """Return a heading with an anchor as GitHub makes it."""
        plain = re.sub(r"<[^>]+>", "", text)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        self.headings.append((level, anchor, plain))
        return f'<h{level} id="{anchor}">{text}</h{level}>\n'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Return a picture of this folder, a drawing (SVG) or a photograph of the screen (PNG), as a part of the page."""
        path = DOCS / url
        if path.suffix not in DRAWN_BY or not path.is_file():
            drawn_by = DRAWN_BY.get(path.suffix, " or ".join(DRAWN_BY.values()))
            raise UsageError(f"expected a picture docs/{url}, drawn by python {drawn_by}; nothing is there")
        if path.suffix == ".png":
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            return f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{content}"></figure>'
        name = path.name.split(".")[0]
        svg = path.read_text(encoding="utf-8").replace('id="to-', f'id="{name}-to-').replace("url(#to-", f"url(#{name}-to-")
        return f"<figure>{svg}</figure>"

    def paragraph(self, text: str) -> str:
        """Return a paragraph, or a picture that stands alone."""
        return f"{text}\n" if text.startswith("<figure>") and text.endswith("</figure>") else super().paragraph(text)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """Return a link to a page that is made here or elsewhere; of any other file, only the text remains."""
        target, hash_sign, anchor = url.partition("#")
        if target.endswith(".md") and target.removesuffix(".md") in PAGES:
            url = f"{target.removesuffix('.md')}.html{hash_sign}{anchor}"
        elif target and not re.match(r"https?://", target):
            return text
        return super().link(text, url, title)

    def table(self, text: str) -> str:
        """Return a table that scrolls by itself where the page is narrow."""
        return f'<div class="table"><table>\n{text}</table></div>\n'


def page(name: str) -> str:
    """Return a document as a page."""
    source = CHINESE_BREAK.sub("", COMMENT.sub("", (DOCS / f"{name}.md").read_text(encoding="utf-8")))
    renderer = PageRenderer()
    body = str(mistune.create_markdown(renderer=renderer, plugins=["table"])(source))
    language = "zh-CN" if name.endswith(".zh") else "en"
    titles = [plain for level, _, plain in renderer.headings if level == 1]
    entries = "".join(f'<li><a href="#{anchor}">{plain}</a></li>' for level, anchor, plain in renderer.headings if level == 2)
    head = (
        f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(titles[0] if titles else name)}</title><style>{STYLE}</style></head><body>\n"
    )
    first, end, rest = body.partition("</h1>\n")
    return f"{head}{first}{end}<nav><ul>{entries}</ul></nav>\n{rest}</body></html>\n"


def browser() -> str:
    """Return the browser that prints PDF.

    Raises:
        UsageError: there is none.
    """
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            f"expected one of {', '.join(BROWSERS)} on the PATH, to print PDF; found none, so there is only HTML."
            " Install Chromium (Debian, Ubuntu: apt-get install chromium) or print the pages from your browser"
        )
    return found


def has_chinese_font() -> bool:
    """Return whether fontconfig knows a font for Chinese; true where there is no fontconfig to ask."""
    lister = shutil.which("fc-list")
    if lister is None:
        return True
    return bool(subprocess.run([lister, ":lang=zh"], capture_output=True, timeout=60, check=False).stdout.strip())


def print_pdf(program: str, source: Path, target: Path) -> None:
    """Print a page.

    Raises:
        UsageError: the browser made no PDF.
    """
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    options = ["--headless", *as_root, "--disable-gpu", "--no-pdf-header-footer"]
    with replacing(target) as unfinished:
        command = [program, *options, f"--print-to-pdf={unfinished}", source.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PDF_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise UsageError(f"{program} did not print {source.name} within {PDF_TIMEOUT_S} s; try again") from error
        if not unfinished.is_file():
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            raise UsageError(f"expected a PDF of {source.name} from {program}; it ended with {done.returncode}: {last[0]}")


def print_all(folder: Path) -> None:
    """Print every page of a folder; without a font for them, all but the Chinese ones.

    Raises:
        UsageError: there is no browser, no Chinese font, or a page was not printed.
    """
    program = browser()
    chinese = has_chinese_font()
    for name in PAGES:
        if chinese or not name.endswith(".zh"):
            print_pdf(program, folder / f"{name}.html", folder / f"{name}.pdf")
            print(folder / f"{name}.pdf")
    if not chinese:
        raise UsageError(
            "expected a font for Chinese; fontconfig knows none, so the Chinese pages are only there as HTML."
            " Install one (Debian, Ubuntu: apt-get install fonts-noto-cjk) and run this again"
        )


def main(arguments: list[str] | None = None) -> int:
    """Write the pages.

    Returns:
        0, or 2 if something is missing.
    """
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "docs", help="default: build/docs")
    parser.add_argument("--html", action="store_true", help="HTML only")
    options = parser.parse_args(arguments)
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        for name in PAGES:
            write_whole(options.folder / f"{name}.html", page(name))
            print(options.folder / f"{name}.html")
        if not options.html:
            print_all(options.folder)
    except OSError as error:
        print(f"build.py: expected a folder that can be written at {options.folder}; {error.strerror}", file=sys.stderr)
        return 2
    except UsageError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
