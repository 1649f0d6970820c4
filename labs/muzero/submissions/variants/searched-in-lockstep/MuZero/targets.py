"""Targets with generators: an endless line of steps, cut to K + 1."""

from itertools import chain, islice, repeat

import numpy as np

from labs.muzero.given.games import NOBODY, Targets


def played(game, start):
    for t in range(start, len(game.moves)):
        z = (game.players[t] == game.winner) * 2 - 1 if game.winner != NOBODY else 0
        last = t + 1 == len(game.moves)
        yield game.moves[t], game.policies[t], z if game.values is None else game.values[t], z if last else 0


def make_targets(game, start, unroll_steps, rng):
    A = game.policies.shape[-1]
    nothing = (None, np.zeros(A), 0, 0)
    steps = list(islice(chain(played(game, start), repeat(nothing)), unroll_steps + 1))
    moves = [rng.choice(A) if m is None else m for m, *_ in steps[:-1]]
    return Targets(moves, [p for _, p, _, _ in steps], [z for _, _, z, _ in steps], [r for *_, r in steps[:-1]])
