"""Reanalysis: old games are searched again with the latest model (Schrittwieser et al. 2020, appendix H; handout section 6)."""

from dataclasses import replace

import numpy as np

from MuZero.search import search


def reanalyse(game, model, n_simulations=25, c_puct=1.25):
    """Search every position of a game again.

    Args:
        game: a Game; it must stay as it is. `game.root(t)` is the position before move t.
        model: the latest Model.
        n_simulations, c_puct: see `MuZero.search.search`.

    Returns:
        A new Game with the same positions, moves, players and winner. Its policies [T, A] are the visit shares of the new
        searches, its values [T] their values.
    """
    ### BEGIN SOLUTION 6
    results = [search(model, game.root(t), n_simulations, c_puct) for t in range(len(game.moves))]
    policies = np.array([result.visits / result.visits.sum() for result in results], dtype=np.float32)
    values = np.array([result.value for result in results], dtype=np.float32)
    return replace(game, policies=policies, values=values)
    ### END SOLUTION
