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
    ### BEGIN SOLUTION 3
    length, actions = game.policies.shape
    moves = rng.integers(actions, size=unroll_steps)
    policies = np.zeros((unroll_steps + 1, actions), dtype=np.float32)
    values = np.zeros(unroll_steps + 1, dtype=np.float32)
    rewards = np.zeros(unroll_steps, dtype=np.float32)
    for k in range(unroll_steps + 1):
        t = start + k
        if t >= length:
            break
        if game.winner == NOBODY:
            result = 0.0
        else:
            result = 1.0 if game.players[t] == game.winner else -1.0
        policies[k] = game.policies[t]
        values[k] = result if game.values is None else game.values[t]
        if k < unroll_steps:
            moves[k] = game.moves[t]
            rewards[k] = result if t == length - 1 else 0.0
    return Targets(moves, policies, values, rewards)
    ### END SOLUTION
