"""A student's board as the checks see it: how a worker sets it up, and what it shows about the positions of a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.trees import Tree
from labs.support.cases import Case

RULES = ("availables", "game_end", "get_current_player")
SHOWN_MOVES = 12  # in a message
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
Values = Mapping[str, np.ndarray]
Step = int | list[Any]


@dataclass(frozen=True)
class LabPosition:
    """A position on a board that the submission brings.

    Attributes:
        board_class: dotted name of the class, such as NoGo.board.Board.
        arguments: the keyword arguments of the class, among them width and height.
        moves: moves and calls in order of play; see `grader.confinement.boards`.
    """

    board_class: str
    arguments: Mapping[str, float]
    moves: tuple[Step, ...] = ()

    @classmethod
    def of(cls, board_class: str, case: Case, **arguments: float) -> Self:
        """Return the position after the moves of a case; `arguments` are those of the class besides width and height."""
        width, height = map(int, case["size"])
        return cls(board_class, {"width": width, "height": height, **arguments}, tuple(line_of(case)))

    def before(self, plies: int) -> dict[str, Any]:
        """Return the position after only this many moves, as it is sent to a worker."""
        return {**self.to_json(), "moves": list(self.moves[:plies])}

    def to_json(self) -> dict[str, Any]:
        """Return the position as it is sent to a worker and recorded as evidence."""
        return {"board": self.board_class, "arguments": dict(self.arguments), "moves": list(self.moves)}

    @property
    def size(self) -> str:
        """The size as messages give it, such as 5x4 (width x height)."""
        return f"{self.arguments['width']}x{self.arguments['height']}"

    def name(self, action: int) -> str:
        """Return an action in words: its number and the point, or pass; A1 is at the bottom left, and there is no column I."""
        width, height = int(self.arguments["width"]), int(self.arguments["height"])
        if action == width * height:
            return f"{action} (pass)"
        if not 0 <= action < width * height:
            return f"{action}, which is not an action of this board"
        return f"{action} ({COLUMNS[action % width]}{action // width + 1})"

    def after(self, plies: int) -> str:
        """Return where in a line a message means, such as `on a 5x4 board after the moves [3, 7]`."""
        moves = [step for step in self.moves[:plies] if isinstance(step, int)]
        if not moves:
            return f"On an empty {self.size} board"
        shown = ", ".join(map(str, moves[-SHOWN_MOVES:]))
        return f"On a {self.size} board after the moves {'..., ' if len(moves) > SHOWN_MOVES else ''}{shown}"


class ToldBoard:
    """A board that knows the positions of one tree from what a student's own board said about them.

    A kit has no rules of ours. There, a tree is checked against the student's rules, and these are checked by themselves.
    """

    def __init__(self, told: Mapping[tuple[int, ...], Values], path: tuple[int, ...] = ()) -> None:
        self._told, self._path = told, path

    def _value(self, name: str) -> np.ndarray:
        return self._told[self._path][name]

    @property
    def availables(self) -> list[int]:
        return [int(move) for move in self._value("availables").reshape(-1)]

    @property
    def states(self) -> dict[int, int]:
        return {int(point): int(player) for point, player in self._value("states").reshape(-1, 2)}

    def get_current_player(self) -> int:
        return int(self._value("get_current_player"))

    def game_end(self) -> tuple[bool, int]:
        over, winner = self._value("game_end")
        return bool(over), int(winner)

    def do_move(self, move: int) -> None:
        self._path = (*self._path, move)

    def copy(self) -> Self:
        return type(self)(self._told, self._path)


def told_about(tree: Tree, position: LabPosition, worker: Worker) -> ToldBoard:
    """Return the root's position as the student's own board tells it, with every position of the tree below it."""
    lines = [tree.path(node) for node in range(len(tree.parent))]
    replies = worker.call("follow", position=position.to_json(), lines=lines, watch=[*RULES, "states"])
    told = {}
    for line, reply in zip(lines, replies, strict=True):
        if reply["fault"]:
            raise StudentFault(f"The node after moves {line} cannot be reached on your own board: {reply['fault']}.")
        told[tuple(line)] = reply["seen"][-1]
    return ToldBoard(told)


def line_of(case: Case) -> list[int]:
    """Return the moves of a case as plain numbers."""
    return [int(move) for move in case["moves"]]


def shaped(values: Values, name: str, shape: Sequence[int]) -> np.ndarray:
    """Return a value of a student's board; raise StudentFault if it has another shape."""
    value = values[name]
    if value.shape != tuple(shape):
        raise StudentFault(f"{name} gives numbers of shape {value.shape}; expected {tuple(shape)}.")
    return value
