"""Measure how much of one source occurs in another, token by token; comments, layout and names do not count.

This is winnowing (Schleimer, Wilkerson, Aiken 2003): every run of GRAM tokens is hashed, and the smallest hash in each window
of WINDOW hashes is kept as a fingerprint. If two sources share a run of GRAM + WINDOW - 1 tokens anywhere, they share a
fingerprint. All names count as the same token, and so do all numbers.

One regular expression splits the text into tokens, in time linear in its length, because the text is untrusted. Lexers made
for highlighting have had patterns that take hours on some inputs. Its repetitions are possessive (`*+`): the others remember
every round of a long token, in more than a hundred times its memory.
"""

from __future__ import annotations

import keyword
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

GRAM, WINDOW = 16, 8
CPP_KEYWORDS = frozenset(
    """
    auto bool break case catch char class const continue default delete do double else enum false float for goto if int long
    namespace new operator private public return short signed sizeof static struct switch template this throw true try typedef
    typename union unsigned using virtual void while
    """.split()  # noqa: SIM905 (a list with one word per line would be no clearer)
)
KEYWORDS = {True: frozenset(keyword.kwlist), False: CPP_KEYWORDS}
SOURCES = (
    ".py",
    *(".cpp", ".cc", ".cxx", ".CPP"),
    *(".h", ".hpp", ".hh", ".hxx", ".H", ".inl", ".inc", ".ipp", ".tpp"),
)
COMMENTS = {True: r"\#[^\n]*", False: r"//[^\n]* | /\*(?:(?!\*/).)*+(?:\*/)?"}
TOKEN = {
    python: re.compile(
        rf"""
          (?P<skipped> \s+ | {comment} )
        | (?P<text> \"{{3}}(?:(?!\"{{3}})[^\\]|\\.)*+(?:\"{{3}})? | '{{3}}(?:(?!'{{3}})[^\\]|\\.)*+(?:'{{3}})?
                  | "(?:[^"\\\n]|\\.)*+"? | '(?:[^'\\\n]|\\.)*+'? )
        | (?P<number> \.?\d(?:[eEpP][+-]|[\w.'])*+ )
        | (?P<word> [^\W\d]\w* )
        | (?P<symbol> . )
        """,
        re.VERBOSE | re.DOTALL,
    )
    for python, comment in COMMENTS.items()
}
"""The pattern for Python under True, the pattern for C++ under False."""


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of a source.

    Attributes:
        hashes: [N] uint64, sorted, without duplicates.
    """

    hashes: np.ndarray

    def __len__(self) -> int:
        return len(self.hashes)

    def common(self, other: Fingerprints) -> int:
        """Return the number of fingerprints that occur in both sources."""
        return len(np.intersect1d(self.hashes, other.hashes, assume_unique=True))

    def share_in(self, other: Fingerprints) -> float:
        """Return the share in [0, 1] of these fingerprints that also occur in the other source; 0 for an empty source."""
        return self.common(other) / len(self) if len(self) else 0.0

    def without(self, other: Fingerprints) -> Fingerprints:
        """Return the fingerprints that do not occur in the other source."""
        return Fingerprints(np.setdiff1d(self.hashes, other.hashes, assume_unique=True))

    @classmethod
    def union(cls, several: Iterable[Fingerprints]) -> Fingerprints:
        """Return the fingerprints that occur in any of these sources."""
        return cls(np.unique(np.concatenate([np.empty(0, np.uint64), *(each.hashes for each in several)])))


def is_source(path: str) -> bool:
    """Return whether a file's name is that of a Python or C++ source."""
    return path.endswith(SOURCES)


def tokens(text: str, python: bool) -> list[str]:
    """Return the tokens that count: keywords and symbols unchanged; other names, numbers and strings as their kind."""
    found = []
    for match in TOKEN[python].finditer(text):
        kind, token = str(match.lastgroup), match[0]
        if kind != "skipped":
            found.append(token if kind == "symbol" or token in KEYWORDS[python] else kind)
    return found


def fingerprints(content: bytes, path: str) -> Fingerprints:
    """Return the fingerprints of a source; the suffix of its path determines the language."""
    return _fingerprints(content, path.endswith(".py"))


@lru_cache(maxsize=512)  # every submission, and every file of a kit, is compared with the same sources
def _fingerprints(content: bytes, python: bool) -> Fingerprints:
    found, known = tokens(content.decode("utf-8", "replace"), python), dict[str, int]()
    for token in found:
        if token not in known:
            known[token] = zlib.crc32(token.encode("utf-8", "surrogatepass"))
    codes = np.array([known[token] for token in found], dtype=np.uint64)
    if len(codes) < GRAM:
        return Fingerprints(np.empty(0, np.uint64))
    grams = np.lib.stride_tricks.sliding_window_view(codes, GRAM)
    factors = np.cumprod(np.full(GRAM, 0x9E3779B97F4A7C15, dtype=np.uint64))
    hashes = grams @ factors
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    if len(hashes) <= WINDOW:
        return Fingerprints(np.unique(hashes.min()))
    return Fingerprints(np.unique(np.lib.stride_tricks.sliding_window_view(hashes, WINDOW).min(axis=1)))
