"""What the tests of AlphaGo's stages share: a tiny board, and a teacher that plays on it."""

import numpy as np

from games.gomoku.batch import GomokuBatch
from training.alphago.patterns import DIGITS, EMPTY, OTHER, OUTSIDE, OWN, LinePatterns, PatternPolicy
from training.alphago.play import SampledPolicy

BOARD = (4, 4, 3)


def after(moves, board=BOARD):
    """One game after these moves."""
    boards = GomokuBatch(1, *board)
    for move in moves:
        boards.play([move])
    return boards


def row_maker(n_in_row, seed):
    """An agent that completes a row if it can, else stops one, else prefers points near its own stones."""
    patterns = LinePatterns(n_in_row)
    numbers = np.arange(len(patterns))
    digits = numbers[:, None] // patterns.powers % len(DIGITS)
    seen_by_opponent = np.choose(digits, [EMPTY, OTHER, OWN, OUTSIDE]) @ patterns.powers
    stops = patterns.completes[seen_by_opponent]
    weights = np.where(patterns.completes, 24.0, np.where(stops, 12.0, (digits == OWN).sum(axis=1)))
    rng = np.random.default_rng(seed)
    return SampledPolicy(PatternPolicy(weights, n_in_row, rng), rng)
