"""How SGF writes points."""

from __future__ import annotations

from arena.rules import Action


def point(place: Action, size: int) -> str:
    """Return (x, y), where y counts from the bottom row: columns are lettered from the left, rows from the top."""
    return chr(97 + place[0]) + chr(97 + size - 1 - place[1])
