"""Random rollouts as an evaluator: this is how pure Monte Carlo tree search evaluates its leaves (handout section 5.1).

It has the form of the evaluators in `inference.py`. The policy is uniform over the empty points, and the value is the result
of one game played from the state with random moves: 1, 0 or -1 for the side to move. Combined with `PuctSearch`, it makes the
search of `AlphaZero.mcts_pure` for many games at once.

A random game needs no loop over its moves. All empty points are filled in random order. A window of n_in_row points that ends
up in one colour was completed when its last point was filled, and the window that was completed first wins.
"""

from __future__ import annotations

import numpy as np

NEVER = np.int16(np.iinfo(np.int16).max)


class RandomRollouts:
    """Plays one random game from each state.

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
