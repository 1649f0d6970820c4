"""The Chinese texts follow the English ones: the same sections and code, and each digest that of the section translated.

Each numbered section of docs/handout.zh.md and docs/theory.zh.md ends in `<!-- en 5.5: 1a2b3c4d -->`: the first eight hex
digits of the SHA-256 of the English section, from its heading to the next numbered one, without trailing whitespace and
without what stands between the markers of generated parts.
"""

import hashlib
import re
from pathlib import Path

import pytest

from grader.instructor.handout import CRITERIA, HEADING, NUMBER, POINTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
DIGEST = re.compile(rf"<!-- en ({NUMBER}): ([0-9a-f]{{8}}) -->\Z")
TABLES = [rf"(?<={re.escape(begin)}).*?(?={re.escape(end)})" for begin, end in (POINTS, CRITERIA)]
GENERATED = re.compile("|".join([*TABLES, r"(?<=-->\n)\n(?:(?!<!--).)*?\n(?=<!-- end of generated -->)"]), re.DOTALL)


def sections(text):
    """Number -> text of each numbered section, in their order."""
    text = GENERATED.sub("", text)
    starts = list(HEADING.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start[1]: text[start.start() : end].rstrip() for start, end in zip(starts, ends, strict=True)}


def digest(section):
    return hashlib.sha256(section.encode()).hexdigest()[:8]


def complaints(english, chinese):
    """A sentence for each way in which the Chinese text no longer follows the English one."""
    theirs, ours = sections(english), sections(chinese)
    found = []
    if list(theirs) != list(ours):
        found.append(f"The Chinese sections are {', '.join(ours)}; the English ones are {', '.join(theirs)}.")
    for number in (number for number in theirs if number in ours):
        if FENCED.findall(theirs[number]) != FENCED.findall(ours[number]):
            found.append(f"Section {number}: the fenced blocks are not those of the English section.")
        written = DIGEST.search(ours[number])
        if not written or written.groups() != (number, digest(theirs[number])):
            wanted = f"<!-- en {number}: {digest(theirs[number])} -->"
            found.append(f"Section {number}: revise the Chinese section and write the new digest at its end, {wanted}.")
    return found


@pytest.mark.parametrize("name", ["handout", "theory"])
def test_the_chinese_text_follows_the_english_one(name):
    english, chinese = ((DOCS / f"{name}{ending}").read_text(encoding="utf-8") for ending in (".md", ".zh.md"))
    found = complaints(english, chinese)
    assert not found, "\n".join(found)


ENGLISH = f"## 1 Game\n\nBlack begins.\n\n## 2 Setup\n\n```\nmake\n```\n\n{POINTS[0]}\n| 5 |\n{POINTS[1]}\n"
ONE, TWO = (f"<!-- en {number}: {digest(section)} -->" for number, section in sections(ENGLISH).items())
CHINESE = f"## 1 游戏\n\n黑方先行。\n\n{ONE}\n\n## 2 环境\n\n```\nmake\n```\n\n{TWO}\n"


def test_neither_a_faithful_text_nor_other_points_are_complained_of():
    assert complaints(ENGLISH, CHINESE) == complaints(ENGLISH.replace("| 5 |", "| 6 |"), CHINESE) == []


CHANGES = {
    "a sentence": (
        ENGLISH.replace("Black", "White"),
        CHINESE,
        "Section 1: revise the Chinese section and write the new digest",
    ),
    "a code block": (ENGLISH, CHINESE.replace("make", "make all"), "Section 2: the fenced blocks are not"),
    "a missing section": (ENGLISH, CHINESE[CHINESE.index("## 2") :], "The Chinese sections are 2; the English"),
    "a missing digest": (ENGLISH, CHINESE.replace(TWO, ""), "Section 2: revise the Chinese section"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_text_that_has_drifted_is_complained_of(change):
    english, chinese, beginning = CHANGES[change]
    (found,) = complaints(english, chinese)
    assert found.startswith(beginning)
