"""When to answer a pass with a pass: the same for all agents of `training.matches`.

A second pass ends a real game. A search that plays on after two passes (`games.go.position`) takes it back instead, so neither
the search nor a network that learnt from such searches knows what the second pass is worth. The count does: an agent passes if
that wins the game at once, and does not pass if that loses it.
"""

from __future__ import annotations

import numpy as np

from games.protocol import NO_MOVE, PositionBatch, results_for_side_to_move


def answer_passes(boards: PositionBatch, moves: np.ndarray, preferences: np.ndarray) -> np.ndarray:
    """Return the moves to play in place of those that an agent chose; they differ only where a pass would end the game.

    Args:
        boards: G positions of real games.
        moves: [G] the agent's choices.
        preferences: [G, A] how much the agent likes each action; the best action but the pass replaces a pass that loses.
    """
    pass_action = boards.pass_action
    if pass_action == NO_MOVE:
        return moves
    after = boards.for_search(0)
    after.play_lines(np.full((len(boards), 1), pass_action), np.ones(len(boards), dtype=np.int64))
    result = np.where(after.over, -results_for_side_to_move(after), 0.0)  # for the player who passes
    others = np.where(boards.legal, preferences, -np.inf)
    others[:, pass_action] = -np.inf
    loses = (result < 0) & (moves == pass_action) & (others > -np.inf).any(axis=1)
    return np.select([result > 0, loses], [pass_action, others.argmax(axis=1)], moves)
