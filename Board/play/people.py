"""Who plays, by which rules, and what can go wrong: the plain values of a session."""

from __future__ import annotations

from dataclasses import dataclass

from Board.rules import Player

CENTRE_WIDTH = 7
RESIGN = "resign"  # what a player returns instead of a move to give up
Sentence = tuple[str, dict[str, object]]
"""A key of `Board.play.words` and what the sentence mentions."""


def central(length: int) -> range:
    """Return the rows or columns of the central 7x7."""
    first = max(0, (length - CENTRE_WIDTH) // 2)
    return range(first, min(length, first + CENTRE_WIDTH))


class Refused(Exception):
    """Raised when something cannot be done now; nothing has changed.

    Attributes:
        key: the sentence in `Board.play.words`.
        values: what the sentence mentions.
    """

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


@dataclass(frozen=True)
class Rules:
    """What holds apart from n in a row.

    Attributes:
        may_swap: whether white may answer black's second stone with a swap instead of a stone.
        central_opening: whether a person's first stone as black must lie in the central 7x7.
    """

    may_swap: bool = False
    central_opening: bool = False


@dataclass(frozen=True)
class Participant:
    """Somebody who plays one side of each game; the score counts games by participant.

    Attributes:
        name: what the window calls them.
        player: who moves; None for a person.
        adviser: who gives hints to a person in this player's games; None for `player`.
    """

    name: str
    player: Player | None = None
    adviser: Player | None = None


@dataclass(frozen=True)
class Trouble:
    """Why a player's game cannot go on.

    Attributes:
        name: the player's name.
        error: what it raised.
        is_illegal: whether it answered with an illegal move.
        refusal: why the move is illegal, if it is a point of the board.
    """

    name: str
    error: BaseException
    is_illegal: bool = False
    refusal: Sentence | None = None
