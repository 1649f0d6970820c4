"""The symmetries of a game: those of its board, as permutations of all its actions."""

from __future__ import annotations

import numpy as np

from Board.symmetries import Symmetries


class ActionSymmetries(Symmetries):
    """Symmetries given by their tables, for games whose actions are not just the points.

    Args:
        places: [S, H * W], see Symmetries; symmetry 0 changes nothing.
        moves: [S, actions]; action m on the turned board is action `moves[s, m]` on the original board.
    """

    def __init__(self, places: np.ndarray, moves: np.ndarray) -> None:
        self.count = len(places)
        self.places = places
        self.moves = moves
        self.turned_moves = np.argsort(moves, axis=1)


def with_pass(board: Symmetries) -> ActionSymmetries:
    """Add one more action, the last one, which no symmetry moves."""
    points = board.moves.shape[1]
    return ActionSymmetries(board.places, np.pad(board.moves, ((0, 0), (0, 1)), constant_values=points))
