"""The cases of the network checks; an oracle (`grader.judge.support.oracle`) gives the correct answers to them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from Board.symmetries import Symmetries
from grader.confinement.plain import have_same_layers
from grader.confinement.worker_client import NOT_WRITTEN, Worker
from grader.errors import StudentFault
from grader.judge.support.board_position import board_at
from grader.judge.support.drawn_positions import planes_of_positions, positions_in_games, random_position, random_states
from grader.judge.support.drawn_weights import random_weights
from grader.judge.support.objectives import Targets, trained_parameters
from grader.judge.support.oracle import Answers, Heads

OUTPUT_TOLERANCE = 1e-4
VALUE_FIRST = "forward returns the value first; expected the log probabilities first, then the value."
SHAPES_OF_OUTPUTS = ((3, 3, 1), (5, 4, 2), (4, 6, 1))  # width, height, residual blocks
SYMMETRY_SIDE = 4
WIDTH, HEIGHT, BLOCK = 4, 4, 1  # board and network of a `Batch`
BATCH_SIZE = 32
UNUSED_PLANE = 7


@dataclass(frozen=True)
class FittedNetwork:
    """The student's network, or what stands in for it, with weights that fit it.

    Attributes:
        size: the arguments of the operation `net_create` but for the weights.
        weights: the given ones if the layers are the handout's.
        has_right_layers: whether they are.
    """

    size: dict[str, Any]
    weights: dict[str, np.ndarray]
    has_right_layers: bool

    @property
    def remark(self) -> str:
        """A sentence for the student if another network stands in, or the empty string."""
        if "stand_in" in self.size:
            return "This was tried with a small network of the grader's, since yours fails (see network.outputs)."
        if "own_policy_value" in self.size:
            return "This was tried with a policy_value of the grader's, since yours fails (see network.outputs)."
        return ""

    def create(self, worker: Worker) -> None:
        """Make the network with its weights."""
        worker.call("net_create", **self.size, weights=self.weights)

    def evaluating(self, worker: Worker) -> FittedNetwork:
        """Make the network with its weights, and return it; if policy_value fails, one of the grader's takes its place.

        Raises:
            StudentFault: policy_value is not written yet.
        """
        self.create(worker)
        if _evaluates(worker, self.size["width"], self.size["height"]):
            return self
        network = replace(self, size={**self.size, "own_policy_value": False})
        network.create(worker)
        return network


def fitted_network(worker: Worker, weights: dict[str, np.ndarray], *, width: int, height: int, block: int) -> FittedNetwork:
    """Return the student's network with these weights, or with its own ones if its layers are others.

    A network that cannot be made, or whose forward fails or returns the value first, is replaced by a small one of the
    grader's: other functions of the student's are tried with that, since network.layers and network.outputs report the fault.
    """
    # By the model's state_dict, since network.load checks whether a file is loaded.
    size: dict[str, Any] = {"width": width, "height": height, "block": block, "by_file": False}
    states = _empty_states(width, height)
    try:
        worker.call("net_create", **size)
        own = worker.call("net_weights")
        heads = [worker.call("net_forward", states=states, train_mode=train_mode) for train_mode in (False, True)]
        if value_comes_first(heads[0], width * height) and not _evaluates(worker, width, height):
            raise StudentFault(VALUE_FIRST)
    except StudentFault as fault:
        size["stand_in"] = True
        try:
            worker.call("net_create", **size)
        except StudentFault:
            raise fault from None  # it is not the network alone
        return FittedNetwork(size, worker.call("net_weights"), False)
    right = have_same_layers(own, weights)
    return FittedNetwork(size, weights if right else own, right)


def value_comes_first(heads: Heads, points: int) -> bool:
    """Return whether the outputs are values, [N, 1] or [N], and log probabilities [N, points], in this order."""
    return heads[0].shape[1:] in ((), (1,)) and heads[1].shape[1:] == (points,)


def _empty_states(width: int, height: int) -> np.ndarray:
    return np.zeros((2, 9, height, width), np.float32)


def _evaluates(worker: Worker, width: int, height: int) -> bool:
    """Return whether policy_value gives probabilities and values, as it does if it knows the order of the outputs."""
    states = _empty_states(width, height)
    try:
        probs, value = worker.call("net_policy_value", states=states)
    except StudentFault as fault:
        if str(fault).startswith(NOT_WRITTEN):
            raise
        return False
    return (probs.size, value.size) == (len(states) * width * height, len(states))


def heads_of(worker: Worker, states: np.ndarray) -> Heads:
    """Return the outputs of policy_value for these states.

    If it fails, which network.outputs reports, they are computed from those of forward.
    """
    try:
        probs, value = worker.call("net_policy_value", states=states)
    except StudentFault:
        log_probs, value = worker.call("net_forward", states=states)
        return np.exp(log_probs), value
    return probs, value


class LayersCase:
    """Weights for 3x3, states, and a changed array for each array of the weights.

    A head can be dead (ReLU), so a case is used only if each change alters the outputs of the handout's network.
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
    """Weights and states for comparing both heads."""

    def __init__(self, rng: Random, shape: tuple[int, int, int]) -> None:
        self.width, self.height, self.block = shape
        self.weights = random_weights(*shape, rng.randrange(2**31))
        self.positions = positions_in_games(rng, self.width, self.height, 8)
        self.states = planes_of_positions(self.positions)


