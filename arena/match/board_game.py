"""Which game of games/ a match plays, and on which board. Players of these games speak GTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.engine.engine_process import EngineSpec
from arena.engine.gtp import parse_vertex, vertex
from arena.engine.specs import parse_player
from arena.rules import Action
from common.errors import UsageError

if TYPE_CHECKING:  # the kit of a lab in which students write these rules does not hold them
    from games.go.rules import GoRules
    from games.nogo.rules import NoGoRules

GAMES = ("nogo", "go")
SMALLEST, LARGEST = 2, 19
USUAL_KOMI = 7.5


@dataclass(frozen=True)
class BoardGame:
    """A game on a square board.

    Attributes:
        name: "nogo" or "go".
        size: rows and columns.
        komi: points that white gets, in steps of a half; None for NoGo.
        superko: in Go, whether positional superko is forbidden, not only a simple ko.

    Raises:
        UsageError: there is no such game, or it cannot be played like this.
    """

    name: str
    size: int = 9
    komi: float | None = None
    superko: bool = False

    def __post_init__(self) -> None:
        if self.name not in GAMES:
            raise UsageError(f"expected one of the games {', '.join(GAMES)}; got {self.name!r}")
        if not SMALLEST <= self.size <= LARGEST:
            raise UsageError(f"expected a board of {SMALLEST}x{SMALLEST} to {LARGEST}x{LARGEST}; got {self.size}x{self.size}")
        if self.name != "go" and (self.komi is not None or self.superko):
            raise UsageError(f"expected komi and superko only for Go; {self.name} has neither points nor captures")
        if self.name == "go" and not (
            self.komi is not None and abs(self.komi) <= LARGEST**2 and float(2 * self.komi).is_integer()
        ):
            raise UsageError(f"expected a komi such as {USUAL_KOMI} for Go, in steps of half a point; got {self.komi}")

    def rules(self) -> NoGoRules | GoRules:
        """Return the rules of the game."""
        if self.name == "nogo":
            from games.nogo.rules import NoGoRules

            return NoGoRules(self.size, self.size)
        from games.go.rules import GoRules

        return GoRules(self.size, self.size, komi=self.komi or 0.0, superko=self.superko)

    def player(self, text: str) -> EngineSpec:
        """Return the player of this game that the text names; see `arena.engine.specs.parse_player`.

        Raises:
            UsageError: there is no such player.
        """
        return parse_player(text, self.name, size=self.size, komi=self.komi, superko=self.superko)

    def action(self, move: Action) -> int | None:
        """Return the number of a move in `rules()`; None for a pass in a game without passes."""
        try:
            return self.rules().action_of(vertex(move))
        except ValueError:
            return None

    def move(self, action: int) -> Action:
        """Return the point (x, y) or PASS that an action of `rules()` denotes."""
        return parse_vertex(self.rules().action_name(action), self.size)

    def opening(self, stones: int, seed: int) -> tuple[Action, ...]:
        """Return random stones of both colours, black's first, after which the game goes on.

        Raises:
            UsageError: there is no such opening of this many stones.
        """
        import numpy as np  # a match without such openings starts faster

        return tuple(map(self.move, self.rules().draw_opening(stones, np.random.default_rng(seed))))


def parse_board(text: str) -> int:
    """Return the size of a square board that the user wrote as `9` or `9x9`.

    Raises:
        UsageError: it is something else.
    """
    width, x, height = text.lower().partition("x")
    if not (width.isascii() and width.isdigit() and len(width) < 4) or (x and height != width):
        raise UsageError(f"expected a square board such as 9x9; got {text!r}")
    return int(width)
