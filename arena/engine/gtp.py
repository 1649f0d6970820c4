"""The text of the Go Text Protocol, version 2 (Farneback 2002): commands, answers and vertices, for client and server.

A command is one line, `[id] name arguments`. An answer begins with `=` (done) or `?` (failed), repeats the id, and ends with an
empty line. Control characters other than tab and newline are ignored, and `#` begins a comment. A vertex is a letter without I
for the column from the left and a number for the row from the bottom, or `pass`; `resign` can only be an answer to genmove.
Both sides may use capital or small letters.
"""

from __future__ import annotations

from dataclasses import dataclass

from arena.rules import Action

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
LARGEST_BOARD = len(COLUMNS)
PASS: Action = (-1, -1)
LARGEST_ID = 2**31 - 1  # the specification allows the numbers of a 32-bit integer
COLOURS = {"b": 0, "black": 0, "w": 1, "white": 1}


@dataclass(frozen=True)
class Command:
    """One command line.

    Attributes:
        number: the id, or None.
        name: the name in the sender's spelling; it is empty if the line contains only an id.
        arguments: the words after the name.
    """

    number: int | None
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        number: the id, or None.
        failed: whether it begins with `?`.
        text: the content, with lines separated by newlines and without surrounding space.
    """

    number: int | None
    failed: bool
    text: str

    def __str__(self) -> str:
        """Return the answer as it is sent. An empty line within the text would end it early, so it is sent as a space."""
        first, *rest = self.text.rstrip().split("\n")
        sign = f"{'?' if self.failed else '='}{'' if self.number is None else self.number}"
        return "\n".join([f"{sign} {first}", *(line.rstrip() or " " for line in rest)]) + "\n\n"


def clean(line: str) -> str:
    """Return a line without control characters; a tab becomes a space."""
    return "".join(c for c in line.replace("\t", " ") if c >= " " and c != "\x7f")


def parse_command(line: str) -> Command | None:
    """Parse a line that a controller sent; return None for an empty line or a comment."""
    words = clean(line).partition("#")[0].split()
    if not words:
        return None
    number = _number(words[0])
    rest = words if number is None else words[1:]
    return Command(number, rest[0] if rest else "", tuple(rest[1:]))


def parse_answer(lines: list[str]) -> Answer:
    """Parse the lines of an answer, without the empty line that ends it.

    Raises:
        ValueError: the first line does not begin with = or ?.
    """
    first = clean(lines[0])
    sign, rest = first[:1], first[1:]
    if sign not in ("=", "?"):
        raise ValueError(first)
    digits, _, text = rest.partition(" ")
    number = _number(digits)
    if number is None:
        text = rest if digits else text
    return Answer(number, sign == "?", "\n".join([text, *map(clean, lines[1:])]).strip())


def vertex(point: Action) -> str:
    """Return the text of a point (x, y), both from 0 at the lower left corner, or of PASS."""
    return "pass" if point == PASS else f"{COLUMNS[point[0]]}{point[1] + 1}"


def parse_vertex(text: str, size: int) -> Action:
    """Return the point (x, y) of the board of this size, or PASS.

    Raises:
        ValueError: the text is not a vertex, or it is off the board.
    """
    if text.lower() == "pass":
        return PASS
    x, row = COLUMNS.find(text[:1].upper()), text[1:]
    if not text.isascii() or not text or x < 0 or not (row.isdigit() and len(row) < 3):
        raise ValueError(text)
    point = (x, int(row) - 1)
    if not (x < size and 0 <= point[1] < size):
        raise ValueError(text)
    return point


def parse_colour(text: str) -> int:
    """Return 0 for black or 1 for white.

    Raises:
        ValueError: the text is not a colour.
    """
    if text.lower() not in COLOURS:
        raise ValueError(text)
    return COLOURS[text.lower()]


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= LARGEST_ID
    return int(text) if is_number else None
