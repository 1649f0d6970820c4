"""A position used by the checks, given by the moves that lead to it, so that a worker and the grader set up the same board."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Protocol

from Board.game_board import Board
from grader.errors import StudentFault


class Start(Protocol):
    """A position from which a search began."""

    def board(self) -> Any:
        """Return a board with the methods of `Board.game_board.Board` in this position."""


@dataclass(frozen=True)
class BoardPosition:
    """A position on a board of any size.

    Attributes:
        moves: the moves from the empty board, in order of play.
    """

    width: int
    height: int
    n_in_row: int
    moves: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the position as it is sent to a worker (`grader.confinement.worker`) and recorded as evidence."""
        return {"width": self.width, "height": self.height, "n_in_row": self.n_in_row, "moves": list(self.moves)}

    def pictured(
        self,
        caption: str,
        expected: Collection[int] = (),
        played: Collection[int] = (),
        shares: Mapping[int, float] | None = None,
    ) -> dict[str, Any]:
        """Return the position with what a report draws on it, as evidence under the name `boards`.

        What a submission gives may be anything; moves off the board and shares that are not finite are left out.

        Args:
            expected, played: the right moves, and the moves of the submission.
            shares: move -> share in [0, 1], such as that of the visits.
        """
        points = range(self.width * self.height)  # what is drawn are these integers, not numbers of NumPy, which JSON refuses
        given = {"expected": set(expected), "played": set(played)}
        marks = {name: [point for point in points if point in moves] for name, moves in given.items()}
        finite = ((int(move), float(share)) for move, share in (shares or {}).items() if isfinite(share) and move in points)
        return {
            **self.to_json(),
            "caption": caption,
            **marks,
            "shares": [[move, round(min(1.0, max(0.0, share)), 3)] for move, share in finite],
        }

    def compared(self, what: str, expected: Mapping[int, float], seen: Mapping[int, float]) -> list[dict[str, Any]]:
        """Return the position twice, with the shares that were expected and those of the submission; see `pictured`."""
        return [self.pictured(f"{name}: {what}", shares=shares) for name, shares in (("Expected", expected), ("Seen", seen))]

    def after(self, further: Sequence[int]) -> BoardPosition:
        """Return the position after further moves."""
        return replace(self, moves=(*self.moves, *map(int, further)))

    def board(self) -> Board:
        """Return the framework's Board in this position."""
        return board_at(self)

    @property
    def size(self) -> str:
        """The board size as messages give it, such as 5x4 (width x height)."""
        return f"{self.width}x{self.height}"


EMPTY_3X3 = BoardPosition(3, 3, 3)


@contextmanager
def drawn_at(position: Start, caption: str, shares: Mapping[int, float] | None = None) -> Iterator[None]:
    """Have this position drawn if a StudentFault within names none; positions of a lab are of other games and not drawn."""
    try:
        yield
    except StudentFault as fault:
        if not fault.boards and isinstance(position, BoardPosition):
            fault.boards.append(position.pictured(caption, shares=shares))
        raise


def shares_of(counts: Mapping[int, float]) -> dict[int, float]:
    """Return what part of their sum each of the counts is."""
    total = sum(counts.values())
    return {move: count / total for move, count in counts.items() if count} if total else {}


def board_at(position: BoardPosition, further: Sequence[int] = ()) -> Board:
    """Return the framework's Board after the position's moves and then `further`, which come from a student's tree.

    Raises:
        StudentFault: the further moves cannot be played.
    """
    board = Board(width=position.width, height=position.height, n_in_row=position.n_in_row)
    board.init_board(0)
    for move in position.moves:
        board.do_move(move)
    try:
        for move in further:
            board.do_move(move)
    except ValueError as error:
        raise StudentFault(f"The tree contains moves {list(further)} below the root, which cannot be played.") from error
    return board
