"""A training whose steps are given and watched from outside: does `train_step` learn what it is told (handout 5.3, 5.5)?

The student's code plays the games and takes the steps. Which samples a step gets is drawn here, and the weights are handed over
after every step, so that the average of them, which is what is judged, is computed here too.

Whether the steps follow their targets is seen from what nobody can know who does not look at them. Equal states come up in
many games with other visits and other results. The rest that a target keeps when the mean of its state's targets is taken away
is noise that no solver foretells, and the mean of this rest over all samples of a state is 0: a step that ignores its targets
is uncorrelated with the gradient of the rest, whatever else it learns. A step of any right optimiser is not. Momentum carries
former steps along, so what is compared is what a step adds to nine tenths of the one before (Adam, Kingma & Ba 2015, whose
beta_1 is 0.9); each weight is measured by how large its own gradients usually are, as Adam does.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np

from common.weights import read_sizes
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.trusted.network import gradients
from training.symmetries import Symmetries

STEP_LIMIT_S = 600.0
SIZE, POINTS, PLANES = 3, 9, 9
# As train.py has them for 3x3.
BUFFER_POSITIONS, BATCH_SIZE, UPDATES_PER_GAME = 5000, 64, 3
LEARNING_RATE, GAME_BATCH_NUM = 1e-3, 2000
AVERAGING = 0.98

MOMENTUM = 0.9
WATCHED_SHARE = 1 / 3  # of the steps, drawn: a gradient takes about as long as a step
USUAL = 0.9  # share of the former squares in what a weight's gradients usually are
TURNS = Symmetries(SIZE, SIZE)


class GameSamples(NamedTuple):
    """What a game of self-play gives to learn from.

    Attributes:
        states: [N, 9, 3, 3], row 0 the top row.
        probs: [N, 9] in order of moves.
        winners: [N] in {1, 0, -1}, for the side to move.
    """

    states: np.ndarray
    probs: np.ndarray
    winners: np.ndarray

    @classmethod
    def from_reply(cls, reply: dict[str, np.ndarray]) -> GameSamples:
        """From a worker's reply; StudentFault for arrays of other shapes or values."""
        game = cls(**reply)
        count = len(game.states) if game.states.ndim else 0
        shapes = [array.shape for array in game]
        if count == 0 or shapes != [(count, PLANES, SIZE, SIZE), (count, POINTS), (count,)]:
            raise StudentFault(f"A game of self-play gave states, probabilities and winners of shapes {shapes}.")
        if not all(np.isfinite(array).all() for array in game):
            raise StudentFault("A game of self-play gave states, probabilities or winners that are not finite.")
        return game

    def in_all_symmetries(self) -> GameSamples:
        """Each sample eight times."""
        which = np.repeat(np.arange(TURNS.count), len(self.states))
        states, probs, winners = (np.concatenate([array] * TURNS.count) for array in self)
        return GameSamples(TURNS.turn_states(states, which), TURNS.turn_policies(probs, which), winners)


class Samples:
    """The latest samples, each with the number of its state: equal states have equal numbers."""

    def __init__(self) -> None:
        self._states: list[np.ndarray] = []
        self._probs = np.zeros((BUFFER_POSITIONS, POINTS))
        self._winners = np.zeros(BUFFER_POSITIONS)
        self._state_numbers = np.zeros(BUFFER_POSITIONS, dtype=np.int64)
        self._numbers: dict[bytes, int] = {}
        self._oldest = 0  # where the next sample goes once all places are taken

    def __len__(self) -> int:
        return len(self._states)

    def extend(self, game: GameSamples) -> None:
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
        """A batch, and the places of its samples."""
        drawn = numbers.choice(len(self), BATCH_SIZE, replace=False)
        states = np.stack([self._states[place] for place in drawn])
        return GameSamples(states, self._probs[drawn], self._winners[drawn].astype(np.float32)), drawn

    def rests(self, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the targets of these samples keep without the mean of their states' targets: probs [N, 9], winners [N]."""
        states = self._state_numbers[: len(self)]
        probs, winners = self._probs[drawn].copy(), self._winners[drawn].copy()
        for number in np.unique(states[drawn]):
            equal, here = np.flatnonzero(states == number), states[drawn] == number
            probs[here] -= self._probs[equal].mean(axis=0)
            winners[here] -= self._winners[equal].mean()
        return probs, winners


class WatchedTraining:
    """A training of the worker's network from given weights.

    Args:
        worker: which has started the training from `beginning`.
        rng: of the batches, and of the steps that are watched.

    Attributes:
        average: the averaged weights.
        watched: steps that tell something, so far.
    """

    def __init__(self, worker: Worker, beginning: dict[str, np.ndarray], rng: Random) -> None:
        self._worker = worker
        self._numbers = np.random.default_rng(rng.getrandbits(64))
        self._samples = Samples()
        self._weights = [beginning]  # the latest, and those before them
        self._games = 0
        self._usual: dict[str, np.ndarray] = {}
        self._agreement, self._strength = 0.0, 0.0
        self.average = {key: np.array(value) for key, value in beginning.items()}
        self.watched = 0

    @property
    def following(self) -> float:
        """Mean correlation of the steps with the rests of their targets, weighted by how large those were; -1 to 1."""
        return self._agreement / self._strength if self._strength > 0 else 0.0

    def learn(self, game: GameSamples) -> None:
        """Take the game's samples in, in all symmetries, and make the steps that follow a game.

        Raises:
            StudentFault: the network's weights cannot be read any more.
        """
        self._samples.extend(game.in_all_symmetries())
        learn_rate = LEARNING_RATE * (1 - 0.9 * min(1.0, (self._games + 1) / GAME_BATCH_NUM))
        self._games += 1
        if len(self._samples) < BATCH_SIZE:
            return
        batches = [self._samples.draw(self._numbers) for _ in range(UPDATES_PER_GAME)]
        told = GameSamples(*(np.stack(parts) for parts in zip(*(batch for batch, _ in batches), strict=True)))
        handed_over = self._worker.call("train_steps", limit_s=STEP_LIMIT_S, **told._asdict(), lr=learn_rate)
        if len(handed_over) != len(batches):
            raise StudentFault(f"After {len(batches)} training steps there were weights of {len(handed_over)}.")
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
        """Compare the latest step with the rests of its targets."""
        earlier, before, after = self._weights
        try:
            readable = read_sizes(before)[:2] == (SIZE, SIZE)
        except ValueError:
            readable = False  # another network than the handout's, which no program can vouch for in any case
        probs, winners = self._samples.rests(drawn)
        strength = float(np.abs(probs).sum(axis=1).mean() + np.abs(winners).mean())
        if not readable or strength == 0:
            return
        count = len(winners)
        # d/dW of mean (z - v)^2 - mean sum pi log p, as far as it comes from the rests.
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
