"""Measure how hard the English documents are to read: `python docs/readability.py [FILE ...]`.

For each file it prints the number of sentences, their mean length, the share of sentences with more than 30 words, and the
grade level of Kincaid et al. (1975): 0.39 words per sentence + 11.8 syllables per word - 15.59, in years of school. Code
blocks, tables, headings and pictures are left out; inline code or a formula counts as one word of one syllable. Syllables are
counted as groups of vowels, so use the figures to compare two texts, such as one before and after a change, and not by
themselves:

    git show HEAD~20:docs/handout.md > before.md && python docs/readability.py before.md docs/handout.md
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from common.errors import UsageError
from common.program_ends import Parser

DOCS = Path(__file__).resolve().parent
GUIDES = ("handout.md", "theory.md", "instructor.md")
LONG_WORDS = 30
LEFT_OUT = re.compile(r"^```.*?^```|<!--.*?-->|^ *(?:\||#|!\[).*?$|^ *\$\$.*?\$\$", re.MULTILINE | re.DOTALL)
AS_ONE_WORD = re.compile(r"`[^`]*`|\$[^$\n]+\$")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
BLOCK = re.compile(r"\n\s*\n|\n *(?:[-*>]|\d+\.) ")  # a blank line or the next item of a list ends a sentence
END = re.compile(r"(?<=[.!?:])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9])")
WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")
VOWELS = re.compile(r"[aeiouy]+")


@dataclass(frozen=True)
class Readability:
    """The figures of a text.

    Attributes:
        sentences: how many have at least two words.
        words_per_sentence: on average.
        long_share: of sentences with more than LONG_WORDS words.
        grade: years of school.
    """

    sentences: int
    words_per_sentence: float
    long_share: float
    grade: float


def sentences_of(text: str) -> list[list[str]]:
    """Return the words of each sentence of a document in Markdown."""
    plain = LINK.sub(r"\1", AS_ONE_WORD.sub("code", LEFT_OUT.sub("\n\n", text)))
    found = [WORD.findall(sentence) for block in BLOCK.split(plain) for sentence in END.split(" ".join(block.split()))]
    return [words for words in found if len(words) > 1]


def syllables(word: str) -> int:
    """Return about how many syllables a word has: its groups of vowels, without a final silent e."""
    word = word.lower()
    silent = word.endswith("e") and not word.endswith(("le", "ee"))
    return max(1, len(VOWELS.findall(word)) - silent)


def readability(text: str) -> Readability:
    """Measure a document; raise a UsageError if it has no sentence."""
    sentences = sentences_of(text)
    if not sentences:
        raise UsageError("expected English sentences; there are none")
    words = [word for sentence in sentences for word in sentence]
    length = len(words) / len(sentences)
    grade = 0.39 * length + 11.8 * sum(map(syllables, words)) / len(words) - 15.59
    return Readability(len(sentences), length, sum(len(one) > LONG_WORDS for one in sentences) / len(sentences), grade)


def _measured(path: Path) -> Readability:
    try:
        return readability(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"expected a document in Markdown at {path}; it cannot be read") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def main() -> int:
    """Print a line for each file."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="Markdown in English (default: the three guides)")
    options = parser.parse_args()
    try:
        measured = [(path.name, _measured(path)) for path in options.files or [DOCS / name for name in GUIDES]]
    except UsageError as error:
        parser.error(str(error))
    print(f"{'file':24} {'sentences':>9} {'words each':>10} {f'over {LONG_WORDS}':>8} {'grade':>6}")
    for name, seen in measured:
        print(f"{name:24} {seen.sentences:9} {seen.words_per_sentence:10.1f} {seen.long_share:8.1%} {seen.grade:6.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
