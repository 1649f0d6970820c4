"""The symmetries of a board as permutations of its points: eight for a square board, four for any other.

Row 0 of a state is the top row, while moves count rows from the bottom. So each symmetry has one table for states and one for
moves; both turn the board as the same picture.
"""

from __future__ import annotations

import numpy as np


class Symmetries:
    """All symmetries of one board: first its S / 2 rotations, then the mirror image of each in the same order.

    Attributes:
        count: S, 8 or 4; symmetry 0 changes nothing.
        places: [S, A] the turned state has at place i what the state has at place `places[s, i]` (row 0 is the top row).
        moves: [S, A] move m of the turned board is move `moves[s, m]` of the board (row 0 is the bottom row).
        turned_moves: [S, A] move m of the board is move `turned_moves[s, m]` of the turned board, the inverse of `moves`.
    """

    def __init__(self, width: int, height: int) -> None:
        picture = np.arange(width * height).reshape(height, width)
        turns = range(4) if width == height else (0, 2)
        turned = [np.rot90(picture, turn) for turn in turns]
        turned += [image[:, ::-1] for image in turned]
        self.count = len(turned)
        self.places = np.array([image.reshape(-1) for image in turned])
        # Flipping the rows is its own inverse, so the same table leads from places to moves and back.
        move_at_place = picture[::-1].reshape(-1)
        self.moves = move_at_place[self.places[:, move_at_place]]
        self.turned_moves = np.argsort(self.moves, axis=1)

    def turn_states(self, states: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Turn each state by its own symmetry.

        Args:
            states: [N, P, H, W].
            which: [N] the numbers of the symmetries.
        """
        flat = states.reshape(*states.shape[:2], -1)
        return np.take_along_axis(flat, self.places[which][:, None], axis=2).reshape(states.shape)

    def turn_policies(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Take numbers for each move of the boards [N, A] to the moves of the boards turned by `which` [N]."""
        return np.take_along_axis(policies, self.moves[which], axis=1)

    def turn_policies_back(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Take numbers for each move of the turned boards [N, A] back to the moves of the boards."""
        return np.take_along_axis(policies, self.turned_moves[which], axis=1)
