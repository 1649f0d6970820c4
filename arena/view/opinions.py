"""What a judge thinks of a position, and how a position becomes moves in turn."""

from __future__ import annotations

from dataclasses import dataclass

from arena.rules import Action

PROVEN = 900_000


@dataclass(frozen=True)
class Opinion:
    """What a judge thinks of a position: its move, and a score for the side to move (beyond PROVEN: a forced win)."""

    move: Action
    score: int


def in_turn(own: list[Action], other: list[Action]) -> tuple[int, list[Action]]:
    """Return which side is to move (0 for the one that began) and the stones in an order in which they could be placed.

    Args:
        own: the stones of the side to move.
        other: the stones of its opponent, as many as `own` or one more.
    """
    # The side to move began if both have equally many stones, whatever colours the game gave them.
    side = int(len(other) > len(own))
    first, second = (other, own) if side else (own, other)
    return side, [stone for pair in zip(first, second, strict=False) for stone in pair] + first[len(second) :]
