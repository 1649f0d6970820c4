"""What the model learns from a position and the K moves after it (handout section 3)."""

import numpy as np

from labs.muzero.given.games import NOBODY, Targets


def make_targets(game, start, unroll_steps, rng):
    """Return the targets of the steps 0 to K from one position of a game.

    Args:
        game: a Game of T moves.
        start: t, the position before move t; 0 <= t < T.
        unroll_steps: K; the steps may lead beyond the end of the game.
        rng: a numpy Generator, for the moves after the end.

    Returns:
        Targets:
        moves [K]: those of the game; after the end, any actions, drawn with rng.
        policies [K + 1, A]: the game's policies; after the end, zeros.
        values [K + 1]: for the side to move at each step, game.values where there are any, otherwise the result of the game (1,
            -1, or 0 for a draw); after the end, 0.
        rewards [K]: the last move of the game earns its result for who makes it; all other moves earn 0.
    """
    raise NotImplementedError("MuZero/targets.py: make_targets: see handout section 3")
