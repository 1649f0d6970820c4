"""The symmetries of a board, as tables: a square board has eight, another one four.

A state's row 0 is the top row and moves count from the bottom row, so each symmetry has a table for either; both turn the
board as one picture.
"""

from __future__ import annotations

import numpy as np


class Symmetries:
    """All symmetries of one board.

    Attributes:
        count: S, 8 or 4; number 0 leaves everything as it is.
        places: [S, A]: the turned state has at place i what the state has at place `places[s, i]` (row 0 on top).
        moves: [S, A]: move m of the turned board is move `moves[s, m]` of the board (row 0 at the bottom).
    """

    def __init__(self, width: int, height: int) -> None:
        picture = np.arange(width * height).reshape(height, width)
        turns = range(4) if width == height else (0, 2)
        turned = [np.rot90(picture, turn) for turn in turns]
        turned += [image[:, ::-1] for image in turned]
        self.count = len(turned)
        self.places = np.array([image.reshape(-1) for image in turned])
        move_at_place = picture[::-1].reshape(-1)
        # Turning round which row is the first is its own inverse, so it leads from places to moves and back.
        self.moves = move_at_place[self.places[:, move_at_place]]

    def turn_states(self, states: np.ndarray, which: np.ndarray) -> np.ndarray:
        """States [N, P, H, W] turned, each by its own symmetry of `which` [N]."""
        flat = states.reshape(*states.shape[:2], -1)
        return np.take_along_axis(flat, self.places[which][:, None], axis=2).reshape(states.shape)

    def turn_policies(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Numbers for each move [N, A] of the boards, as numbers for each move of the turned boards."""
        return np.take_along_axis(policies, self.moves[which], axis=1)

    def turn_policies_back(self, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Numbers for each move [N, A] of the turned boards, as numbers for each move of the boards."""
        back = np.empty_like(policies)
        np.put_along_axis(back, self.moves[which], policies, axis=1)
        return back
