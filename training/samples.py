"""Self-play games in a compact form for learning: bit-packed states, policies in half precision, values, results.

A position of Gomoku on a 9x9 board takes 92 + 162 + 2 + 1 bytes. The first axis of the arrays is T, the moves of a game in
order, or L, the positions to learn from. These are fewer if some moves were not searched with all playouts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from games.protocol import NOBODY, GameRules


def packed_size(rules: GameRules) -> int:
    """Return the number of bytes of one packed state of this game."""
    return -(-rules.planes * rules.width * rules.height // 8)


def pack_states(states: np.ndarray) -> np.ndarray:
    """Pack states [N, P, H, W] of zeros and ones into bits [N, ceil(P * H * W / 8)] uint8."""
    return np.packbits(states.reshape(len(states), -1) != 0, axis=1)


def unpack_states(packed: np.ndarray, rules: GameRules) -> np.ndarray:
    """Unpack the result of `pack_states` into states [N, P, H, W] float32 of this game."""
    shape = rules.planes, rules.height, rules.width
    bits = np.unpackbits(packed, axis=1, count=prod(shape))
    return bits.reshape(-1, *shape).astype(np.float32)


@dataclass(frozen=True)
class FinishedGame:
    """A self-play game.

    Attributes:
        moves: [T] int16, the moves in order.
        plies: [L] int16, the number of moves before each position to learn from.
        states: [L, ceil(P * H * W / 8)] uint8, these positions, packed.
        policies: [L, A] float16, the policies from the search, which the network learns.
        values: [L] float16, the values that the search gave these positions, for the side to move.
        winner: 1 for the player who moved first, 2 for the other one, or -1 for a draw.
        resigned: whether the loser resigned before the last move instead of playing it.
        would_resign: in a game in which nobody may resign, the player who would have done so first; -1 for none.
        opening: the number of moves at the start that were drawn at random.
    """

    moves: np.ndarray
    plies: np.ndarray
    states: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    winner: int
    resigned: bool = False
    would_resign: int = NOBODY
    opening: int = 0

    @property
    def results(self) -> np.ndarray:
        """The result z of the game for the side to move in each position to learn from, [L] int8: 1, 0 or -1."""
        if self.winner == NOBODY:
            return np.zeros(len(self.plies), dtype=np.int8)
        mover = 1 + self.plies % 2
        return np.where(mover == self.winner, 1, -1).astype(np.int8)

    @property
    def nbytes(self) -> int:
        """The size of the samples in bytes: states, policies, values and results."""
        return self.states.nbytes + self.policies.nbytes + self.values.nbytes + self.results.nbytes
