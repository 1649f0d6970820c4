"""Reanalysis that puts the new game together by hand."""

import numpy as np

from labs.muzero.given.games import Game
from MuZero.search import search


def reanalyse(game, model, n_simulations=25, c_puct=1.25):
    policies, values = np.zeros_like(game.policies), np.zeros(len(game.moves))
    for t in range(len(game.moves)):
        found = search(model, game.root(t), n_simulations=n_simulations, c_puct=c_puct)
        policies[t], values[t] = found.visits / n_simulations, found.value
    return Game(game.planes.copy(), game.legal.copy(), game.moves.copy(), game.players.copy(), game.winner, policies, values)
