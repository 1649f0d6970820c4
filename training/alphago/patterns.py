"""Stage rollout: the fast policy of rollouts, a linear softmax over local patterns, learnt from the teacher's moves (Silver
et al. 2016, Methods, "Rollout policy").

The paper's patterns of Go are the stones around a point. What counts for a row of n lies on the four lines through a point, so
here a pattern is what one of these lines holds up to n - 1 points away on both sides: nothing, a stone of the side to move, one
of the opponent, or the outside of the board. With s(a, d) as the pattern of point a in direction d,

    p(a) is proportional to exp(w[s(a, 1)] + w[s(a, 2)] + w[s(a, 3)] + w[s(a, 4)])        over the empty points a

One table w serves all directions, and a pattern shares its weight with its mirror image, so that no symmetry of the board
changes the policy. A pattern also tells whether a stone there completes a row, so a rollout needs no other rules.

Games run side by side. A stone changes the patterns of no more than 8 (n - 1) points, and only these are looked up again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common.diverging import expect_finite
from training.alphago.config import RolloutSettings, StagesConfig
from training.alphago.runs import write_stage_result
from training.search.puct import draw_moves
from training.supervised.dataset import Positions, load_positions
from training.supervised.learning import load_checkpoint, save_checkpoint
from training.supervised.settings import CallError

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (rows, columns)
EMPTY, OWN, OTHER, OUTSIDE = DIGITS = range(4)
LONGEST_ROW = 6  # patterns of longer rows would be too many to learn
MEASURED = 4096  # held-back positions in a measurement
TIMED_GAMES = 256
ROUNDING = 1e-5  # smaller differences of log probabilities are those of sums in another order


class LinePatterns:
    """The patterns of rows of n_in_row points: their numbers, and what follows from a number.

    A pattern's number has one of the four DIGITS for each of its 2 (n_in_row - 1) points, in the order of the line.

    Attributes:
        reach: n_in_row - 1, the distance of the farthest point of a pattern.
        places: [2 reach] int, the distances -reach ... reach of its points without 0.
        powers: [2 reach] int32, the value of a digit 1 in each place.
        mirrored: [patterns] int32, the smaller one of the numbers of a pattern and its mirror image.
        completes: [patterns] bool, whether a stone of the side to move in the middle completes a row.
    """

    def __init__(self, n_in_row: int) -> None:
        self.reach = n_in_row - 1
        self.places = np.array([place for place in range(-self.reach, self.reach + 1) if place])
        self.powers = len(DIGITS) ** np.arange(len(self.places), dtype=np.int32)
        numbers = np.arange(len(DIGITS) ** len(self.places), dtype=np.int32)
        digits = numbers[:, None] // self.powers % len(DIGITS)
        self.mirrored = np.minimum(numbers, digits[:, ::-1] @ self.powers).astype(np.int32)
        own = digits == OWN
        before = np.logical_and.accumulate(own[:, : self.reach][:, ::-1], axis=1).sum(axis=1)
        after = np.logical_and.accumulate(own[:, self.reach :], axis=1).sum(axis=1)
        self.completes = before + 1 + after >= n_in_row

    def __len__(self) -> int:
        return len(self.mirrored)


class PatternBoards:
    """Games side by side as the patterns of all points, seen by both players; view 0 is the player to move at the start.

    Points have numbers on a board with a margin of `patterns.reach` on all sides, [N, 9, H, W] flattened row by row.

    Args:
        states: [N, 9, H, W], see Board.current_state.
        patterns: the patterns.

    Attributes:
        inside: [H * W] the numbers of the board's points, in the order of moves.
        empty: [N, points] bool.
        numbers: [2, N, 4, points] int32, the numbers of the patterns for each view.
    """

    def __init__(self, states: np.ndarray, patterns: LinePatterns) -> None:
        count, _, height, width = states.shape
        reach = patterns.reach
        self.width = width + 2 * reach
        self.points = (height + 2 * reach) * self.width
        rows, columns = np.divmod(np.arange(height * width), width)
        self.inside = (rows + reach) * self.width + columns + reach
        stones = states[:, [1, 0], ::-1].reshape(count, 2, -1).astype(bool)  # own, opponent's; row 0 is the bottom again
        digits = np.full((2, count, self.points), OUTSIDE, dtype=np.int32)
        for view in (0, 1):
            digits[view][:, self.inside] = OWN * stones[:, view] + OTHER * stones[:, 1 - view]
        self.empty = np.zeros((count, self.points), dtype=bool)
        self.empty[:, self.inside] = ~stones.any(axis=1)
        self.steps = np.array([down * self.width + right for down, right in DIRECTIONS])
        self.numbers = np.zeros((2, count, len(DIRECTIONS), self.points), dtype=np.int32)
        for direction, step in enumerate(self.steps.tolist()):
            for place, power in zip(patterns.places.tolist(), patterns.powers.tolist(), strict=True):
                self.numbers[:, :, direction, self.inside] += power * digits[:, :, self.inside + place * step]


class PatternPolicy:
    """An evaluator of Gomoku's states by a table of patterns: the policy's probabilities, and the result of one rollout.

    Args:
        weights: [patterns] the weight of each pattern.
        n_in_row: the length of a winning row.
        rng: draws the moves of the rollouts.
    """

    def __init__(self, weights: np.ndarray, n_in_row: int, rng: np.random.Generator) -> None:
        self._patterns = LinePatterns(n_in_row)
        self._factors = np.exp(weights[self._patterns.mirrored].astype(np.float64))
        self._rng = rng
        # A stone at p is a digit of the patterns of the points p - place * step.
        self._seen_from = -self._patterns.places
        self.moves = 0  # of all rollouts so far

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See StateEvaluator; none of the games in these states [N, 9, H, W] is over."""
        boards = PatternBoards(states, self._patterns)
        likely = np.where(boards.empty, self._factors[boards.numbers].prod(axis=2), 0.0)  # [2, N, points], not normalised
        first = likely[0][:, boards.inside]
        probs = (first / first.sum(axis=1, keepdims=True)).astype(np.float32)
        return probs, self._results(boards, likely)

    def _results(self, boards: PatternBoards, likely: np.ndarray) -> np.ndarray:
        """Play the games to their ends, and return the results [N] float32 for the player to move at the start."""
        patterns, numbers = self._patterns, boards.numbers
        results = np.zeros(numbers.shape[1], dtype=np.float32)
        games = np.arange(len(results))
        around = boards.steps[:, None] * self._seen_from  # [4, places]
        row = np.arange(len(DIRECTIONS))
        view = 0
        while True:
            live = likely[view].any(axis=1)
            if 2 * np.count_nonzero(live) <= len(live):  # leave out games that are over, not at every step
                games, likely, numbers = games[live], likely[:, live], numbers[:, live]
            if not games.size:
                return results
            of = np.arange(len(games))
            moves = draw_moves(likely[view], self._rng)  # 0, in the margin, in a game that is over
            played = likely[view, of, moves] > 0
            self.moves += int(played.sum())
            won = played & patterns.completes[numbers[view, of[:, None], row, moves[:, None]]].any(axis=1)
            results[games[won]] = 1 if view == 0 else -1
            likely[:, won] = 0
            of, moves = of[played & ~won], moves[played & ~won]
            likely[:, of, moves] = 0
            near = moves[:, None, None] + around
            for seen, digit in ((view, OWN), (1 - view, OTHER)):
                at = (seen, of[:, None, None], row[:, None], near)
                before = numbers[at]
                after = before + digit * patterns.powers
                numbers[at] = after
                likely[seen, of[:, None, None], near] *= self._factors[after] / self._factors[before]
            view = 1 - view


