"""Openings of games in which any legal moves make a fair beginning."""

from __future__ import annotations

import numpy as np

from common.errors import UsageError
from games.protocol import GameRules

ATTEMPTS = 100


def random_opening(rules: GameRules, stones: int, rng: np.random.Generator, never: int | None = None) -> list[int]:
    """Draw legal actions, after which the game goes on.

    Args:
        rules: the game.
        stones: the number of actions.
        rng: draws them.
        never: an action that does not occur, such as a pass.

    Raises:
        UsageError: no game of this length that goes on was found.
    """
    for _ in range(ATTEMPTS if stones >= 0 else 0):
        position = rules.position()
        actions: list[int] = []
        while len(actions) < stones and not position.game_end()[0]:
            legal = [action for action in position.availables if action != never]
            if not legal:
                break
            actions.append(int(rng.choice(legal)))
            position.do_move(actions[-1])
        if len(actions) == stones and not position.game_end()[0]:
            return actions
    raise UsageError(
        f"expected openings of few enough stones for a game that goes on, on {rules.width}x{rules.height}; got {stones}"
    )
