"""What a C++ source includes by name, as the compiler reads it: without comments, with continued lines joined."""

from __future__ import annotations

import re

COMMENT = re.compile(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?")
INCLUDE = re.compile(r'^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


def without_comments(content: bytes) -> str:
    """Return the text of a source, without a byte order mark, in which a space stands for each comment."""
    text = content.decode("utf-8-sig", "replace").replace("\\\r\n", "").replace("\\\n", "")
    return COMMENT.sub(" ", text)


def included_names(text: str) -> list[str]:
    """Return the names that a text from `without_comments` includes, in its order; names made by a macro are missing."""
    return INCLUDE.findall(text)
