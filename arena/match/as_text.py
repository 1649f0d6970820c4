"""A position and a recorded game as text for a person at a terminal."""

from __future__ import annotations

from arena.match.referee import GameRecord
from arena.rules import SWAP, Action, IllegalAction, Position
from common.harmless_text import on_screen


def draw(position: Position, last: Action | None) -> str:
    """Draw the board as text, x to the right and y upwards, with the last stone in brackets."""
    rows = []
    for y in reversed(range(position.size)):
        cells = []
        for x in range(position.size):
            owner = position.stones.get((x, y))
            mark = "." if owner is None else "XO"[owner]
            cells.append(f"[{mark}]" if (x, y) == last else f" {mark} ")
        rows.append(f"{y:3} {''.join(cells)}")
    return "\n".join([*rows, "    " + "".join(f"{x:^3}" for x in range(position.size))])


def game_as_text(game: GameRecord) -> str:
    """Show a recorded game: who played, each move with its CPU time, the last position, and why the game ended."""
    position, last = Position(size=game.size, free_opening=True), None
    lines = [f"Game {game.index}: {game.name_of(game.black)} is black (X), {game.name_of(1 - game.black)} is white (O)."]
    for action, cpu_s in zip(game.moves, game.move_cpu_s, strict=False):
        colour, ply = ("black", "white")[position.turn], position.ply
        try:
            position.play(action)
        except IllegalAction as fault:
            lines.append(f"{ply:4} {colour} {action[0]} {action[1]}: {fault}, so these records are damaged.")
            break
        last = None if action == SWAP else action
        words = "swaps" if action == SWAP else f"{action[0]} {action[1]}"
        lines.append(f"{ply:4} {colour} {words:6}{cpu_s:6.2f} s")
    lines.append(draw(position, last))
    return on_screen("\n".join([*lines, how_it_ended(game)]), keep="\n")


def how_it_ended(game: GameRecord) -> str:
    """Return a sentence that says who won a recorded game and why."""
    if game.faulty is not None:
        return f"{game.name_of(1 - game.faulty)} wins: {game.name_of(game.faulty)} {game.detail} ({game.termination.value})."
    if game.winner is not None:
        return f"{game.name_of(game.winner)} wins with five in a row."
    return f"Nobody wins ({game.termination.value}){f': {game.detail}' if game.detail else ''}."
