"""The rules of a match game and the one place that knows what `-1 -1` means (handout sections 1 and 4.2).

Freestyle Gomoku: five or more in a row win. Black's first stone lies in the central 7x7. White may answer black's second
stone (at the fourth ply) with a swap in place of a stone: every stone on the board changes its colour and black is to move
again. Seats do not move: the process that was told `0` answers next and owns the single stone that had been white, which
is now black. The course's board is 15x15; other sizes are for players that know them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

SIZE = 15
FIVE = 5
CENTRE_WIDTH = 7
SWAP = (-1, -1)
SWAP_PLY = 4
Action = tuple[int, int]


def centre(size: int = SIZE) -> range:
    """Rows and columns of black's first stone: 4 to 10 on 15x15."""
    first = max(0, (size - CENTRE_WIDTH) // 2)
    return range(first, min(size, first + CENTRE_WIDTH))


class Termination(StrEnum):
    """Why a game ended; who won is told apart from it. UNDECIDED is neither anyone's fault nor a draw: the game counts not."""

    FIVE = "five"
    DRAW = "draw"
    ILLEGAL_MOVE = "illegal_move"
    ILLEGAL_OPENING = "illegal_opening"
    ILLEGAL_SWAP = "illegal_swap"
    TIMEOUT = "timeout"
    CRASH = "crash"
    MALFORMED = "malformed"
    INIT_FAILED = "init_failed"
    UNDECIDED = "undecided"


class IllegalAction(Exception):
    """An action against the rules: its termination and a sentence; the position is unchanged."""

    def __init__(self, termination: Termination, sentence: str) -> None:
        super().__init__(sentence)
        self.termination = termination


@dataclass
class Position:
    """A game in progress, by seats: seat 0 is the process that was told `0`.

    Attributes:
        stones: (x, y) -> seat that owns the stone.
        actions: all actions so far, the swap as (-1, -1).
        turn: the seat that answers next.
        winner: seat with five or more in a row, or None.
        size: rows and columns of the board.
        free_opening: whether black's first stone may lie anywhere.
    """

    stones: dict[Action, int] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    turn: int = 0
    winner: int | None = None
    swapped: bool = False
    size: int = SIZE
    free_opening: bool = False

    @property
    def ply(self) -> int:
        """Number of the next action, from 1."""
        return len(self.actions) + 1

    @property
    def is_full(self) -> bool:
        return len(self.stones) == self.size**2

    @property
    def is_over(self) -> bool:
        return self.winner is not None or self.is_full

    def play(self, action: Action) -> None:
        """Carry out the action of the seat whose turn it is.

        Raises:
            IllegalAction: it is against the rules; nothing has changed.
        """
        if action == SWAP:
            self._swap()
        else:
            self._place(action)
        self.actions.append(action)
        self.turn = 1 - self.turn

    def _swap(self) -> None:
        if self.ply != SWAP_PLY or self.turn != 1:
            who = "black" if self.turn == 0 else "white"
            raise IllegalAction(
                Termination.ILLEGAL_SWAP,
                f"{who} answered -1 -1 at ply {self.ply}; only white may swap, and only at ply {SWAP_PLY}",
            )
        # Colours change with the stones, so each seat keeps its colour and takes over the other's stones.
        self.stones = {point: 1 - owner for point, owner in self.stones.items()}
        self.swapped = True

    def _place(self, point: Action) -> None:
        x, y = point
        size = self.size
        if not (0 <= x < size and 0 <= y < size):
            raise IllegalAction(
                Termination.ILLEGAL_MOVE, f'answered "{x} {y}" at ply {self.ply}, which is off the {size}x{size} board'
            )
        if point in self.stones:
            raise IllegalAction(Termination.ILLEGAL_MOVE, f'answered "{x} {y}" at ply {self.ply}, a point already taken')
        middle = centre(size)
        if self.ply == 1 and not self.free_opening and not (x in middle and y in middle):
            raise IllegalAction(
                Termination.ILLEGAL_OPENING, f'opened with "{x} {y}", outside the central 7x7 ({middle[0]} to {middle[-1]})'
            )
        self.stones[point] = self.turn
        if self._completes_five(point):
            self.winner = self.turn

    def _completes_five(self, point: Action) -> bool:
        owner = self.stones[point]
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            length = 1
            for sign in (1, -1):
                x, y = point[0] + sign * dx, point[1] + sign * dy
                while self.stones.get((x, y)) == owner:
                    length += 1
                    x, y = x + sign * dx, y + sign * dy
            if length >= FIVE:
                return True
        return False


def to_line(action: Action) -> str:
    """What an engine is sent for the opponent's action; (-1, -1) opens the game for black and tells of a swap."""
    return f"{action[0]} {action[1]}\n"


def from_line(line: str) -> Action:
    """An engine's answer: exactly two integers.

    Raises:
        ValueError: anything else.
    """
    x, y = line.split()
    if not all(part.lstrip("-").isascii() and part.lstrip("-").isdigit() and len(part) < 10 for part in (x, y)):
        raise ValueError(line)
    return int(x), int(y)
