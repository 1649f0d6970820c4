"""Read the main lines of an SGF file (FF[4]), and write nodes. Only the syntax is known here, not the rules of a game.

Boards need not be square, and a damaged file gets one sentence; that is why this is not left to a library for Go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from common.errors import UsageError
from common.harmless_text import on_screen

MOST_CHARACTERS = 8 << 20
Node = dict[str, list[str]]


TOKEN = re.compile(r"\s*(?:([();])|([A-Za-z]+)|\[((?:[^\]\\]|\\.)*+)\])", re.DOTALL)


def main_lines(text: str) -> Iterator[list[Node]]:
    """Yield the nodes of each game's main line, which follows the first branch wherever the game divides.

    A node is property name -> values, with escapes resolved.

    Raises:
        UsageError: the text is not SGF; the message does not name a file.
    """
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"expected an SGF file of at most {MOST_CHARACTERS} characters; got {len(text)}")
    depth, at, left = 0, 0, False
    nodes: list[Node] = []
    name = ""
    text = (text[text.index("(") :] if "(" in text else "").rstrip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            begins = on_screen(text[at : at + 20])
            raise UsageError(f"expected SGF at character {at + 1}; got {begins!r}")
        at = found.end()
        sign, word, value = found.groups()
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            left = True  # the branches that follow are variations
            if depth < 0:
                raise UsageError("a bracket closes that was never opened")
            if depth == 0:
                yield nodes
                nodes, left = [], False
        elif left or depth == 0:
            continue
        elif sign == ";":
            nodes.append({})
            name = ""
        elif word:
            name = "".join(letter for letter in word if letter.isupper())
        elif nodes and name:
            nodes[-1].setdefault(name, []).append(re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL))
    if depth:
        raise UsageError("the last game does not end")


def main_line(text: str) -> list[Node]:
    """Return the main line of the first game; see `main_lines`.

    Raises:
        UsageError: the text is not SGF or holds no game.
    """
    nodes = next(main_lines(text), [])
    if not nodes:
        raise UsageError("expected a game in SGF, which begins with (; and properties such as SZ[15]")
    return nodes


def write_node(properties: Mapping[str, Sequence[str]]) -> str:
    """Return a node such as `;B[hh]C[text]`; brackets and backslashes in values are escaped."""
    return ";" + "".join(name + "".join(f"[{escaped(value)}]" for value in values) for name, values in properties.items())


def escaped(value: str) -> str:
    """Return a text as a property's value on one line."""
    return value.replace("\\", "\\\\").replace("]", "\\]").replace("\n", " ")
