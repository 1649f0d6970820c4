"""Reanalysis with a search whose value is a tensor with one entry."""

from dataclasses import replace

import numpy as np
import torch

from MuZero.search import search


def reanalyse(game, model, n_simulations=25, c_puct=1.25):
    again = [search(model, game.root(t), n_simulations, c_puct) for t in range(len(game.moves))]
    policies = [result.visits / n_simulations for result in again]
    return replace(game, policies=np.array(policies), values=torch.cat([result.value for result in again]).numpy())
