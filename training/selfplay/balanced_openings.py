"""Openings of self-play: random stones after which the game is open, by the network's own value (as in KataGo, Wu 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from games.protocol import GameRules, PositionBatch
from training.inference.evaluators import Evaluator, evaluate_positions

ATTEMPTS = 10


@dataclass(frozen=True)
class OpeningSettings:
    """Which games begin with an opening, and which openings are balanced.

    Attributes:
        stones: the largest number of random moves; each opening has a random number from 1 on.
        value: an opening is balanced if the network's value lies between -value and value.
        empty_share: the share of games that begin on the empty board all the same.
    """

    stones: int
    value: float = 0.3
    empty_share: float = 0.25


def after(rules: GameRules, lines: Sequence[Sequence[int]]) -> PositionBatch:
    """Return the positions after lines of at least one legal move each, at whose ends the games go on."""
    boards, lengths = rules.batch(len(lines)), np.array([len(line) for line in lines])
    padded = np.zeros((len(lines), lengths.max()), dtype=np.int64)
    for row, line in zip(padded, lines, strict=True):
        row[: len(line)] = line
    boards.play_lines(padded, lengths)
    return boards


def balanced_openings(
    rules: GameRules, games: int, settings: OpeningSettings, evaluate: Evaluator, rng: np.random.Generator
) -> list[list[int]]:
    """Draw an opening for each game; if none of ATTEMPTS openings is balanced, take the one with the smallest value.

    Args:
        rules: the game.
        games: the number of openings, at least 1.
        settings: see there.
        evaluate: the network.
        rng: draws the openings.

    Returns:
        The moves of each opening.
    """
    openings: list[list[int]] = [[] for _ in range(games)]
    smallest, waiting = np.full(games, np.inf), np.arange(games)
    for _ in range(ATTEMPTS):
        drawn = [rules.draw_opening(int(rng.integers(1, settings.stones + 1)), rng) for _ in waiting]
        values = np.abs(evaluate_positions(evaluate, after(rules, drawn))[1])
        for game, opening, value in zip(waiting.tolist(), drawn, values.tolist(), strict=True):
            if value < smallest[game]:
                openings[game], smallest[game] = opening, value
        waiting = waiting[smallest[waiting] >= settings.value]
        if not waiting.size:
            break
    return openings
