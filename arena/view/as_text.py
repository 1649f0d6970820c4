"""A recorded game of NoGo or Go as text for a person at a terminal; `arena.match.as_text` is its counterpart for Gomoku."""

from __future__ import annotations

from arena.engine.gtp import vertex
from arena.match.game_record import GameRecord
from arena.view.board_games import shown_board_game
from arena.view.drawn_boards import BLACK, DrawnBoard
from common.harmless_text import on_screen


def board_game_as_text(game: GameRecord) -> str:
    """Show who played, each move with its CPU time and what it took, the last position, and why the game ended.

    Raises:
        UsageError: a move is against the rules.
    """
    shown = shown_board_game(game)
    lines = [f"{shown.title}: {shown.names[0]} is black (X), {shown.names[1]} is white (O)."]
    for ply, (step, move, cpu_s) in enumerate(zip(shown.steps, game.moves, game.move_cpu_s, strict=False), 1):
        colour, taken = "black" if step.colour == BLACK else "white", len(step.taken)
        takes = f"  takes {taken} {'stone' if taken == 1 else 'stones'}" if taken else ""
        lines.append(f"{ply:4} {colour} {vertex(move):6}{cpu_s:6.2f} s{takes}")
    played = [step for step in shown.steps if not step.is_pass]
    lines.append(draw(shown.board, played[-1].point if played else None))
    return on_screen("\n".join([*lines, shown.ending]), keep="\n")


def draw(board: DrawnBoard, last: tuple[int, int] | None) -> str:
    """Draw a board as text, with the last stone in brackets."""
    marks = {(stone.x, stone.y): "X" if stone.colour == BLACK else "O" for stone in board.stones}
    rows = []
    for y, name in reversed(list(enumerate(board.rows))):
        cells = (
            f"[{marks[x, y]}]" if (x, y) == last and last in marks else f" {marks.get((x, y), '.')} "
            for x in range(board.width)
        )
        rows.append(f"{name:>3} {''.join(cells)}")
    return "\n".join([*rows, "    " + "".join(f"{name:^3}" for name in board.columns)])
