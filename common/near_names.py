"""Find the file that a person probably meant: one whose name differs from the expected one only a little."""

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
