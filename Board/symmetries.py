"""The symmetries of a board as permutations of its points: eight for a square board, four for any other.

Row 0 of a state is the top row, but moves count rows from the bottom. Each symmetry therefore has one table for states and one
for moves. Both turn the same picture of the board in the same way.
"""

from __future__ import annotations

import numpy as np


class Symmetries:
    """All symmetries of one board: first its S / 2 rotations, then the mirror image of each in the same order.

    Attributes:
        count: S, 8 or 4; symmetry 0 changes nothing.
        places: [S, A]; place i of the turned state holds what place `places[s, i]` of the original state holds (row 0 is the
            top row).
        moves: [S, A]; move m on the turned board is move `moves[s, m]` on the original board (row 0 is the bottom row).
        turned_moves: [S, A], the inverse of `moves`: move m on the original board is move `turned_moves[s, m]` on the turned
            board.
    """

    def __init__(self, width: int, height: int) -> None:
        picture = np.arange(width * height).reshape(height, width)
        turns = range(4) if width == height else (0, 2)
        turned = [np.rot90(picture, turn) for turn in turns]
        turned += [image[:, ::-1] for image in turned]
        self.count = len(turned)
        self.places = np.array([image.reshape(-1) for image in turned])
        # Flipping the rows is its own inverse, so one table converts places to moves and moves to places.
        move_at_place = picture[::-1].reshape(-1)
        self.moves = move_at_place[self.places[:, move_at_place]]
        self.turned_moves = np.argsort(self.moves, axis=1)

    def turn_states(self, states: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Turn each state by its own symmetry.

        Args:
            states: [N, P, H, W].
            which: [N], the index of the symmetry for each state.
        """
        flat = states.reshape(*states.shape[:2], -1)
        return np.take_along_axis(flat, self.places[which][:, None], axis=2).reshape(states.shape)

    def turn_policies(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Reorder policies [N, A] from the moves of the original boards to those of the boards turned by `which` [N]."""
        return np.take_along_axis(policies, self.moves[which], axis=1)

    def turn_policies_back(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Reorder policies [N, A] from the moves of the turned boards back to those of the original boards."""
        return np.take_along_axis(policies, self.turned_moves[which], axis=1)
