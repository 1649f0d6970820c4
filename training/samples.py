"""Self-play games in a compact form for learning: bit-packed states, policies in half precision, results.

A position of Gomoku on a 9x9 board takes 92 + 162 + 1 bytes. The first axis of the arrays is T, the positions of a game in
order.
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
        states: [T, ceil(P * H * W / 8)] uint8, the packed position before each move.
        policies: [T, A] float16, the policy from the search, which the network learns.
        winner: 1 for the player who moved first, 2 for the other one, or -1 for a draw.
        resigned: whether the loser resigned in the last of these positions instead of playing the recorded move.
    """

    moves: np.ndarray
    states: np.ndarray
    policies: np.ndarray
    winner: int
    resigned: bool

    @property
    def results(self) -> np.ndarray:
        """The result z of the game for the side to move in each position, [T] int8: 1, 0 or -1."""
        if self.winner == NOBODY:
            return np.zeros(len(self.moves), dtype=np.int8)
        mover = 1 + np.arange(len(self.moves)) % 2
        return np.where(mover == self.winner, 1, -1).astype(np.int8)

    @property
    def nbytes(self) -> int:
        """The size of the samples in bytes: states, policies and results."""
        return self.states.nbytes + self.policies.nbytes + self.results.nbytes
