"""Any of our searches against every line of replies, on a board where all of them can be played.

A search is a model (a network, random rollouts, or a learnt model) with settings. It searches each position with a new tree,
without noise. PUCT plays every move that the visits give at least 1 % at temperature 1e-3, so the most visited move and any
that ties with it; Gumbel search plays its best move. A search that draws random numbers, as rollouts do, is one of many
players: another seed gives another count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

import numpy as np

from games.gomoku.rules import GomokuRules
from training.exact import LEAST_PROBABILITY, ExactResult, Line, play_all_games
from training.inference.evaluators import Evaluator
from training.muzero.whole_games import positions_after
from training.search.gumbel import GumbelSettings
from training.search.puct import LOW_TEMPERATURE, PuctSettings, visit_policies
from training.search.steps import StepsMaker
from training.selfplay.game_stream import make_search

SIDE_BY_SIDE = 128


def play_searched_lines(
    rules: GomokuRules, model: Evaluator | StepsMaker, settings: PuctSettings | GumbelSettings, rng: np.random.Generator
) -> ExactResult:
    """Play against every line of replies, as first and as second player.

    Args:
        rules: the game, on a small board.
        model: evaluates positions or leads to them.
        settings: the search settings.
        rng: breaks ties.
    """
    size = rules.width, rules.height, rules.n_in_row

    def decide(lines: Sequence[Line]) -> list[list[int]]:
        boards = positions_after(rules, np.array(lines, dtype=np.int64).reshape(len(lines), -1))
        legal = boards.legal
        decisions = make_search(settings, len(lines), rules.actions, model, rng).decide(boards, is_selfplay=False)
        if isinstance(settings, GumbelSettings):
            return [[int(move)] for move in decisions.moves]
        chances = visit_policies(decisions.visits, legal, np.full(len(lines), LOW_TEMPERATURE))
        return [np.flatnonzero(row >= LEAST_PROBABILITY).tolist() for row in chances]

    def choose_among(lines: Sequence[Line]) -> list[Collection[int]]:
        chosen: list[Collection[int]] = []
        for equally_long in (list(group) for _, group in groupby(lines, key=len)):
            for first in range(0, len(equally_long), SIDE_BY_SIDE):
                chosen += decide(equally_long[first : first + SIDE_BY_SIDE])
        return chosen

    return play_all_games(choose_among, size)
