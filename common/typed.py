"""What people type: a Chinese input method gives full-width digits, letters and signs, such as `７，７` and `？`."""

from __future__ import annotations

import re
import unicodedata


def half_width(text: str) -> str:
    """Return a text with ordinary digits, letters, signs and spaces in place of full-width ones."""
    return unicodedata.normalize("NFKC", text)


def integer(word: str) -> int:
    """Read an integer in decimal digits; ValueError for anything else, `1_0` included."""
    if not re.fullmatch(r"[+-]?[0-9]+", word):
        raise ValueError(f"expected an integer; got {word!r}")
    return int(word)
