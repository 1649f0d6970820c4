"""NoGo and Go as people play them; see `Board.play.for_people.GameForPeople`.

What a refused point means, who is out of moves, captures, areas and the score are said here and nowhere else. The rules
themselves stay in `nogo/` and `go/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from Board.play.people import Sentence
from common.errors import UsageError
from common.harmless_text import on_screen
from common.typed import half_width
from games.go.position import GoPosition
from games.go.rules import GoRules
from games.grid import COLUMNS, grid
from games.nogo.position import NoGoPosition
from games.nogo.rules import NoGoRules
from games.protocol import NOBODY

NOGO_IN_SGF = "NoGo"  # SGF has no number for NoGo, so files give Go's number and this name of the rules


class OnCrossings:
    """What NoGo and Go share: stones on crossings, which have names such as d4."""

    rules: NoGoRules | GoRules
    is_cells = False

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.rules.width

    @property
    def height(self) -> int:
        """The number of rows."""
        return self.rules.height

    @property
    def column_names(self) -> Sequence[str]:
        """Letters, without i."""
        return COLUMNS[: self.width]

    @property
    def row_names(self) -> Sequence[str]:
        """Rows are counted from 1."""
        return [str(h + 1) for h in range(self.height)]

    @property
    def example(self) -> str:
        """The point in the middle."""
        return self.rules.action_name(self.height // 2 * self.width + self.width // 2)

    def new_position(self) -> Any:
        """See GameForPeople."""
        return self.rules.position()

    def action_name(self, action: int) -> str:
        """See GameForPeople."""
        return self.rules.action_name(action)

    def action_of(self, text: str) -> int:
        """See GameForPeople."""
        return self.rules.action_of(half_width(text))

    def won_by(self, position: Any) -> tuple[tuple[int, int], ...]:
        """No stones win by themselves."""
        return ()

    def _expect_size(self, width: int, height: int) -> None:
        """Raise a UsageError if our rules have no board of this size, which SGF allows."""
        try:
            grid(width, height)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _size_difference(self, other: OnCrossings) -> Sentence | None:
        wanted, found = (f"{each.width}x{each.height}" for each in (self, other))
        return None if wanted == found else ("other_board", {"wanted": wanted, "found": found})


@dataclass(frozen=True)
class NoGoForPeople(OnCrossings):
    """NoGo on a board of one size."""

    rules: NoGoRules
    name = "nogo"
    title = "NoGo"
    pass_action = None
    in_place_of_a_stone = None

    @property
    def typed(self) -> str:
        """A point."""
        return self.example

    def refusal(self, position: NoGoPosition, move: int) -> Sentence | None:
        """A point may be taken, capture, or leave its own stone without a liberty."""
        if position.legal_points() >> move & 1:
            return None
        key = "point_taken" if move in position.states else "would_capture" if position.captured_by(move) else "no_liberty"
        return key, {"point": self.action_name(move)}

    def captures(self, position: NoGoPosition) -> None:
        """Nobody captures."""

    def ending(self, position: NoGoPosition) -> Sentence | None:
        """Say who has no legal move left."""
        over, winner = position.game_end()
        if not over:
            return None
        return "white_cannot_move" if winner == position.players[0] else "black_cannot_move", {}

    def territory(self, position: NoGoPosition) -> dict[int, int]:
        """There is none."""
        return {}

    def margin(self, position: NoGoPosition) -> str:
        """There is no score."""
        return ""

    def sgf_heading(self) -> dict[str, list[str]]:
        """See GameForPeople."""
        return {"GM": ["1"], "RU": [NOGO_IN_SGF]}

    def of_file(self, root: Mapping[str, list[str]], width: int, height: int) -> Self:
        """See GameForPeople."""
        if not _is_nogo(root):
            raise UsageError(f"expected a game of NoGo, whose files say RU[{NOGO_IN_SGF}]; this file holds another game")
        self._expect_size(width, height)
        return self.__class__(NoGoRules(width, height))

    def difference(self, other: NoGoForPeople) -> Sentence | None:
        """Another size."""
        return self._size_difference(other)


@dataclass(frozen=True)
class GoForPeople(OnCrossings):
    """Go on a board of one size, with its komi. All stones that are on the board at the end count as alive."""

    rules: GoRules
    name = "go"
    title = "Go"
    in_place_of_a_stone = "pass"

    @property
    def pass_action(self) -> int:
        """See GameForPeople."""
        return self.rules.pass_action

    @property
    def typed(self) -> str:
        """A point or a pass."""
        return f"{self.example}, pass"

    def refusal(self, position: GoPosition, move: int) -> Sentence | None:
        """A point may be taken, take a ko back at once, or be suicide."""
        if position.legal_points() >> move & 1:
            return None
        key = "point_taken" if move in position.states else "ko" if move == position.ko_point else "suicide"
        return key, {"point": self.action_name(move)}

    def captures(self, position: GoPosition) -> tuple[int, int]:
        """See GameForPeople."""
        first, second = position.players
        return position.captures[first], position.captures[second]

    def ending(self, position: GoPosition) -> Sentence | None:
        """Count both areas and the komi."""
        over, winner = position.game_end()
        if not over:
            return None
        black, white = (area.bit_count() for area in position.areas())
        key = "equal_points" if winner == NOBODY else ("black_by_points", "white_by_points")[position.players.index(winner)]
        values = {"black": black, "white": white, "komi": f"{position.komi:g}", "total": f"{white + position.komi:g}"}
        return key, values | ({} if winner == NOBODY else {"margin": self.margin(position)})

    def territory(self, position: GoPosition) -> dict[int, int]:
        """See GameForPeople."""
        if not position.game_end()[0]:
            return {}
        owned = {move: side for side, area in enumerate(position.areas()) for move in self.rules.grid.moves(area)}
        return {move: side for move, side in owned.items() if move not in position.states}

    def margin(self, position: GoPosition) -> str:
        """See GameForPeople."""
        return f"{abs(position.score()):g}"

    def sgf_heading(self) -> dict[str, list[str]]:
        """See GameForPeople."""
        return {"GM": ["1"], "RU": ["Tromp-Taylor without suicide"], "KM": [f"{self.rules.komi:g}"]}

    def of_file(self, root: Mapping[str, list[str]], width: int, height: int) -> Self:
        """See GameForPeople; a file without a komi is taken to have this one."""
        if root.get("GM", ["1"]) != ["1"] or _is_nogo(root):
            raise UsageError("expected a game of Go, whose files say GM[1]; this file holds another game")
        self._expect_size(width, height)
        text = root.get("KM", [f"{self.rules.komi:g}"])[0]
        try:
            return self.__class__(GoRules(width, height, float(text)))
        except ValueError:
            raise UsageError(f"expected a komi in steps of half a point; the file says {on_screen(text)[:20]!r}") from None

    def difference(self, other: GoForPeople) -> Sentence | None:
        """Another size or komi."""
        size = self._size_difference(other)
        if size is not None or self.rules.komi == other.rules.komi:
            return size
        return "other_komi", {"wanted": f"{self.rules.komi:g}", "found": f"{other.rules.komi:g}"}


def _is_nogo(root: Mapping[str, list[str]]) -> bool:
    """Return whether the root node of an SGF file names the rules of NoGo, in any case."""
    return root.get("RU", [""])[0].lower() == NOGO_IN_SGF.lower()


def game_for_people(name: str, size: int, komi: float | None) -> NoGoForPeople | GoForPeople:
    """Return a game on a square board by its name, "nogo" or "go"; komi is Go's alone."""
    if name == "nogo":
        return NoGoForPeople(NoGoRules(size, size))
    return GoForPeople(GoRules(size, size, komi or 0.0))
