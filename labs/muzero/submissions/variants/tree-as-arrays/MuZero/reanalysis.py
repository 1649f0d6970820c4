"""Reanalysis with lists and a shallow copy."""

import copy

from MuZero.search import search


def reanalyse(game, model, n_simulations=25, c_puct=1.25):
    fresh = copy.deepcopy(game)
    fresh.values = []
    for t in range(len(game.moves)):
        result = search(model, game.root(t), n_simulations=n_simulations, c_puct=c_puct)
        fresh.policies[t] = [int(n) / n_simulations for n in result.visits]
        fresh.values.append(float(result.value))
    return fresh
