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

from collections import deque
from random import Random
from typing import NamedTuple

import numpy as np

from grader.errors import StudentFault
from grader.trusted_network import gradients, read_sizes
from grader.worker_client import Worker
from training.symmetries import Symmetries

STEP_LIMIT_S = 600.0
SIZE, POINTS, PLANES = 3, 9, 9
# As train.py has them for 3x3.
BUFFER_SIZE, BATCH_SIZE, UPDATES_PER_GAME = 5000, 64, 3
LEARN_RATE, GAME_BATCH_NUM = 1e-3, 2000
AVERAGING = 0.98

MOMENTUM = 0.9
WATCHED_SHARE = 0.5  # of the steps, drawn: a gradient takes about as long as a step
USUAL = 0.9  # share of the former squares in what a weight's gradients usually are
SYMMETRIES = Symmetries(SIZE, SIZE)


class Game(NamedTuple):
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
    def from_reply(cls, reply: dict[str, np.ndarray]) -> Game:
        """From a worker's reply; StudentFault for arrays of other shapes or values."""
        game = cls(**reply)
        count = len(game.states) if game.states.ndim else 0
        shapes = [array.shape for array in game]
        if count == 0 or shapes != [(count, PLANES, SIZE, SIZE), (count, POINTS), (count,)]:
            raise StudentFault(f"A game of self-play gave states, probabilities and winners of shapes {shapes}.")
        if not all(np.isfinite(array).all() for array in game):
            raise StudentFault("A game of self-play gave states, probabilities or winners that are not finite.")
        return game

    def in_all_symmetries(self) -> Game:
        """Each sample eight times."""
        which = np.repeat(np.arange(SYMMETRIES.count), len(self.states))
        states, probs, winners = (np.concatenate([array] * SYMMETRIES.count) for array in self)
        return Game(SYMMETRIES.turn_states(states, which), SYMMETRIES.turn_policies(probs, which), winners)


class Samples:
    """The latest samples, each with the number of its state: equal states have equal numbers."""

    def __init__(self) -> None:
        self._samples: deque[tuple[np.ndarray, np.ndarray, float, int]] = deque(maxlen=BUFFER_SIZE)
        self._numbers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._samples)

    def extend(self, game: Game) -> None:
        for state, probs, winner in zip(*game, strict=True):
            number = self._numbers.setdefault(state.astype(np.float32).tobytes(), len(self._numbers))
            self._samples.append((state, probs, float(winner), number))

    def draw(self, numbers: np.random.Generator) -> tuple[Game, np.ndarray]:
        """A batch, and which samples of the buffer it is made of."""
        drawn = numbers.choice(len(self), BATCH_SIZE, replace=False)
        states, probs, winners, _ = zip(*(self._samples[i] for i in drawn), strict=True)
        return Game(np.stack(states), np.stack(probs), np.array(winners, dtype=np.float32)), drawn

    def rests(self, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the targets of these samples keep without the mean of their states' targets: probs [N, 9], winners [N]."""
        _, all_probs, all_winners, all_states = zip(*self._samples, strict=True)
        probs, winners, states = np.stack(all_probs), np.array(all_winners), np.array(all_states)
        counts = np.maximum(1, np.bincount(states))
        mean_winners = np.bincount(states, winners) / counts
        mean_probs = np.stack([np.bincount(states, column) / counts for column in probs.T], axis=1)
        return probs[drawn] - mean_probs[states[drawn]], winners[drawn] - mean_winners[states[drawn]]


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

    def learn(self, game: Game) -> None:
        """Take the game's samples in, in all symmetries, and make the steps that follow a game.

        Raises:
            StudentFault: the network's weights cannot be read any more.
        """
        self._samples.extend(game.in_all_symmetries())
        learn_rate = LEARN_RATE * (1 - 0.9 * min(1.0, (self._games + 1) / GAME_BATCH_NUM))
        self._games += 1
        if len(self._samples) < BATCH_SIZE:
            return
        batches = [self._samples.draw(self._numbers) for _ in range(UPDATES_PER_GAME)]
        told = Game(*(np.stack(parts) for parts in zip(*(batch for batch, _ in batches), strict=True)))
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

    def _watch(self, batch: Game, drawn: np.ndarray) -> None:
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
        pairs = []
        for key, pull in pulls.items():
            usual = self._usual.get(key, pull**2)
            self._usual[key] = USUAL * usual + (1 - USUAL) * pull**2
            added = (after[key].astype(float) - before[key]) - MOMENTUM * (before[key].astype(float) - earlier[key])
            pairs.append((-added.reshape(-1), pull.reshape(-1), np.sqrt(self._usual[key]).reshape(-1)))
        added, pull, scale = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        expected = pull / (scale + 1e-3 * scale.max() + 1e-12)
        length = float(np.linalg.norm(added) * np.linalg.norm(expected))
        if not np.isfinite(length):
            return
        self._agreement += strength * (float(added @ expected) / length if length > 0 else 0.0)
        self._strength += strength
        self.watched += 1
