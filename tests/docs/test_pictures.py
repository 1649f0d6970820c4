"""The pictures of the handout, the theory and the family of searches: well-formed, shown, and with the numbers of the text."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs import generate
from docs.examples.worked_search import nodes_after, puct
from grader.assignment_file import load_assignment

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
PICTURES = generate.pictures()
LINKED = re.compile(r"!\[([^\]]+)\]\(pictures/([^)]+)\.svg\)")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_text_inside_its_frame_and_needs_no_other_file(name):
    picture = ElementTree.fromstring(PICTURES[name])
    _, _, width, height = map(float, picture.get("viewBox").split())
    texts = picture.findall(f"{SVG}text")
    assert texts and picture.get("aria-label") and not re.search(r"href|url\((?!#)|@import", PICTURES[name])
    for text in texts:
        assert 0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height, text.text
    assert len(PICTURES[name]) < 40_000


def test_every_picture_is_shown_in_the_text_of_its_language():
    for ending, names in (("", ["handout", "theory", "family"]), (".zh", ["handout", "theory"])):
        texts = [(ROOT / "docs" / f"{name}{ending}.md").read_text(encoding="utf-8") for name in names]
        shown = {name for text in texts for _, name in LINKED.findall(text)}
        assert shown == {name for name in PICTURES if name.endswith(".zh") == bool(ending)}


def test_the_window_and_a_report_are_shown_in_both_languages_and_in_the_kit():
    for name in ("handout.md", "handout.zh.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert re.findall(r"!\[[^\]]+\]\((pictures/[\w.]+\.png)\)", text) == ["pictures/report.png", "pictures/board.png"]
    for name in ("report", "board"):
        assert load_assignment().is_in_kit(f"docs/pictures/{name}.png")
        assert (ROOT / "docs" / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_colours_change_with_the_theme():
    assert all("prefers-color-scheme:dark" in svg and 'fill="var(--paper)"' in svg for svg in PICTURES.values())


def test_the_worked_example_of_the_handout_is_what_the_search_does():
    text = (ROOT / "docs" / "handout.md").read_text(encoding="utf-8")
    written = re.findall(r"\+-- (\w) .*N = (\d+)   P = ([\d.]+)   Q = ([-+\d.]+)", text)
    nodes = nodes_after(4)
    assert [name for name, *_ in written] == ["a", "b", "c"]
    for name, visits, prior, mean_value in written:
        node = next(node for path, node in nodes.items() if path.endswith(name) and node.visits)
        assert (node.visits, node.prior) == (int(visits), float(prior))
        assert node.mean_value == pytest.approx(float(mean_value))
    choices = re.search(r"^next .* = ([\d.]+)    c: .* = ([\d.]+)    so a$", text, re.MULTILINE)
    assert [f"{puct(nodes[''], nodes[name]):.1f}" for name in "ac"] == list(choices.groups())