OUTPUTS = {f"outputs {w}x{h}": partial(OutputsCase, shape=(w, h, block)) for w, h, block in SHAPES_OF_OUTPUTS}


class SymmetryCase:
    """A position on a square board, and weights.

    A case is used only if undoing a symmetry wrongly always shows in the outputs of the handout's network.

    Attributes:
        turned: [S, 9, H, W] float32, the position's planes under each symmetry of the board.
    """

    def __init__(self, rng: Random) -> None:
        self._symmetries = Symmetries(SYMMETRY_SIDE, SYMMETRY_SIDE)
        self._all = np.arange(self._symmetries.count)
        self.weights = random_weights(SYMMETRY_SIDE, SYMMETRY_SIDE, 1, rng.randrange(2**31))
        self.position = random_position(rng, SYMMETRY_SIDE, SYMMETRY_SIDE, SYMMETRY_SIDE, 6)
        state = np.asarray(board_at(self.position).current_state(), dtype=np.float32)
        self.turned = self._symmetries.turn_states(np.repeat(state[np.newaxis], len(self._all), axis=0), self._all)

    def tells_apart(self, probs: np.ndarray, values: np.ndarray) -> bool:
        """Return whether the outputs for the turned boards, [S, W*H] and [S, 1], distinguish each symmetry from the others."""
        legal = board_at(self.position).availables
        right = self.undo(probs)[:, legal]
        others = [np.roll(self._all, shift) for shift in self._all[1:]]
        wrong = np.concatenate([self._symmetries.turn_policies_back(probs, other)[:, legal] for other in others])
        apart = np.abs(right[:, np.newaxis] - wrong).max(axis=2).min()
        return bool(apart > 20 * OUTPUT_TOLERANCE and np.abs(values + values.T).min() > 20 * OUTPUT_TOLERANCE)

    def undo(self, probs: np.ndarray) -> np.ndarray:
        """Reorder the turned boards' probabilities [S, W*H] by the moves of the original board."""
        return self._symmetries.turn_policies_back(probs, self._all)


class Batch:
    """Random weights, distinct states, and targets.

    Attributes:
        right: the oracle's answers, which are the outputs of the handout's network for the states with these weights; empty if
            the student's network has other layers.
        size: the arguments of the operation `net_create` but for the weights; see `FittedNetwork`.
    """

    right: Answers

    def __init__(self, rng: Random) -> None:
        numbers = np.random.default_rng(rng.randrange(2**31))
        self.size: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "block": BLOCK, "by_file": False}
        self.weights = random_weights(WIDTH, HEIGHT, BLOCK, rng.randrange(2**31))
        # No network could learn two targets for one state.
        states: dict[bytes, np.ndarray] = {}
        while len(states) < BATCH_SIZE:
            states |= {state.tobytes(): state for state in random_states(rng, WIDTH, HEIGHT, BATCH_SIZE)}
        self.states = np.stack(list(states.values())[:BATCH_SIZE])
        # The data has no effect on the weights of an empty plane, so only regularisation changes them.
        self.states[:, UNUSED_PLANE] = 0.0
        self.targets = Targets(
            pi=numbers.dirichlet(np.full(WIDTH * HEIGHT, 0.5), BATCH_SIZE).astype(np.float32),
            z=numbers.choice([-1.0, 0.0, 1.0], BATCH_SIZE).astype(np.float32),
        )

    def with_other_targets(self) -> Batch:
        """Return the same states with the values turned round and the policies of other states."""
        other = copy.copy(self)
        other.targets = Targets(pi=np.roll(self.targets.pi, 1, axis=0), z=-self.targets.z)
        return other

    def with_other_network(self, network: FittedNetwork) -> Batch:
        """Return the same batch for a network with other layers, whose right outputs are not known."""
        other = copy.copy(self)
        other.weights, other.size, other.right = network.weights, network.size, {}
        return other

    @property
    def trained(self) -> dict[str, np.ndarray]:
        """The weights that an optimiser updates: all but the statistics of batch norm."""
        return trained_parameters(self.weights)

    def step(self, worker: Worker, lr: float, steps: int = 1) -> Any:
        """Train the worker's network on this batch for `steps` steps; return [loss, entropy] of each step."""
        return worker.call("net_train", states=self.states, probs=self.targets.pi, winners=self.targets.z, lr=lr, steps=steps)
