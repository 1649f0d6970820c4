"""Targets as torch tensors, step by step."""

import torch

from labs.muzero.given.games import Targets


def make_targets(game, start, unroll_steps, rng):
    length, actions = len(game.moves), game.legal.shape[1]
    moves = torch.from_numpy(rng.integers(actions, size=unroll_steps))
    policies = torch.full((unroll_steps + 1, actions), 0.0)
    values = torch.zeros(unroll_steps + 1)
    rewards = torch.zeros(unroll_steps)
    for k in range(min(unroll_steps + 1, length - start)):
        t = start + k
        outcome = 0 if game.winner < 0 else 1 - 2 * int(game.winner != game.players[t])
        policies[k] = torch.as_tensor(game.policies[t])
        values[k] = outcome if game.values is None else float(game.values[t])
        if k < unroll_steps:
            moves[k] = int(game.moves[t])
            rewards[k] = outcome * (t == length - 1)
    return Targets(moves=moves, policies=policies, values=values, rewards=rewards)
