"""Random positions for the search checks; every grading run draws new ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

import numpy as np

from Board.game_board import Board
from grader.judge.support.board_position import BoardPosition, board_at


def random_position(rng: Random, width: int, height: int, n_in_row: int, plies: int) -> BoardPosition:
    """Return an unfinished position after at most `plies` random moves."""
    moves: list[int] = []
    board = board_at(BoardPosition(width, height, n_in_row))
    for _ in range(plies):
        move = int(rng.choice(board.availables))
        board.do_move(move)
        if board.game_end()[0]:
            break
        moves.append(move)
    return BoardPosition(width, height, n_in_row, tuple(moves))


def tictactoe_after(rng: Random, plies: int) -> BoardPosition:
    """Return an unfinished position on 3x3 with exactly this many stones, which must be at most 5."""
    while True:
        position = random_position(rng, 3, 3, 3, plies)
        if len(position.moves) == plies:
            return position


def winning_moves(board: Board, player: int) -> list[int]:
    """Return the moves with which `player` would win at once if it were their turn."""
    found = []
    for move in board.availables:
        after = board.copy()
        after.current_player = player
        after.do_move(move)
        if after.has_a_winner()[0]:
            found.append(int(move))
    return found


def win_position(rng: Random) -> tuple[BoardPosition, list[int]]:
    """Return a tic-tac-toe position with an immediate win, in which no other move forces a win, and the winning moves."""
    while True:
        position = random_position(rng, 3, 3, 3, rng.randrange(4, 8))
        board = board_at(position)
        wins = winning_moves(board, board.get_current_player())
        others = [move for move in board.availables if move not in wins]
        if wins and others and all(-_value(tuple(_after(board, move))) < 1 for move in others):
            return position, wins


def wide_win_position(rng: Random) -> tuple[BoardPosition, list[int]]:
    """Return the same as `win_position`, on 5x4 with 3 in a row; the opponent has two threats, so no slower win is as good."""
    while True:
        position = random_position(rng, 5, 4, 3, rng.randrange(5, 12))
        board = board_at(position)
        side = board.get_current_player()
        wins, threats = winning_moves(board, side), winning_moves(board, 3 - side)
        if wins and len(set(threats) - set(wins)) >= 2:
            return position, wins


def block_position(rng: Random) -> tuple[BoardPosition, int]:
    """Return a tic-tac-toe position in which every move loses except one, which blocks a threat; and that move."""
    while True:
        position = random_position(rng, 3, 3, 3, rng.randrange(3, 6))
        board = board_at(position)
        side = board.get_current_player()
        threats = winning_moves(board, 3 - side)
        if winning_moves(board, side) or len(threats) != 1 or len(board.availables) < 3:
            continue
        values = {move: -_value(tuple(_after(board, move))) for move in board.availables}
        if values[threats[0]] >= 0 and all(value < 0 for move, value in values.items() if move != threats[0]):
            return position, threats[0]


def drawn_position(rng: Random) -> BoardPosition:
    """Return a tic-tac-toe position with three empty points in which the last stone can draw the game and can win it."""
    while True:
        position = random_position(rng, 3, 3, 3, 6)
        board = board_at(position)
        if len(board.availables) == 3 and _results_on_a_full_board(board) > {-1}:
            return position


def _results_on_a_full_board(board: Board) -> set[int]:
    """Return the winners of the games from here that end with the last stone; -1 is a draw."""
    ended, winner = board.game_end()
    if ended:
        return set() if board.availables else {winner}
    results: set[int] = set()
    for move in list(board.availables):
        after = board.copy()
        after.do_move(move)
        results |= _results_on_a_full_board(after)
    return results


def draw_share(rng: Random, position: BoardPosition, games: int) -> float:
    """Return the share of draws among this many random games from the position."""
    draws = 0
    for _ in range(games):
        board = board_at(position)
        while not board.game_end()[0]:
            board.do_move(rng.choice(board.availables))
        draws += board.game_end()[1] == -1
    return draws / games


def _after(board: Board, move: int) -> list[int]:
    """Return the stone on each point after the move (0 for empty), followed by the side to move."""
    points = [board.states.get(p, 0) for p in range(9)]
    points[move] = board.get_current_player()
    return [*points, 3 - board.get_current_player()]


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@cache
def _value(points: tuple[int, ...]) -> int:
    """Return the exact tic-tac-toe value for the side to move."""
    side = points[9]
    if any(points[a] == points[b] == points[c] == 3 - side for a, b, c in LINES):
        return -1
    empty = [p for p in range(9) if points[p] == 0]
    if not empty:
        return 0
    return max(-_value((*points[:p], side, *points[p + 1 : 9], 3 - side)) for p in empty)


def certain_position(
    rng: Random, mover: int | None = None, loses: bool = False
) -> tuple[BoardPosition, dict[tuple[int, ...], float]]:
    """Return a late position in which every rollout of a search has only one possible result.

    Pure MCTS is then deterministic and can be compared visit by visit. The root itself may be uncertain, since nothing reads
    its value, and its moves do not all have the same result.

    Args:
        mover: if given, the position has a leaf with this player to move, at which a rollout could end differently if the
            opponent began it.
        loses: whether the position has a leaf at which every rollout is lost for the side to move.

    Returns:
        The position, and the values of the unfinished positions below it: moves from the position -> value for the side to
        move.
    """
    while True:
        width, height, n_in_row = rng.choice(((3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4), (5, 3, 3)))
        empty = rng.choice((2, 3, 4))
        position = random_position(rng, width, height, n_in_row, width * height - empty)
        board = board_at(position)
        if len(board.availables) != empty:
            continue
        values: dict[tuple[int, ...], float] = {}
        results = _results(board, (), values)
        first = {values.get((int(move),)) for move in board.availables}
        certain = values.keys() >= {(int(m),) for m in board.availables if _open(board, m)}
        if not certain or len(results) < 2 or len(first) < 2:
            continue
        if loses and not any(path and value < 0 for path, value in values.items()):
            continue
        if mover is None or any(_beginner_counts(board, path, mover) for path in values if path):
            return position, values


def _beginner_counts(board: Board, path: tuple[int, ...], mover: int) -> bool:
    """Return whether `mover` is to move after the path, and random play could end differently if the opponent began."""
    after = board.copy()
    for move in path:
        after.do_move(move)
    if after.get_current_player() != mover:
        return False
    right = _results(after, (), {})
    after.current_player = 3 - mover
    return _results(after, (), {}) != right


def _open(board: Board, move: int) -> bool:
    after = board.copy()
    after.do_move(move)
    return not after.game_end()[0]


def _results(board: Board, path: tuple[int, ...], values: dict[tuple[int, ...], float]) -> set[int]:
    """Return all winners that random play can lead to; fill `values` where there is only one."""
    ended, winner = board.game_end()
    if ended:
        return {winner}
    results: set[int] = set()
    for move in list(board.availables):
        after = board.copy()
        after.do_move(move)
        results |= _results(after, (*path, int(move)), values)
    if len(results) == 1:
        (winner,) = results
        values[path] = 0.0 if winner == -1 else (1.0 if winner == board.get_current_player() else -1.0)
    return results


def random_states(rng: Random, width: int, height: int, count: int) -> np.ndarray:
    """Return the feature planes [count, 9, height, width] float32 of positions that occur in games."""
    return planes_of_positions(positions_in_games(rng, width, height, count))


def positions_in_games(rng: Random, width: int, height: int, count: int) -> list[BoardPosition]:
    """Return positions with up to 7 stones."""
    return [random_position(rng, width, height, min(width, height), rng.randrange(8)) for _ in range(count)]


def planes_of_positions(positions: Sequence[BoardPosition]) -> np.ndarray:
    """Return the feature planes [N, 9, height, width] float32 of positions."""
    return np.stack([np.asarray(board_at(position).current_state(), dtype=np.float32) for position in positions])
