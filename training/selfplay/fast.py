"""Self-play for train.py --fast: the games are played as in its serial loop, but several side by side.

The search is PUCT with the noise and temperature of the handout. In each game it builds the same tree as a correct student
search (tests/training/test_fast.py). The network is the student's, in float32 so that a seed reproduces a training run; each
move uses its latest weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from games.gomoku.rules import GomokuRules
from training.inference.evaluators import InferenceNetwork, PositionCache, RandomSymmetry
from training.samples import unpack_states
from training.search.puct import PuctSettings
from training.selfplay.game_stream import SelfPlay, SelfPlaySettings

GAMES_AT_ONCE = 16
SelfPlaySample = tuple[np.ndarray, np.ndarray, float]
"""(state [9, H, W], move probabilities [A], z), as Game.start_self_play returns them."""


def fast_games(
    net: Any, width: int, height: int, n_in_row: int, search: PuctSettings, rng: np.random.Generator
) -> Iterator[list[SelfPlaySample]]:
    """Play games endlessly, and yield the samples of each.

    Args:
        net: the student's PolicyValueNet, which may learn between two games.
        width, height, n_in_row: the board's size and the length of a winning row.
        search: the search settings.
        rng: draws the noise, moves and symmetries.
    """
    evaluate: RandomSymmetry

    def evaluate_by_latest(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return evaluate(states)

    rules = GomokuRules(width, height, n_in_row)
    selfplay = SelfPlay(SelfPlaySettings(rules, GAMES_AT_ONCE, search), evaluate_by_latest, rng)
    while True:
        network = InferenceNetwork(net.model, width, height)
        evaluate = RandomSymmetry(PositionCache(network), rules.symmetries, rng)
        for game in selfplay.step():
            states = unpack_states(game.states, rules)
            yield list(zip(states, game.policies.astype(np.float32), game.results.astype(float), strict=True))
