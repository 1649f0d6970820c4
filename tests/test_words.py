"""The house list of phrases that read as translated (CONTRIBUTING.md, Words), looked for in the documents.

Single words stand in docs/words.txt, with which `make test` runs codespell over the whole repository.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/*.txt",
        "labs/*/handout.md",
        "labs/*/kit_readme.txt",
        "model/*.md",
        "assignment.toml",
        "instructor/course/rubric.toml",
        "arena/view/templates/*.html.j2",
        "grader/pipeline/templates/*.j2",
    )
    for path in ROOT.glob(pattern)
    if path.name not in ("handout.zh.md", "words.txt")
)
# What to avoid -> what to write.
PHRASES = {
    r"(is|are|was|were) none(?! of)": "is not a ..., there is no ...",
    r"(say|says|said|tell|tells|told) of": "report, describe, mention",
    r"(is|are) told(?! apart)": "is given, may use, receives",
    r"(the|all|lack the|without the) own": "the player's own, your own",
    r"(Played|Computed|Drawn|Measured|Lost|Kept|Asked|Read) (is|are)": "the usual word order, or a verb",
    r"await(s)? marks": "to be marked by a person",
    r"(not )?to be had": "is (not) available",
    r"interval without end": "unbounded interval",
    r"dice of": "a random generator",
    r"so (many|much) (seeds|games|playouts|simulations|CPU time|samples)": "a number of, this many",
    r"as ever": "as usual",
    r"once for all": "once",
    r"in such a way": "like this",
    r"network(s)? (is|are) (asked|judged)": "the network is evaluated",
    r"goes for": "holds for, applies to",
    r"is one that is": "is",
    r"(no|any) (one )?such is": "there is no such",
    r"what (was|is|were) found": "the result",
    r"wish(es)? for": "ask for",
    r"seen by (?=the side|the player who|black|white|Black|White)": "for the side to move, from white's point of view",
    r"whose view (a|it|each)": "whose point of view",
    r"(know|knows|play|plays|ask|asks) (\w+ ){1,3}alone": "knows only, uses only",
    r"(is|are|was|were) no (zero|fixed|child|part|point|leaf|fault)": "is not a ...",
    r"less \[": "minus",
    r"a line says so": "prints a note",
    r"over night": "overnight",
    r"(some|of some) (seconds|minutes)": "a few seconds",
    r"of (yours|theirs)(?=[ .:,])": "one of your own, your own",
    r"(go|goes|went) on on": "continue on",
    r"all of \d+ (games|seeds|runs)": "all 16 games",
    r"(is|are) as right": "is just as correct",
}


def paragraphs(text):
    """The text without fenced code, each paragraph on one line."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^## Words$.*?(?=^## )", "", text, flags=re.MULTILINE | re.DOTALL)  # the list of what not to write
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=[|#-])", text)]


def complaints(text):
    """A sentence for each phrase of the list in a text."""
    return [
        f"{found[0]!r} in {paragraph[max(0, found.start() - 40) : found.end() + 40]!r}: write {better}"
        for paragraph in paragraphs(text)
        for phrase, better in PHRASES.items()
        for found in re.finditer(rf"\b{phrase}\b", paragraph)
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_reads_as_plain_english(name):
    assert complaints((ROOT / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Values beyond 1\nor -1 are none.",
        "The report tells of it.",
        "Plane 3 has all own stones.",
        "The level that is not to be had.",
        "20 points await marks",
        "Values are seen by the side to move.",
        "The checks know Gomoku alone.",
        "This is no fault.",
        "A run goes on on a larger board.",
        "It won all of 16 games.",
    ],
)
def test_a_phrase_of_the_list_is_found_across_lines(text):
    assert len(complaints(f"A right sentence.\n\n{text}\n")) == 1


def test_right_sentences_and_code_are_not_complained_of():
    right = "None of the values is told apart by chance.\n\n```\nis told\n```\n\n## Words\n\nas ever\n\n## Commits\n"
    assert complaints(right) == []


def test_codespell_knows_the_words_of_the_house():
    command = [sys.executable, "-m", "codespell_lib", "-"]
    done = subprocess.run(command, cwd=ROOT, input="Drawn anew whilst it waits.\n", capture_output=True, text=True)
    assert "anew ==> again" in done.stdout and "whilst ==> while" in done.stdout
