"""Find the name that a person probably meant: one that differs only a little from what was typed or found."""

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches


def near_name(expected: str, present: Iterable[str]) -> str:
    """Return the path in the same folder whose name is nearly the expected one, or an empty string.

    Args:
        expected: the path that is missing, with forward slashes.
        present: the paths that are there.
    """
    folder, _, name = expected.rpartition("/")
    names = {path.rpartition("/")[2]: path for path in sorted(present) if path.rpartition("/")[0] == folder}
    folded = {found.casefold(): found for found in names if found != name}
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.9)
    return names[folded[close[0]]] if close else ""


def meant(typed: str, names: Iterable[str]) -> str:
    """Return ` (did you mean NAME?)` for the most similar name, or an empty string if none is similar."""
    close = get_close_matches(typed, names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def same_but_written_otherwise(typed: str, names: Iterable[str]) -> str:
    """Return the same question for a name that differs only in case, spaces, the form of its characters, such as full-width
    digits, or zeros at its beginning, which a spreadsheet removes: for ids, where a similar name belongs to somebody else.
    """
    found = [name for name in names if _plain(name) == _plain(typed)]
    return f" (did you mean {found[0]}?)" if found else ""


def _plain(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split()).lstrip("0")
