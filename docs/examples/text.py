"""Blocks of Markdown for the generated parts of the documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from Board.game_board import Board

Language = Literal["en", "zh"]


def chosen(language: Language, english: str, chinese: str) -> str:
    """Return the text in this language."""
    return english if language == "en" else chinese


def table(header: Sequence[str], rows: Iterable[Sequence[object]], align: str) -> str:
    """Return a table in Markdown; `align` has a letter l or r for each column."""
    ruler = ["---:" if side == "r" else "---" for side in align]
    lines = [" | ".join(map(str, cells)) for cells in (header, *rows)]
    return "\n".join(f"| {line} |" for line in (lines[0], *lines[1:])).replace("\n", f"\n|{'|'.join(ruler)}|\n", 1) + "\n"


def fenced(lines: Iterable[str]) -> str:
    """Return lines as a block of code."""
    return "\n".join(["```", *lines, "```"]) + "\n"


def signed(value: float, places: int = 0) -> str:
    """Return a number with its sign; zero has none."""
    return f"{value:+.{places}f}" if round(value, places) else f"{0:.{places}f}"


def small_board(moves: Iterable[int]) -> Board:
    """Return a board of tic-tac-toe after these moves."""
    board = Board(width=3, height=3, n_in_row=3)
    board.init_board()
    for move in moves:
        board.do_move(move)
    return board


def picture_of(board: Board) -> list[str]:
    """Return the rows of a board of tic-tac-toe, top row first, with X, O and the numbers of empty points."""
    marks = {1: "X", 2: "O"}
    cells = [marks[board.states[move]] if move in board.states else str(move) for move in range(9)]
    return [" ".join(cells[row * 3 : row * 3 + 3]) for row in (2, 1, 0)]
