"""A training run in which the grader chooses the batches and watches the steps, to see whether `train_step` learns from its
targets (handout 5.3, 5.5).

The student's code plays the games and takes the steps. The grader draws the samples of each step and gets the weights back
after every step, so it also computes their average, which is what counts.

To see whether a step follows its targets, look at a part of them that cannot be guessed. The same state comes up in many
games, with different visits and different results. Subtract from each target the mean over its state: the remainder is noise
that no solver can predict, and its mean over all samples of a state is 0. A step that ignores its targets is therefore
uncorrelated with the gradient of the remainder, whatever else it learns; a step of any correct optimiser is correlated with
it. Momentum repeats earlier steps, so nine tenths of the previous step are subtracted (Adam, Kingma & Ba 2015, with
beta_1 = 0.9). Each weight is measured in units of the usual size of its own gradients, as in Adam.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np

from Board.symmetries import Symmetries
from common.weights import PLANES, read_sizes
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.own_search import CALL_LIMIT_S
from grader.judge.trusted.network import gradients

SIZE, POINTS = 3, 9
# The settings of train.py for 3x3.
BUFFER_POSITIONS, BATCH_SIZE, UPDATES_PER_GAME = 5000, 64, 3
LEARNING_RATE, GAME_BATCH_NUM = 1e-3, 2000
AVERAGING = 0.98

MOMENTUM = 0.9
WATCHED_SHARE = 1 / 3  # share of steps to watch, chosen at random, since a gradient takes about as long as a step
USUAL = 0.9  # weight of the earlier squares in the running mean of a weight's squared gradients
TURNS = Symmetries(SIZE, SIZE)


class GameSamples(NamedTuple):
    """The samples of one game of self-play.

    Attributes:
        states: [N, 9, 3, 3]; row 0 is the top row.
        probs: [N, 9] in order of moves.
        winners: [N] in {1, 0, -1}, for the side to move.
    """

    states: np.ndarray
    probs: np.ndarray
    winners: np.ndarray

    @classmethod
    def from_reply(cls, reply: dict[str, np.ndarray]) -> GameSamples:
        """Read a worker's reply; raise StudentFault if an array has another shape or values that are not finite."""
        game = cls(**reply)
        count = len(game.states) if game.states.ndim else 0
        shapes = [array.shape for array in game]
        if count == 0 or shapes != [(count, PLANES, SIZE, SIZE), (count, POINTS), (count,)]:
            raise StudentFault(f"A game of self-play gave states, probabilities and winners of shapes {shapes}.")
        if not all(np.isfinite(array).all() for array in game):
            raise StudentFault("A game of self-play gave states, probabilities or winners that are not finite.")
        return game

    def in_all_symmetries(self) -> GameSamples:
        """Return each sample in all eight symmetries."""
        which = np.repeat(np.arange(TURNS.count), len(self.states))
        states, probs, winners = (np.concatenate([array] * TURNS.count) for array in self)
        return GameSamples(TURNS.turn_states(states, which), TURNS.turn_policies(probs, which), winners)


