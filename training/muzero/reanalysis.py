"""Reanalysis (Schrittwieser et al. 2020, appendix H): positions of old games are searched again with the latest model.

The new search gives a sample its policy targets and, as the value of the root, its value targets. What the game taught stays in
the values of its last K moves, in the results of the other samples, and in the absorbing states.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from training.muzero.unrolled_targets import FreshTargets, SampledStarts, steps_before_end
from training.muzero.whole_games import WholeGames, positions_after
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.search.steps import StepsMaker
from training.selfplay.game_stream import make_search

SIDE_BY_SIDE = 512  # positions searched at once


def positions_to_search(games: WholeGames, samples: Sequence[SampledStarts]) -> np.ndarray:
    """Return the positions [M] whose targets the reanalysed samples need, at all steps, each once."""
    found = []
    for starts in samples:
        chosen = starts.positions[starts.reanalysed]
        positions, before_end = steps_before_end(games, chosen, starts.moves_after_end.shape[1])
        found.append(positions[before_end])
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def search_again(
    games: WholeGames,
    positions: np.ndarray,
    model: StepsMaker,
    settings: PuctSettings | GumbelSettings,
    rng: np.random.Generator,
) -> FreshTargets:
    """Search positions [M] as in self-play; positions that the same moves lead to are searched once."""
    fresh = FreshTargets(
        known=np.zeros(len(games), dtype=bool),
        policies=np.zeros_like(games.policies),
        values=np.zeros(len(games), dtype=np.float32),
    )
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for position in positions.tolist():
        alike[games.line(position)].append(position)
    by_length: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for line in alike:
        by_length[len(line)].append(line)
    for length, lines in sorted(by_length.items()):
        for first in range(0, len(lines), SIDE_BY_SIDE):
            chosen = lines[first : first + SIDE_BY_SIDE]
            boards = positions_after(games.rules, np.array(chosen, dtype=np.int64).reshape(len(chosen), length))
            search = make_search(settings, len(chosen), games.rules.actions, model, rng)
            decisions = search.decide(boards, is_selfplay=True)
            for place, line in enumerate(chosen):
                at = alike[line]
                fresh.known[at] = True
                fresh.policies[at] = decisions.policies[place]
                fresh.values[at] = decisions.values[place]
    return fresh
