"""MuZero's player, judged exactly: against every line of replies, and its model against the real rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from games.gomoku.rules import GomokuRules
from games.protocol import NOBODY
from training.exact import ExactResult
from training.muzero.latent_model import MuZeroModel
from training.muzero.muzero_settings import MuZeroConfig
from training.muzero.unrolled_targets import SampledStarts, make_batch
from training.muzero.whole_games import WholeGame, WholeGames, positions_after, states_of
from training.search.latent import LatentSearchModel
from training.searched_lines import play_searched_lines

VALUE_TOLERANCE = 0.5  # a value this near to 1, 0 or -1 counts as that result
COMPARED_STEPS = 5  # moves after a position


def play_all_lines(model: MuZeroModel, config: MuZeroConfig, playouts: int) -> ExactResult:
    """Play tic-tac-toe against every line of replies; see `training.searched_lines`.

    Args:
        model: the model.
        config: the settings of its run.
        playouts: the number of playouts per move.
    """
    rules = config.rules()
    assert isinstance(rules, GomokuRules), "only tic-tac-toe is small enough"
    search = LatentSearchModel(model), config.search_settings(playouts)
    return play_searched_lines(rules, *search, np.random.default_rng(0))


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


def model_accuracy(model: MuZeroModel, games: WholeGames) -> list[StepAccuracy]:
    """Compare the model with the rules, 1 to COMPARED_STEPS moves after every position of these games."""
    rules, count = games.rules, len(games)
    still = SampledStarts(
        positions=np.arange(count),
        symmetries=np.zeros(count, dtype=np.int64),
        moves_after_end=np.zeros((count, COMPARED_STEPS), dtype=np.int64),
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
        for k in range(1, COMPARED_STEPS + 1):
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