def pattern_numbers(states: np.ndarray, patterns: LinePatterns) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers [N, H * W, 4] of all points' patterns for the side to move, and which points are empty [N, H * W]."""
    boards = PatternBoards(states, patterns)
    return boards.numbers[0][:, :, boards.inside].transpose(0, 2, 1), boards.empty[:, boards.inside]


def _log_probs(weights: torch.Tensor, states: np.ndarray, patterns: LinePatterns) -> torch.Tensor:
    """Return the policy's log probabilities [N, H * W]; -inf on taken points."""
    numbers, empty = pattern_numbers(states, patterns)
    logits = weights[torch.from_numpy(patterns.mirrored[numbers])].sum(dim=2)
    return logits.masked_fill(~torch.from_numpy(empty), -torch.inf).log_softmax(dim=1)


def learn_patterns(settings: RolloutSettings, n_in_row: int, seed: int, train: Positions) -> torch.Tensor:
    """Return the weights [patterns] float32 that make the teacher's moves likely: cross entropy, by Adam, from zeros."""
    patterns, rng = LinePatterns(n_in_row), np.random.default_rng([seed, 5])
    weights = torch.zeros(len(patterns), requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=settings.learning_rate, weight_decay=settings.weight_decay)
    for _ in range(-(-settings.samples // settings.batch_size)):
        states, best, _ = train.batch(*_drawn(len(train), settings.batch_size, rng))
        loss = -_log_probs(weights, states, patterns).gather(1, torch.from_numpy(best.astype(np.int64))[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return weights.detach()


def _drawn(positions: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw positions and a symmetry for each."""
    return rng.integers(positions, size=count), rng.integers(8, size=count)


def measured_policy(weights: torch.Tensor, n_in_row: int, seed: int, held_back: Positions) -> dict[str, Any]:
    """Return how well a policy predicts the teacher's moves, and what a move of its rollouts costs.

    Returns:
        The numbers of held-back positions, of those whose move is the policy's first, or among its first five, as shares; a
        tie counts with the chance that its move is drawn. Then the mean cross entropy in nats, that of a uniform policy, and
        microseconds of CPU time for each move of a rollout.
    """
    patterns, rng = LinePatterns(n_in_row), np.random.default_rng([seed, 6])
    chosen = np.arange(min(MEASURED, len(held_back)))
    states, best, _ = held_back.batch(chosen, np.zeros(len(chosen), dtype=np.int64))
    moves = torch.from_numpy(best.astype(np.int64))[:, None]
    log_probs = _log_probs(weights, states, patterns)
    of_best = log_probs.gather(1, moves)
    ahead = (log_probs > of_best + ROUNDING).sum(dim=1)
    tied = ((log_probs - of_best).abs() <= ROUNDING).sum(dim=1)  # common, as one table serves all directions

    def hits(places: int) -> float:
        """Return the share of the moves in the first places, for which tied moves are drawn."""
        return round(float(((places - ahead) / tied).clamp(0, 1).double().mean()), 4)

    uniform = np.log((states[:, :2].sum(axis=1) == 0).sum(axis=(1, 2)))
    policy = PatternPolicy(weights.numpy(), n_in_row, rng)
    begin = time.process_time()
    policy(states[np.arange(TIMED_GAMES) % len(states)])
    cpu_s = time.process_time() - begin
    return {
        "held_back_positions": len(chosen),
        "top_1": hits(1),
        "top_5": hits(5),
        "cross_entropy": round(float(-of_best.mean()), 4),
        "cross_entropy_of_uniform": round(float(uniform.mean()), 4),
        "us_a_move": round(1e6 * cpu_s / policy.moves, 1),
    }


def run_rollout(config: StagesConfig, run: Path, games: Sequence[str]) -> dict[str, Any]:
    """Learn the rollout policy from the teacher's games, and write it and its measurements to the folder `rollout` of the run.

    Raises:
        CallError: the game has no rows, or they are too long for patterns.
        GamesError: the games cannot be used.
    """
    settings, n_in_row = config.rollout, config.n_in_row
    if settings is None or n_in_row is None:
        raise CallError(
            f"expected a game of rows, since the patterns of the rollout policy lie along lines; got {config.rules.name}: skip "
            'this stage, and search with rollout = "random" or "policy"'
        )
    if n_in_row > LONGEST_ROW:
        raise CallError(f"expected n_in_row of at most {LONGEST_ROW} for a policy over patterns; got {n_in_row}")
    folder, begin = run / "rollout", time.process_time()
    train, held_back = load_positions(games, config.rules, config.supervised.td_lambda, config.supervised.score_scale)
    weights = learn_patterns(settings, n_in_row, config.seed, train)
    remedy = "learn again with a smaller learning_rate in [rollout] of the settings"
    expect_finite([weights], f"{settings.samples} samples", folder / "checkpoint.pt", remedy)
    result = {"positions": len(train), "samples": settings.samples, "cpu_s": round(time.process_time() - begin)}
    result |= measured_policy(weights, n_in_row, config.seed, held_back)
    folder.mkdir(parents=True, exist_ok=True)
    save_checkpoint(folder / "checkpoint.pt", {"n_in_row": n_in_row, "samples": settings.samples, "weights": weights})
    write_stage_result(folder, result)
    return result


def load_pattern_policy(folder: Path, n_in_row: int | None, rng: np.random.Generator) -> PatternPolicy:
    """Load the policy of a run.

    Raises:
        CallError: the stage has not been run, or it was run for rows of another length.
    """
    state = load_checkpoint(folder / "checkpoint.pt")
    if state["n_in_row"] != n_in_row:
        raise CallError(f"expected patterns of {n_in_row} in a row in {folder}; they are of {state['n_in_row']}")
    return PatternPolicy(state["weights"].numpy(), state["n_in_row"], rng)