class Samples:
    """The buffer of the latest samples, each with the number of its state; equal states have equal numbers."""

    def __init__(self) -> None:
        self._states: list[np.ndarray] = []
        self._probs = np.zeros((BUFFER_POSITIONS, POINTS))
        self._winners = np.zeros(BUFFER_POSITIONS)
        self._state_numbers = np.zeros(BUFFER_POSITIONS, dtype=np.int64)
        self._numbers: dict[bytes, int] = {}
        self._oldest = 0  # the place of the next sample once the buffer is full

    def __len__(self) -> int:
        return len(self._states)

    def extend(self, game: GameSamples) -> None:
        if not self._states:
            self._probs = self._probs.astype(game.probs.dtype)  # train_step gets what get_action has returned, as in train.py
        for state, probs, winner in zip(*game, strict=True):
            place = len(self)
            if place < BUFFER_POSITIONS:
                self._states.append(state)
            else:
                place, self._oldest = self._oldest, (self._oldest + 1) % BUFFER_POSITIONS
                self._states[place] = state
            self._probs[place], self._winners[place] = probs, winner
            number = self._numbers.setdefault(state.astype(np.float32).tobytes(), len(self._numbers))
            self._state_numbers[place] = number

    def draw(self, numbers: np.random.Generator) -> tuple[GameSamples, np.ndarray]:
        """Draw a batch; return it with the places of its samples."""
        drawn = numbers.choice(len(self), BATCH_SIZE, replace=False)
        states = np.stack([self._states[place] for place in drawn])
        return GameSamples(states, self._probs[drawn], self._winners[drawn].astype(np.float32)), drawn

    def remainders(self, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the targets of these samples minus the means over their states: probs [N, 9], winners [N]."""
        states = self._state_numbers[: len(self)]
        probs, winners = self._probs[drawn].astype(float), self._winners[drawn].copy()
        for number in np.unique(states[drawn]):
            equal, here = np.flatnonzero(states == number), states[drawn] == number
            probs[here] -= self._probs[equal].mean(axis=0, dtype=float)
            winners[here] -= self._winners[equal].mean()
        return probs, winners


class WatchedTraining:
    """A training run of the worker's network from given weights.

    Args:
        worker: the worker, which has started training from `beginning`.
        rng: draws the batches and chooses the steps to watch.

    Attributes:
        average: the averaged weights.
        watched: the number of informative steps watched so far.
    """

    def __init__(self, worker: Worker, beginning: dict[str, np.ndarray], rng: Random) -> None:
        self._worker = worker
        self._numbers = np.random.default_rng(rng.getrandbits(64))
        self._samples = Samples()
        self._weights = [beginning]  # the latest weights come last; up to three are kept
        self._games = 0
        self._usual: dict[str, np.ndarray] = {}
        self._agreement, self._strength = 0.0, 0.0
        self.average = {key: np.array(value) for key, value in beginning.items()}
        self.watched = 0

    @property
    def following(self) -> float:
        """The mean correlation, -1 to 1, of steps with the remainders of their targets, weighted by the remainders' size."""
        return self._agreement / self._strength if self._strength > 0 else 0.0

    def learn(self, game: GameSamples) -> None:
        """Add the game's samples in all symmetries, and take the steps that follow a game.

        Raises:
            StudentFault: the network's weights can no longer be read.
        """
        self._samples.extend(game.in_all_symmetries())
        learn_rate = LEARNING_RATE * (1 - 0.9 * min(1.0, (self._games + 1) / GAME_BATCH_NUM))
        self._games += 1
        if len(self._samples) < BATCH_SIZE:
            return
        batches = [self._samples.draw(self._numbers) for _ in range(UPDATES_PER_GAME)]
        sent = GameSamples(*(np.stack(parts) for parts in zip(*(batch for batch, _ in batches), strict=True)))
        handed_over = self._worker.call("train_steps", limit_s=CALL_LIMIT_S, **sent._asdict(), lr=learn_rate)
        if len(handed_over) != len(batches):
            raise StudentFault(f"{len(batches)} training steps returned weights of {len(handed_over)} steps.")
        for (batch, drawn), weights in zip(batches, handed_over, strict=True):
            self._take(weights)
            if self._numbers.random() < WATCHED_SHARE and len(self._weights) == 3:
                self._watch(batch, drawn)

    def _take(self, weights: dict[str, np.ndarray]) -> None:
        shapes, before = ({key: w.shape for key, w in each.items()} for each in (weights, self._weights[-1]))
        if shapes != before:
            raise StudentFault("A training step changed the keys or shapes of the model's state_dict.")
        self._weights = [*self._weights[-2:], weights]
        for key, value in weights.items():
            if self.average[key].dtype.kind == "f":
                self.average[key] += (1 - AVERAGING) * (value - self.average[key])

    def _watch(self, batch: GameSamples, drawn: np.ndarray) -> None:
        """Compare the latest step with the remainders of its targets."""
        earlier, before, after = self._weights
        try:
            readable = read_sizes(before)[:2] == (SIZE, SIZE)
        except ValueError:
            readable = False  # this is not the handout's network, so a person has to look in any case
        probs, winners = self._samples.remainders(drawn)
        strength = float(np.abs(probs).sum(axis=1).mean() + np.abs(winners).mean())
        if not readable or strength == 0:
            return
        count = len(winners)
        # The part of d/dW [mean (z - v)^2 - mean sum pi log p] that comes from the remainders.
        pulls = gradients(before, batch.states, -probs / count, -2 * winners / count)
        parts = []
        for key, pull in pulls.items():
            self._usual[key] = USUAL * self._usual.get(key, pull**2) + (1 - USUAL) * pull**2
            added = (after[key] - before[key]) - MOMENTUM * (before[key] - earlier[key])
            parts.append((-added.reshape(-1), pull.reshape(-1), np.sqrt(self._usual[key]).reshape(-1)))
        added, pull, scale = (np.concatenate(part).astype(np.float32) for part in zip(*parts, strict=True))
        expected = pull / (scale + 1e-3 * scale.max() + 1e-12)
        length = float(np.linalg.norm(added) * np.linalg.norm(expected))
        if not np.isfinite(length):
            return
        self._agreement += strength * (float(added @ expected) / length if length > 0 else 0.0)
        self._strength += strength
        self.watched += 1
