"""Random rollouts as evaluators: this is how pure Monte Carlo tree search evaluates its leaves (handout section 5.1).

They have the form of the evaluators in `inference.py`. The policy is uniform over the legal moves, and the value is the result
of one game played from the position with random moves: 1, 0 or -1 for the side to move. Combined with `PuctSearch`, they make
the search of `AlphaZero.mcts_pure` for many games at once.

A random game of Gomoku needs no loop over its moves. All empty points are filled in random order. A window of n_in_row points
that ends up in one colour was completed when its last point was filled, and the window that was completed first wins.
"""

from __future__ import annotations

import numpy as np

from games.gomoku.rules import GomokuRules
from games.protocol import NOBODY, GameRules, PositionBatch
from training.inference.evaluators import Evaluator
from training.search.puct import draw_moves

NEVER = np.int16(np.iinfo(np.int16).max)


class RandomRollouts:
    """Plays one random game of Gomoku from each state.

    Args:
        n_in_row: the length of a winning row.
        rng: draws the moves.
    """

    def __init__(self, n_in_row: int, rng: np.random.Generator) -> None:
        self._n_in_row = n_in_row
        self._rng = rng

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See StateEvaluator; none of the games in these states [N, 9, H, W] is over."""
        count, _, height, width = states.shape
        # Row 0 is the top row here, but flipping the board does not change the game.
        stones = states[:, [1, 0]].reshape(count, 2, -1).astype(bool)  # own, opponent's
        taken = stones[:, 0] | stones[:, 1]
        order = np.argsort(self._rng.random(taken.shape) + taken, axis=1)  # empty points first, at random
        time = np.empty(taken.shape, dtype=np.int16)
        np.put_along_axis(time, order, np.arange(time.shape[1], dtype=np.int16)[None], axis=1)
        own = time % 2 == 0  # the side to move fills the first point, the third, ...
        fills = np.stack([own, ~own], axis=1) & ~taken[:, None]
        times = np.where(stones, np.int16(-1), np.where(fills, time[:, None], NEVER))
        completed = self._first_completed(times.reshape(count, 2, height, width))
        values = np.sign(completed[:, 1] - completed[:, 0])
        empty = (~taken).sum(axis=1)
        probs = np.broadcast_to((1 / empty)[:, None], taken.shape)
        return probs.astype(np.float32), values.astype(np.float32)

    def _first_completed(self, times: np.ndarray) -> np.ndarray:
        """Return the time at which each side completes its first window.

        Args:
            times: [N, 2, H, W] the time at which each side fills a point, or NEVER.

        Returns:
            [N, 2] int32, NEVER if a side completes no window.
        """
        last, (height, width) = self._n_in_row - 1, times.shape[2:]
        firsts = []
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            # Take the points of a window one after the other, for all windows of this direction at once.
            rows, columns = height - last * down, width - last * abs(right)
            left = last if right < 0 else 0
            window = times[:, :, :rows, left : left + columns]
            for step in range(1, self._n_in_row):
                h, w = step * down, left + step * right
                window = np.maximum(window, times[:, :, h : h + rows, w : w + columns])
            firsts.append(window.min(axis=(2, 3)))
        return np.min(firsts, axis=0).astype(np.int32)


class PlayedOut:
    """Plays one random game of any kind from each position, move by move.

    It is a game by the rules of real games even where the search plays by others: a game of Go that plays on after two passes
    would nearly always end at the depth limit, and show nothing.

    Args:
        rng: draws the moves.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def of_positions(self, positions: PositionBatch) -> tuple[np.ndarray, np.ndarray]:
        """See PositionEvaluator."""
        legal = positions.legal
        side = positions.side_to_move
        winner = positions.winner.copy()
        games, live = np.arange(len(positions)), positions.for_search(0)
        while games.size:
            live.play_lines(draw_moves(live.legal.astype(np.float64), self._rng)[:, None], np.ones(len(live), dtype=np.int64))
            winner[games[live.over]] = live.winner[live.over]
            games, live = games[~live.over], live.take(~live.over)
        values = np.where(winner == NOBODY, 0.0, np.where(winner == side, 1.0, -1.0))
        return (legal / legal.sum(axis=1, keepdims=True)).astype(np.float32), values.astype(np.float32)


def make_rollouts(rules: GameRules, rng: np.random.Generator) -> Evaluator:
    """Return the fastest random rollouts for this game."""
    return RandomRollouts(rules.n_in_row, rng) if isinstance(rules, GomokuRules) else PlayedOut(rng)
