"""Take everything out of a message that could lead to a student, so that a page for the whole class can quote it.

A message may repeat what a submission says: names of files and engines, lines of its source, what it printed. A list of what to
remove would never be complete. So only words stay that the grader's own sources and the handout contain; every other word
becomes a gap. The words of the students' names and ids become gaps even if the sources contain them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from common.harmless_text import on_screen
from grader.assignment import ROOT, Assignment
from grader.pipeline.judging import judging_files

GAP = "…"
WORD = re.compile(r"[^\W\d_]+")
PIECE = re.compile(r"[^\W\d_]+|\d+")
GAPS = re.compile(rf"{GAP}(?:[\W_]*?{GAP})+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
NUMBERS = re.compile(r"#(?:[\s,.()\[\]x:/-]*#)+")
LONGEST_NUMBER = 4  # digits; a longer number may be an id
SHORTEST_ID = 3  # digits; one or two digits of an id say nothing, and occur everywhere
LONGEST_EXAMPLE = 240  # characters
READABLE = (".py", ".toml", ".h", ".cpp", ".md")


class Anonymiser:
    """Makes the sentences of a class anonymous.

    Args:
        private: ids and names of students, and names of submissions.
    """

    def __init__(self, assignment: Assignment, private: Iterable[str]) -> None:
        sources = [name for name in (*judging_files(assignment), assignment.handout) if name.endswith(READABLE)]
        texts = ((ROOT / name).read_text(encoding="utf-8") for name in sources if (ROOT / name).is_file())
        self._known = {word.casefold() for text in texts for word in WORD.findall(text)}
        pieces = {piece.casefold() for text in private for piece in PIECE.findall(text)}
        self._private = {piece for piece in pieces if not piece.isdecimal() or len(piece) >= SHORTEST_ID}

    def sentence(self, message: str) -> str:
        """Return the first sentence of a message, with gaps for all words that the grader does not use."""
        first = SENTENCE_END.split(on_screen(message).strip(), maxsplit=1)[0]
        anonymous = GAPS.sub(GAP, PIECE.sub(lambda found: self._piece(found[0]), first))
        return anonymous if len(anonymous) <= LONGEST_EXAMPLE else f"{anonymous[:LONGEST_EXAMPLE].rstrip()} {GAP}"

    def _piece(self, piece: str) -> str:
        if piece.casefold() in self._private:
            return GAP
        known = len(piece) <= LONGEST_NUMBER if piece.isdecimal() else piece.casefold() in self._known
        return piece if known else GAP


def pattern_of(sentence: str) -> str:
    """Return what is equal in sentences that differ only in numbers, coordinates and lists of these."""
    return NUMBERS.sub("#", re.sub(r"[-+]?\d+", "#", sentence))
