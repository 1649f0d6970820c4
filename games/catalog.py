"""The games by their names, for configurations and command lines."""

from __future__ import annotations

from common.errors import UsageError
from games.go.rules import GoRules
from games.gomoku.rules import GomokuRules
from games.nogo.rules import NoGoRules
from games.protocol import GameRules

GAMES = ("gomoku", "nogo", "go")


def rules_of(game: str, width: int, height: int, *, n_in_row: int = 5, komi: float = 7.5, superko: bool = False) -> GameRules:
    """Return a game by its name.

    Args:
        game: one of GAMES.
        width, height: the number of columns and rows.
        n_in_row: Gomoku only: how many stones in a row win.
        komi: Go only: what white receives.
        superko: Go only: whether positional superko is forbidden, not only a simple ko.

    Raises:
        UsageError: there is no such game, or not of this size.
    """
    try:
        if game == "gomoku":
            return GomokuRules(width, height, n_in_row)
        if game == "nogo":
            return NoGoRules(width, height)
        if game == "go":
            return GoRules(width, height, komi, superko)
    except ValueError as error:
        raise UsageError(str(error)) from error
    raise UsageError(f"expected one of the games {', '.join(GAMES)}; got {game!r}")
