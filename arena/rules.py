"""The rules of a match game and the one place that knows what `-1 -1` means (handout sections 1 and 4.2).

Freestyle Gomoku: five or more in a row win. Black's first stone must lie in the central 7x7. White may answer black's second
stone (at the fourth ply) with a swap instead of a stone: every stone on the board changes its colour, and black is to move
again. The seats do not change: the process that received `0` at the start answers next, and it now owns the single stone that
was white until then. The course's board is 15x15; other sizes are for players that support them.

`Board.game_board.Board` holds the stones and decides who has won. This module adds only the rules that depend on the ply.
"""

from __future__ import annotations

from enum import StrEnum

from Board.game_board import Board

SIZE = 15
LARGEST_SIZE = 26  # SGF names a column or row by one letter
FIVE = 5
CENTRE_WIDTH = 7
SWAP = (-1, -1)
OPEN = SWAP  # the same two numbers: as the first line sent to black, they ask for the first stone
SWAP_PLY = 4
Action = tuple[int, int]


def centre(size: int = SIZE) -> range:
    """Return the rows and columns in which black's first stone may lie: 4 to 10 on 15x15."""
    first = max(0, (size - CENTRE_WIDTH) // 2)
    return range(first, min(size, first + CENTRE_WIDTH))


class Termination(StrEnum):
    """Why a game ended; who won is recorded separately. An UNDECIDED game is not a draw and does not count.

    NO_MOVE, SCORE, MOVE_LIMIT and RESIGNED occur only in the games of games/.
    """

    FIVE = "five"
    DRAW = "draw"
    NO_MOVE = "no_move"
    SCORE = "score"
    MOVE_LIMIT = "move_limit"
    RESIGNED = "resigned"
    ILLEGAL_MOVE = "illegal_move"
    ILLEGAL_OPENING = "illegal_opening"
    ILLEGAL_SWAP = "illegal_swap"
    TIMEOUT = "timeout"
    CRASH = "crash"
    MALFORMED = "malformed"
    INIT_FAILED = "init_failed"
    UNDECIDED = "undecided"


class IllegalAction(Exception):
    """Raised for an action against the rules; the position is unchanged.

    Attributes:
        termination: how the game ends because of it.
    """

    def __init__(self, termination: Termination, sentence: str) -> None:
        super().__init__(sentence)
        self.termination = termination


class Position:
    """A game in progress, in terms of seats: seat 0 is the process that received `0` at the start.

    Args:
        size: rows and columns of the board.
        free_opening: whether black's first stone may lie anywhere.

    Attributes:
        size: see above.
        actions: all actions so far, with the swap as (-1, -1).
        swapped: whether white has swapped.
    """

    def __init__(self, size: int = SIZE, free_opening: bool = False) -> None:
        self.size = size
        self.actions: list[Action] = []
        self.swapped = False
        self._free_opening = free_opening
        self._board = Board(width=size, height=size, n_in_row=FIVE)

    @property
    def stones(self) -> dict[Action, int]:
        """A new dict (x, y) -> seat that owns the stone, in the order of play."""
        return {(move % self.size, move // self.size): _seat(player) for move, player in self._board.states.items()}

    @property
    def turn(self) -> int:
        """The seat that answers next."""
        return _seat(self._board.current_player)

    @property
    def winner(self) -> int | None:
        """The seat with five or more in a row, or None."""
        won, player = self._board.has_a_winner()
        return _seat(player) if won else None

    @property
    def ply(self) -> int:
        """The number of the next action, counted from 1."""
        return len(self.actions) + 1

    @property
    def is_over(self) -> bool:
        """Whether a seat has won or the board is full."""
        return self._board.game_end()[0]

    def play(self, action: Action) -> None:
        """Carry out the action of the seat whose turn it is.

        Raises:
            IllegalAction: the action is against the rules; the position is unchanged.
        """
        if action == SWAP:
            self._swap()
        else:
            self._place(action)
        self.actions.append(action)

    def _swap(self) -> None:
        if self.ply != SWAP_PLY:
            who = "black" if self.turn == 0 else "white"
            raise IllegalAction(
                Termination.ILLEGAL_SWAP,
                f"{who} answered -1 -1 at ply {self.ply}; only white may swap, and only at ply {SWAP_PLY}",
            )
        # Colours change with the stones, so each seat keeps its colour and takes over the other's stones.
        self._board.swap_colours()
        self.swapped = True

    def _place(self, point: Action) -> None:
        x, y = point
        move = self._board.location_to_move([y, x])
        if move < 0:
            raise IllegalAction(
                Termination.ILLEGAL_MOVE,
                f'answered "{x} {y}" at ply {self.ply}, which is off the {self.size}x{self.size} board',
            )
        if move in self._board.states:
            raise IllegalAction(Termination.ILLEGAL_MOVE, f'answered "{x} {y}" at ply {self.ply}, a point already taken')
        middle = centre(self.size)
        if self.ply == 1 and not self._free_opening and not (x in middle and y in middle):
            raise IllegalAction(
                Termination.ILLEGAL_OPENING, f'opened with "{x} {y}", outside the central 7x7 ({middle[0]} to {middle[-1]})'
            )
        self._board.do_move(move)


def _seat(player: int) -> int:
    """Return the seat of a player of `Board`, where player 1 moves first."""
    return player - 1


def to_line(action: Action) -> str:
    """Return the line that tells an engine the opponent's action; see SWAP and OPEN for (-1, -1)."""
    return f"{action[0]} {action[1]}\n"


def from_line(line: str) -> Action:
    """Parse an engine's answer, which must be exactly two integers.

    Raises:
        ValueError: the line is anything else.
    """
    x, y = line.split()
    if not all(part.lstrip("-").isascii() and part.lstrip("-").isdigit() and len(part) < 10 for part in (x, y)):
        raise ValueError(line)
    return int(x), int(y)
