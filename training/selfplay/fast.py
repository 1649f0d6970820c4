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
from training.exact import Size
from training.inference.evaluators import Backend, InferenceNetwork, PositionCache, RandomSymmetry, library_of
from training.inference.openvino_model import openvino_is_installed
from training.inference.timing import computing_clock
from training.samples import unpack_states
from training.search.puct import PuctSettings
from training.selfplay.game_stream import SelfPlay, SelfPlaySettings

GAMES_AT_ONCE = 16
TIMED_ROUNDS = 5
# OpenVINO has to be faster than torch by this factor. The two differ in the last bits: a choice between equals could change
# from run to run, and then a seed would not repeat a run.
LEAD = 1.25
SelfPlaySample = tuple[np.ndarray, np.ndarray, float]
"""(state [9, H, W], move probabilities [A], z), as Game.start_self_play returns them."""


def fast_network(net: Any, size: Size, playouts: int, backend: Backend) -> InferenceNetwork:
    """Make the copy of the student's network that plays, in float32 and on the same device.

    Args:
        net: the student's PolicyValueNet.
        size: of the game.
        playouts: the number of playouts for each move.
        backend: the library; "auto" takes OpenVINO if it is installed and clearly faster, timed over the playouts of a move
            and the new weights that follow.

    Raises:
        UsageError: the backend is not installed, or does not compute on this device.
    """
    rules = GomokuRules(*size)
    device = str(next(net.model.parameters()).device)
    library = library_of(backend, device)

    def make(library: Any) -> InferenceNetwork:
        return InferenceNetwork(net.model, rules.width, rules.height, library=library, device=device)

    if library is not None:
        return make(library)
    by_torch = make("torch")
    if device != "cpu" or not openvino_is_installed():
        return by_torch
    try:
        by_openvino = make("openvino")
    except Exception:  # the converter has no common class of errors for networks that it cannot convert
        return by_torch
    states = np.zeros((GAMES_AT_ONCE, rules.planes, rules.height, rules.width), dtype=np.float32)
    # In turns, so that a busy moment of the machine meets both.
    rounds = [[_seconds(network, net.model, states) for network in (by_torch, by_openvino)] for _ in range(TIMED_ROUNDS)]
    of_torch, of_openvino = np.min(rounds, axis=0) @ (1, playouts)
    return by_openvino if LEAD * of_openvino < of_torch else by_torch


def _seconds(network: InferenceNetwork, model: Any, states: np.ndarray) -> tuple[float, float]:
    """Return how long it takes to load new weights, and to evaluate the states then."""
    clock = computing_clock(network.device)
    started = clock()
    network.load(model)
    loaded = clock()
    network(states)
    return loaded - started, clock() - loaded


def fast_games(
    net: Any, network: InferenceNetwork, size: Size, search: PuctSettings, rng: np.random.Generator
) -> Iterator[list[SelfPlaySample]]:
    """Play games endlessly, and yield the samples of each.

    Args:
        net: the student's PolicyValueNet, which may learn between two games.
        network: the copy of it that plays.
        size: of the game.
        search: the search settings.
        rng: draws the noise, moves and symmetries.
    """
    rules, cache = GomokuRules(*size), PositionCache(network)
    evaluate = RandomSymmetry(cache, rules.symmetries, rng)
    selfplay = SelfPlay(SelfPlaySettings(rules, GAMES_AT_ONCE, search), evaluate, rng)
    while True:
        games = selfplay.step()
        for game in games:
            states = unpack_states(game.states, rules)
            yield list(zip(states, game.policies.astype(np.float32), game.results.astype(float), strict=True))
        if games:
            network.load(net.model)
            cache.clear()
