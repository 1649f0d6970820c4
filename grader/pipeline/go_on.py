"""The commands that let a student continue from a position of a report: play there, and look into the search there."""

from __future__ import annotations

from collections.abc import Sequence

from arena.view.drawn_boards import BLACK, WHITE, point_of, winning_line

TIC_TAC_TOE = (3, 3, 3)
TRAINED = " --model model/best_policy.model"
PURE, WITH_NETWORK = "mcts_pure", ("mcts_alphazero", "training")
"""Parts whose checks search: without a network, and with one, which the kit has for tic-tac-toe."""


def go_on(part: str, size: tuple[int, int, int], moves: Sequence[int]) -> tuple[str, ...]:
    """Return the commands for a position, in which the student's player is to move.

    Args:
        part: the part of the assignment that the check belongs to; empty for no commands.
        size: width, height and stones in a row.
        moves: from the empty board; if they end the game, the commands go on before the last one.
    """
    if not part:
        return ()
    if has_ended(size, moves):
        moves = moves[:-1]
    board = "" if size == TIC_TAC_TOE else " --board {}x{}x{}".format(*size)
    position = f' --position "{" ".join(map(str, moves))}"' if moves else ""
    plays_mcts = part == PURE or size != TIC_TAC_TOE
    player = " --player mcts" if plays_mcts else TRAINED if part == "training" else ""
    start = "" if len(moves) % 2 else " --start ai"
    commands = [f"python human_play.py{player}{board}{position}{start}"]
    if part == PURE or (part in WITH_NETWORK and size == TIC_TAC_TOE):
        searched = " --pure" if part == PURE else player
        commands.append(f"python -m training.look{searched}{board}{position}")
    return tuple(commands)


def has_ended(size: tuple[int, int, int], moves: Sequence[int]) -> bool:
    """Return whether the last of these moves ends a game."""
    if not moves:
        return False
    stones = {point_of(move, size[0]): WHITE if ply % 2 else BLACK for ply, move in enumerate(moves)}
    return len(moves) == size[0] * size[1] or bool(winning_line(stones, point_of(moves[-1], size[0]), size[2]))
