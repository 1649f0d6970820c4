"""MuZero's player, judged exactly: against every line of replies, and its model against the real rules.

The player searches each position with a new tree, without noise. PUCT plays every move that the visits give at least 1 % at
temperature 1e-3, so the most visited move and any that ties with it; Gumbel search plays its best move.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from games.protocol import NOBODY
from training.exact import LEAST_PROBABILITY, ExactResult, Line, can_be_lost, in_order, play_all_games
from training.muzero.latent_model import MuZeroModel
from training.muzero.muzero_settings import MuZeroConfig
from training.muzero.unrolled_targets import SampledStarts, make_batch
from training.muzero.whole_games import WholeGame, WholeGames, positions_after, states_of
from training.search.gumbel import GumbelSettings
from training.search.latent import LatentSearchModel
from training.search.puct import LOW_TEMPERATURE, visit_policies
from training.selfplay.game_stream import make_search

SIDE_BY_SIDE = 128
VALUE_TOLERANCE = 0.5  # a value this near to 1, 0 or -1 counts as that result


def play_all_lines(model: MuZeroModel, config: MuZeroConfig, playouts: int) -> ExactResult:
    """Play tic-tac-toe against every line of replies, as first and as second player.

    As for AlphaZero's players (`training/exact.py`), the player is not asked where it can no longer lose, so the numbers of
    wins and draws are not its own.

    Args:
        model: the model.
        config: the settings of its run.
        playouts: the number of playouts per move.
    """
    rules, settings, rng = config.rules(), config.search_settings(playouts), np.random.default_rng(0)
    size = config.board_width, config.board_height, config.n_in_row
    search_model = LatentSearchModel(model)

    def decide(lines: list[Line]) -> list[list[int]]:
        boards = positions_after(rules, np.array(lines, dtype=np.int64).reshape(len(lines), -1))
        legal = boards.legal
        decisions = make_search(settings, len(lines), rules.actions, search_model, rng).decide(boards, is_selfplay=False)
        if isinstance(settings, GumbelSettings):
            return [[int(move)] for move in decisions.moves]
        chances = visit_policies(decisions.visits, legal, np.full(len(lines), LOW_TEMPERATURE))
        return [np.flatnonzero(row >= LEAST_PROBABILITY).tolist() for row in chances]

    def choose_among(lines: Sequence[Line]) -> list[Collection[int]]:
        losable = [line for line in lines if can_be_lost(in_order(line), len(line) % 2, size)]
        chosen: dict[Line, list[int]] = {}
        for first in range(0, len(losable), SIDE_BY_SIDE):
            some = losable[first : first + SIDE_BY_SIDE]
            chosen.update(zip(some, decide(some), strict=True))
        return [chosen.get(line) or [min(set(range(rules.actions)) - set(line))] for line in lines]

    return play_all_games(choose_among, size)


@dataclass(frozen=True)
class StepAccuracy:
    """How the model compares with the rules, k moves after a real position.

    Attributes:
        steps: k.
        positions: the number of positions in which the game goes on after k moves.
        illegal_mass: the mean probability of all illegal moves together.
        likeliest_legal: the share of positions in which the likeliest move is legal.
        rewards_right: the share of k-th moves whose reward is within 0.5 of the real one.
        ends: the number of k-th moves that win the game.
        ends_seen: the share of these after which the value is within 0.5 of the loser's.
        draws: the number of k-th moves that end the game in a draw.
        draws_seen: the share of these after which the value is within 0.5 of 0.
    """

    steps: int
    positions: int
    illegal_mass: float
    likeliest_legal: float
    rewards_right: float
    ends: int
    ends_seen: float
    draws: int
    draws_seen: float


def random_games(config: MuZeroConfig, count: int, rng: np.random.Generator) -> WholeGames:
    """Play games of random legal moves, which no model has learnt from; their policies are zeros."""
    rules = config.rules()
    boards, numbers = rules.batch(count), np.arange(count)
    lines: list[list[int]] = [[] for _ in range(count)]
    winners = np.zeros(count, dtype=np.int64)
    while len(numbers):
        moves = np.where(boards.legal, rng.random(boards.legal.shape), -1.0).argmax(axis=1)
        for number, move in zip(numbers, moves, strict=True):
            lines[number].append(int(move))
        boards.play(moves)
        winners[numbers[boards.over]] = boards.winner[boards.over]
        boards, numbers = boards.take(~boards.over), numbers[~boards.over]
    played = [np.array(line, dtype=np.int64) for line in lines]
    policies = [np.zeros((len(line), rules.actions), dtype=np.float32) for line in played]
    games = zip(played, policies, winners.tolist(), states_of(rules, played), strict=True)
    return WholeGames(rules, [WholeGame(*game) for game in games])


def model_accuracy(model: MuZeroModel, config: MuZeroConfig, games: WholeGames, steps: int = 5) -> list[StepAccuracy]:
    """Compare the model with the rules, 1 to `steps` moves after every position of these games."""
    rules, count = games.rules, len(games)
    still = SampledStarts(
        positions=np.arange(count),
        symmetries=np.zeros(count, dtype=np.int64),
        moves_after_end=np.zeros((count, steps), dtype=np.int64),
        reanalysed=np.zeros(count, dtype=bool),
    )
    batch = make_batch(games, still, fresh=None, with_later_states=False)
    legal = np.zeros((count, rules.actions), dtype=bool)
    for ply in range(int(games.ply.max()) + 1):
        here = np.flatnonzero(games.ply == ply)
        lines = np.array([games.line(int(position)) for position in here], dtype=np.int64).reshape(len(here), ply)
        legal[here] = positions_after(rules, lines).legal
    rows = []
    with torch.inference_mode():
        latents = model.represent(torch.from_numpy(batch.states))
        for k in range(1, steps + 1):
            latents = model.step(latents, torch.from_numpy(batch.moves[:, k - 1]))
            logits, values = (tensor.numpy() for tensor in model.predict(latents))
            probs, rewards = torch.softmax(torch.from_numpy(logits), dim=1).numpy(), model.reward(latents).numpy()
            real, going_on = batch.before_end[:, k - 1], batch.before_end[:, k]
            allowed = legal[np.flatnonzero(going_on) + k]
            ended = real & ~going_on
            drawn = games.winner[games.game] == NOBODY
            right_value = np.abs(values - batch.values[:, k]) < VALUE_TOLERANCE
            rows.append(
                StepAccuracy(
                    steps=k,
                    positions=int(going_on.sum()),
                    illegal_mass=_mean((probs[going_on] * ~allowed).sum(axis=1)),
                    likeliest_legal=_mean(allowed[np.arange(len(allowed)), probs[going_on].argmax(axis=1)]),
                    rewards_right=_mean(np.abs(rewards - batch.rewards[:, k - 1])[real] < VALUE_TOLERANCE),
                    ends=int((ended & ~drawn).sum()),
                    ends_seen=_mean(right_value[ended & ~drawn]),
                    draws=int((ended & drawn).sum()),
                    draws_seen=_mean(right_value[ended & drawn]),
                )
            )
    return rows


def _mean(values: np.ndarray) -> float:
    return round(float(values.mean()), 4) if len(values) else float("nan")
