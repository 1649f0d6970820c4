"""What people see and type of a game: names of points, a pass, why a move is refused, how a game ended.

A session, the terminal and the window ask a `GameForPeople` and know no game themselves. Gomoku is here; `games.for_people` has
NoGo and Go. A position is a `games.protocol.Position`, of which `Board` is one; side 0 is the player who began.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from Board.play.people import Sentence
from Board.rules import Board
from common.errors import UsageError
from common.harmless_text import on_screen
from common.typed import half_width, integer

Point = tuple[int, int]
Position = Any
USUAL_ROW = 5


class GameForPeople(Protocol):
    """A game on a board of one size.

    Attributes:
        name: what its files and its sentences in `Board.play.words` are called.
        title: what people call it.
        width, height: the number of columns and rows.
        pass_action: the action that is a pass; None in a game without a pass.
        in_place_of_a_stone: the button for what a player may do instead of placing a stone: swap, pass, or None.
        is_cells: whether stones lie in cells, as in tic-tac-toe, and not on crossings.
        column_names, row_names: the coordinates, from the lower left corner.
        typed: how the prompt of the terminal describes a move.
        example: a move that a person could type.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def pass_action(self) -> int | None: ...

    @property
    def in_place_of_a_stone(self) -> str | None: ...

    @property
    def is_cells(self) -> bool: ...

    @property
    def column_names(self) -> Sequence[str]: ...

    @property
    def row_names(self) -> Sequence[str]: ...

    @property
    def typed(self) -> str: ...

    @property
    def example(self) -> str: ...

    def new_position(self) -> Position:
        """Return a new game."""
        ...

    def action_name(self, action: int) -> str:
        """Return an action, which is not a pass, as people write it."""
        ...

    def action_of(self, text: str) -> int:
        """Return the action that a person typed; -1 for a point off the board; ValueError if it is not an action."""
        ...

    def refusal(self, position: Position, move: int) -> Sentence | None:
        """Return why a point of the board may not be played; None if it may."""
        ...

    def captures(self, position: Position) -> tuple[int, int] | None:
        """Return how many stones each side has captured; None in a game without captures."""
        ...

    def ending(self, position: Position) -> Sentence | None:
        """Return the remarks about the end of a game, apart from who won."""
        ...

    def territory(self, position: Position) -> dict[int, int]:
        """Return empty point -> the side to which it belongs, at the end of a game with areas."""
        ...

    def won_by(self, position: Position) -> tuple[Point, ...]:
        """Return the stones (h, w) that won, in a game in which stones do."""
        ...

    def margin(self, position: Position) -> str:
        """Return what SGF writes after `B+`, such as 3.5; empty in a game without a score."""
        ...

    def sgf_heading(self) -> dict[str, list[str]]:
        """Return the SGF properties that name the game and its rules, GM first."""
        ...

    def of_file(self, root: Mapping[str, list[str]], width: int, height: int) -> Self:
        """Return this game as the root node of an SGF file has it; UsageError if the file holds another game."""
        ...

    def difference(self, other: Self) -> Sentence | None:
        """Return how the game of a file differs from this one; None if it can be played on here."""
        ...


@dataclass(frozen=True)
class Gomoku:
    """See GameForPeople; n_in_row is None if a file does not say how many stones in a row win."""

    width: int
    height: int
    n_in_row: int | None
    name = "gomoku"
    title = "Gomoku"
    pass_action = None
    in_place_of_a_stone = "swap"
    typed = "h,w"

    @property
    def is_cells(self) -> bool:
        """Whether this is tic-tac-toe."""
        return max(self.width, self.height) == self.n_in_row == 3

    @property
    def column_names(self) -> Sequence[str]:
        """Columns are numbered from 0."""
        return [str(w) for w in range(self.width)]

    @property
    def row_names(self) -> Sequence[str]:
        """Rows are numbered from 0."""
        return [str(h) for h in range(self.height)]

    @property
    def example(self) -> str:
        """The point in the middle."""
        return f"{self.height // 2},{self.width // 2}"

    def new_position(self) -> Board:
        """See GameForPeople."""
        return Board(self.width, self.height, self.n_in_row or min(self.width, self.height, USUAL_ROW))

    def action_name(self, action: int) -> str:
        """Return h,w."""
        return "{},{}".format(*divmod(action, self.width))

    def action_of(self, text: str) -> int:
        """Read h,w."""
        h, w = (integer(part) for part in half_width(text).replace(",", " ").split())
        return h * self.width + w if 0 <= h < self.height and 0 <= w < self.width else -1

    def refusal(self, position: Board, move: int) -> Sentence | None:
        """A point may be taken."""
        h, w = divmod(move, self.width)
        return ("taken", {"h": h, "w": w}) if move in position.states else None

    def captures(self, position: Board) -> None:
        """There are none."""

    def ending(self, position: Board) -> None:
        """Who has won says it all."""

    def territory(self, position: Board) -> dict[int, int]:
        """There is none."""
        return {}

    def won_by(self, position: Board) -> tuple[Point, ...]:
        """Return the stones that won, if the last move won."""
        if position.last_move < 0 or not position.has_a_winner()[0]:
            return ()
        stones = {divmod(move, self.width): owner for move, owner in position.states.items()}
        return line_through(stones, divmod(position.last_move, self.width), position.n_in_row)

    def margin(self, position: Board) -> str:
        """There is no score."""
        return ""

    def sgf_heading(self) -> dict[str, list[str]]:
        """See GameForPeople."""
        return {"GM": ["4"]} | ({"RU": [f"{self.n_in_row} in a row"]} if self.n_in_row else {})

    @classmethod
    def of_file(cls, root: Mapping[str, list[str]], width: int, height: int) -> Self:
        """See GameForPeople; some programs write Gomoku with Go's number, so only a file that names other rules is refused."""
        rules = root.get("RU", [""])[0]
        rule = re.fullmatch(r"(\d{1,2}) in a row", rules)
        if rule is None and rules and root.get("GM", ["4"]) != ["4"]:
            raise UsageError(f"expected a game of Gomoku; the rules of this file are {on_screen(rules)[:40]!r}")
        return cls(width, height, int(rule[1]) if rule and 1 <= int(rule[1]) <= min(width, height) else None)

    def difference(self, other: Gomoku) -> Sentence | None:
        """Another size, or another number of stones in a row."""
        wanted = (self.width, self.height, self.n_in_row)
        found = (other.width, other.height, other.n_in_row or self.n_in_row)
        if wanted == found:
            return None
        return "other_board", {"wanted": "{}x{}x{}".format(*wanted), "found": "{}x{}x{}".format(*found)}


def line_through(stones: dict[Point, int], point: Point, n_in_row: int) -> tuple[Point, ...]:
    """Return the stones in unbroken lines of n_in_row or more through a point."""
    line: set[Point] = set()
    for up, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        run = [point]
        for sign in (1, -1):
            h, w = point
            while stones.get((h := h + sign * up, w := w + sign * right)) == stones[point]:
                run.append((h, w))
        if len(run) >= n_in_row:
            line.update(run)
    return tuple(sorted(line))
