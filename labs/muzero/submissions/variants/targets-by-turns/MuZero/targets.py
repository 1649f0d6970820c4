"""Targets by slices: the sign of the result turns from step to step."""

import numpy as np

from labs.muzero.given.games import Targets


def make_targets(game, start, unroll_steps, rng):
    total, actions = game.policies.shape
    left = total - start
    signs = np.where(np.arange(unroll_steps + 1) % 2 == 0, 1.0, -1.0)
    first = {-1: 0.0, int(game.players[start]): 1.0}.get(game.winner, -1.0)
    results = first * signs
    values = np.where(np.arange(unroll_steps + 1) < left, results, 0.0)
    if game.values is not None:
        seen = game.values[start : start + unroll_steps + 1]
        values[: len(seen)] = seen
    rewards = np.zeros(unroll_steps)
    if left <= unroll_steps:
        rewards[left - 1] = results[left - 1]
    policies = np.full((unroll_steps + 1, actions), 1.0 / actions)
    known = game.policies[start : start + unroll_steps + 1]
    policies[: len(known)] = known
    moves = np.zeros(unroll_steps, dtype=int)
    played = game.moves[start : start + unroll_steps]
    moves[: len(played)] = played
    return Targets(moves=moves, policies=policies, values=values, rewards=rewards)
