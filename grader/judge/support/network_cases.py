"""The cases of the network checks, which an oracle answers (`grader.judge.support.oracle`)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import numpy as np

from grader.confinement.worker_client import Worker
from grader.judge.support.board_position import board_at
from grader.judge.support.drawn_positions import random_position, random_states
from grader.judge.support.drawn_weights import random_weights
from grader.judge.support.objectives import Targets
from grader.judge.support.oracle import Answers

OUTPUT_TOLERANCE = 1e-4
SHAPES_OF_OUTPUTS = ((3, 3, 1), (5, 4, 2), (4, 6, 1))  # width, height, residual blocks
SYMMETRY_SIDE = 4
# The eight symmetries of arrays [..., H, W]: k quarter turns, then mirrored or not.
TURNS = [lambda a, k=k, m=m: np.rot90(a, k, (-2, -1))[..., :: -1 if m else 1] for k in range(4) for m in (False, True)]
WIDTH, HEIGHT, BLOCK = 4, 4, 1  # of a batch
BATCH_SIZE = 32
UNUSED_PLANE = 7


class LayersCase:
    """Weights on 3x3, states, and a changed value of each entry of the weights.

    A head can be dead (ReLU), so a case counts only if each change alters the outputs of the handout's network.
    """

    def __init__(self, rng: Random) -> None:
        numbers = np.random.default_rng(rng.randrange(2**31))
        self.weights, self.states = random_weights(3, 3, 1, rng.randrange(2**31)), random_states(rng, 3, 3, 8)
        self.changed = {
            key: w + numbers.uniform(0.2, 0.6, w.shape).astype(np.float32)
            for key, w in self.weights.items()
            if not key.endswith("num_batches_tracked")
        }


class OutputsCase:
    """Weights and states with which both heads are compared."""

    def __init__(self, rng: Random, shape: tuple[int, int, int]) -> None:
        self.width, self.height, self.block = shape
        self.weights = random_weights(*shape, rng.randrange(2**31))
        self.states = random_states(rng, self.width, self.height, 8)


OUTPUTS = {f"outputs {w}x{h}": partial(OutputsCase, shape=(w, h, block)) for w, h, block in SHAPES_OF_OUTPUTS}


class SymmetryCase:
    """A position on a square board, and weights.

    A case counts only if every wrongly undone symmetry shows in the outputs of the handout's network.

    Attributes:
        turned: the position's planes [9, H, W] under each of the eight symmetries.
        moved_to: for each symmetry, [W*H]: the board's move that lies at each move of the turned board.
    """

    def __init__(self, rng: Random) -> None:
        points = np.arange(SYMMETRY_SIDE**2).reshape(SYMMETRY_SIDE, SYMMETRY_SIDE)
        # Moves count rows from the bottom, states from the top.
        self.moved_to = [turn(points[::-1])[::-1].reshape(-1) for turn in TURNS]
        self.weights = random_weights(SYMMETRY_SIDE, SYMMETRY_SIDE, 1, rng.randrange(2**31))
        self.position = random_position(rng, SYMMETRY_SIDE, SYMMETRY_SIDE, SYMMETRY_SIDE, 6)
        state = np.asarray(board_at(self.position).current_state(), dtype=np.float32)
        self.turned = [np.ascontiguousarray(turn(state)) for turn in TURNS]

    def tells_apart(self, probs: np.ndarray, values: np.ndarray) -> bool:
        """Whether the outputs of the turned boards, [8, W*H] and [8, 1], distinguish each symmetry from the others."""
        legal = board_at(self.position).availables
        undone = [[self.undo(other, row)[legal] for other in range(8)] for row in probs]
        right = np.array([undone[k][k] for k in range(8)])
        wrong = [undone[k][other] for k in range(8) for other in range(8) if other != k]
        apart = min(float(np.abs(right - each).max(axis=1).min()) for each in wrong)
        return bool(apart > 20 * OUTPUT_TOLERANCE and np.abs(values + values.T).min() > 20 * OUTPUT_TOLERANCE)

    def undo(self, symmetry: int, probs: np.ndarray) -> np.ndarray:
        """Probabilities [W*H] of the turned board's moves, in order of the board's own moves."""
        back = np.empty(len(probs))
        back[self.moved_to[symmetry]] = probs
        return back


class Batch:
    """Random weights, distinct states, and targets.

    Attributes:
        right: an oracle's answers: the outputs of the handout's network with these weights for the states.
    """

    right: Answers

    def __init__(self, rng: Random) -> None:
        numbers = np.random.default_rng(rng.randrange(2**31))
        self.weights = random_weights(WIDTH, HEIGHT, BLOCK, rng.randrange(2**31))
        # One state with two targets could not be learnt.
        states: dict[bytes, np.ndarray] = {}
        while len(states) < BATCH_SIZE:
            states |= {state.tobytes(): state for state in random_states(rng, WIDTH, HEIGHT, BATCH_SIZE)}
        self.states = np.stack(list(states.values())[:BATCH_SIZE])
        # In an empty plane the data says nothing about the weights, so only regularisation moves them.
        self.states[:, UNUSED_PLANE] = 0.0
        self.targets = Targets(
            pi=numbers.dirichlet(np.full(WIDTH * HEIGHT, 0.5), BATCH_SIZE).astype(np.float32),
            z=numbers.choice([-1.0, 0.0, 1.0], BATCH_SIZE).astype(np.float32),
        )

    @property
    def trained(self) -> dict[str, np.ndarray]:
        """The weights that an optimiser moves: all but batch norm's statistics."""
        return {key: w for key, w in self.weights.items() if "running_" not in key and "num_batches" not in key}

    def step(self, worker: Worker, lr: float, steps: int = 1) -> Any:
        """Take `steps` training steps of the worker's network on this batch: [loss, entropy] of each."""
        return worker.call("net_train", states=self.states, probs=self.targets.pi, winners=self.targets.z, lr=lr, steps=steps)
