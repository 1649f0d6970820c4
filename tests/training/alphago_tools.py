"""What the tests of AlphaGo's stages share: a tiny board, and a teacher that plays on it."""

import json

import numpy as np

from games.gomoku.batch import GomokuBatch
from training.alphago.patterns import DIGITS, EMPTY, OTHER, OUTSIDE, OWN, LinePatterns, PatternPolicy
from training.alphago.play import SampledPolicy, play_to_end

BOARD = (4, 4, 3)


def after(moves, board=BOARD):
    """One game after these moves."""
    boards = GomokuBatch(1, *board)
    for move in moves:
        boards.play([move])
    return boards


def row_maker(n_in_row, seed):
    """An agent that completes a row if it can, else stops one, else prefers points near its own stones."""
    patterns = LinePatterns(n_in_row)
    numbers = np.arange(len(patterns))
    digits = numbers[:, None] // patterns.powers % len(DIGITS)
    seen_by_opponent = np.choose(digits, [EMPTY, OTHER, OWN, OUTSIDE]) @ patterns.powers
    stops = patterns.completes[seen_by_opponent]
    weights = np.where(patterns.completes, 24.0, np.where(stops, 12.0, (digits == OWN).sum(axis=1)))
    rng = np.random.default_rng(seed)
    return SampledPolicy(PatternPolicy(weights, n_in_row, rng), rng)


def write_played_games(path, boards, agent, head, opening=0):
    """Play these games with one agent on both sides, and write them as those of the teacher are written."""
    played = [[] for _ in range(len(boards))]

    def choose(live, games):
        moves = agent.choose(live)
        for game, move in zip(games.tolist(), moves.tolist(), strict=True):
            played[game].append(move)
        return moves

    winners = play_to_end(boards, choose).tolist()
    lines = [head]
    for seed, (moves, winner) in enumerate(zip(played, winners, strict=True), start=1):
        told = {"best": moves[opening:], "scores": [0] * (len(moves) - opening), "random": []}
        lines.append({"seed": seed, "opening": opening, "winner": winner - 1 if winner > 0 else -1, "moves": moves, **told})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
