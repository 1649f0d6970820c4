"""What the model learns from a position and the K moves after it (Schrittwieser et al. 2020, appendix G).

At step k the model has taken the first k moves in its latent state. Its targets there are

    policy    the search's policy at that position; none after the end of the game
    value     the result of the game for the side that is to move there; in a reanalysed sample the value of a new search,
              except in the last K moves of a game, whose result is known and is their return over K moves; the result says
              nothing about positions with a random move still to come (`--random-moves`), so these have no value of their own
    reward    1 or -1 for who made the move that ended the game, if there is a winner; 0 for all other moves

States after the end are absorbing: the sides go on alternating, any move leads to another such state, and its value is still
the result for the side to move. The search has no other way to know that a game is over. The moves there are drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from games.protocol import NOBODY, GameRules
from training.muzero.whole_games import WholeGames
from training.samples import unpack_states


@dataclass(frozen=True)
class SampledStarts:
    """B positions from which the model is unrolled.

    Attributes:
        positions: [B] positions of `WholeGames`.
        symmetries: [B] the symmetry of the game under which each is seen.
        moves_after_end: [B, K] the moves to take after the end of the game.
        reanalysed: [B] bool, whether the targets come from a new search.
    """

    positions: np.ndarray
    symmetries: np.ndarray
    moves_after_end: np.ndarray
    reanalysed: np.ndarray


def sample_starts(
    games: WholeGames, count: int, unroll_steps: int, reanalysed_share: float, rng: np.random.Generator
) -> SampledStarts:
    """Draw positions, all with the same chance. The first ones, as many as the share says, are to be reanalysed."""
    return SampledStarts(
        positions=rng.integers(len(games), size=count),
        symmetries=rng.integers(games.rules.symmetries.count, size=count),
        moves_after_end=rng.integers(games.rules.actions, size=(count, unroll_steps)),
        reanalysed=np.arange(count) < round(reanalysed_share * count),
    )


@dataclass(frozen=True)
class FreshTargets:
    """New targets of some positions.

    Attributes (N positions of `WholeGames`):
        known: [N] bool, whether a position has new targets.
        policies: [N, A] float32.
        values: [N] float32, for the side to move.
    """

    known: np.ndarray
    policies: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class UnrolledBatch:
    """B samples with targets for K + 1 steps, of which step 0 is the position itself.

    Attributes:
        states: [B, P, H, W] float32.
        moves: [B, K] int64, the move that leads from step k to step k + 1.
        policies: [B, K + 1, A] float32, zero after the end.
        before_end: [B, K + 1] bool, whether the game is not over at this step.
        values: [B, K + 1] float32, for the side to move at this step.
        has_value: [B, K + 1] bool, whether this value is to be learnt.
        rewards: [B, K] float32, for who makes the move.
        later_states: [B, K, P, H, W] float32, the positions at steps 1 to K, zero after the end; None if they are not needed.
    """

    states: np.ndarray
    moves: np.ndarray
    policies: np.ndarray
    before_end: np.ndarray
    values: np.ndarray
    has_value: np.ndarray
    rewards: np.ndarray
    later_states: np.ndarray | None


def steps_before_end(games: WholeGames, positions: np.ndarray, unroll_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions at steps 0 to K from each of these [B].

    Returns:
        positions [B, K + 1], some valid position after the end; and whether the game is not over there, [B, K + 1] bool.
    """
    left = games.length[games.game[positions]] - games.ply[positions]
    steps = np.arange(unroll_steps + 1)
    before_end = steps < left[:, None]
    return np.where(before_end, positions[:, None] + steps, positions[:, None]), before_end


def result_for_mover(games: WholeGames, positions: np.ndarray, unroll_steps: int) -> np.ndarray:
    """Return the result of the game for the side to move at steps 0 to K, before and after the end, [B, K + 1]."""
    game = games.game[positions]
    plies = games.ply[positions][:, None] + np.arange(unroll_steps + 1)
    winner = games.winner[game][:, None]
    results = np.where(1 + plies % 2 == winner, 1.0, -1.0)
    return np.where(winner == NOBODY, 0.0, results).astype(np.float32)


def make_batch(games: WholeGames, starts: SampledStarts, fresh: FreshTargets | None, with_later_states: bool) -> UnrolledBatch:
    """Return the samples that begin at these positions, each under its symmetry.

    Args:
        games: the games.
        starts: the positions.
        fresh: the new targets, with those of every reanalysed sample; None if there are none.
        with_later_states: whether the positions at steps 1 to K are needed.
    """
    rules, unroll_steps = games.rules, starts.moves_after_end.shape[1]
    positions, before_end = steps_before_end(games, starts.positions, unroll_steps)
    values = result_for_mover(games, starts.positions, unroll_steps)
    rewards = np.where(before_end[:, :-1] & ~before_end[:, 1:], values[:, :-1], 0.0).astype(np.float32)
    policies = games.policies[positions]
    plies = games.ply[starts.positions][:, None] + np.arange(unroll_steps + 1)
    has_value = plies >= games.random_moves[games.game[starts.positions]][:, None]
    if fresh is not None:
        renewed = starts.reanalysed[:, None] & before_end & fresh.known[positions]
        policies = np.where(renewed[:, :, None], fresh.policies[positions], policies)
        is_far_from_end = games.length[games.game[positions]] - games.ply[positions] > unroll_steps
        values = np.where(renewed & is_far_from_end, fresh.values[positions], values)
        has_value |= renewed & is_far_from_end
    policies = np.where(before_end[:, :, None], policies, 0.0).astype(np.float32)
    moves = np.where(before_end[:, :-1], games.moves[positions[:, :-1]], starts.moves_after_end)
    which = starts.symmetries
    later = _states(games, positions[:, 1:], before_end[:, 1:], which) if with_later_states else None
    return UnrolledBatch(
        states=_states(games, positions[:, :1], before_end[:, :1], which)[:, 0],
        moves=np.take_along_axis(rules.symmetries.turned_moves[which], moves, axis=1),
        policies=_turned_policies(rules, policies, which),
        before_end=before_end,
        values=values.astype(np.float32),
        has_value=has_value,
        rewards=rewards,
        later_states=later,
    )


def _turned_policies(rules: GameRules, policies: np.ndarray, which: np.ndarray) -> np.ndarray:
    count, steps, actions = policies.shape
    turned = rules.symmetries.turn_policies(policies.reshape(-1, actions), np.repeat(which, steps))
    return turned.reshape(count, steps, actions)


def _states(games: WholeGames, positions: np.ndarray, before_end: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return the feature planes [B, S, P, H, W] of positions [B, S], zero after the end."""
    count, steps = positions.shape
    states = unpack_states(games.states[positions.reshape(-1)], games.rules)
    turned = games.rules.symmetries.turn_states(states, np.repeat(which, steps))
    turned[~before_end.reshape(-1)] = 0.0
    return turned.reshape(count, steps, *turned.shape[1:])
