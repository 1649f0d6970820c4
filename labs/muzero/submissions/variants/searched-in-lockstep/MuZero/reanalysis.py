"""Reanalysis in one search of all positions at once."""

import numpy as np

from labs.muzero.given.games import Game
from MuZero.search import search_all


def reanalyse(game, model, n_simulations=25, c_puct=1.25):
    T = len(game.moves)
    results = search_all(model, [game.root(t) for t in range(T)], n_simulations, c_puct)
    policies = [[n / n_simulations for n in r.visits] for r in results]
    fields = dict(planes=game.planes, legal=game.legal, moves=game.moves, players=game.players, winner=game.winner)
    return Game(**fields, policies=np.array(policies), values=[r.value for r in results])
