"""The batch on which the checks of a training step call it, one step, and what the step shows (handout 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.network_cases import BATCH_SIZE, BLOCK, HEIGHT, WIDTH, Batch, fitted_network, heads_of
from grader.judge.support.objectives import HANDOUT, LossDiagnosis, Outputs, PossibleOutputs, read_loss
from grader.judge.support.oracle import Heads, Oracle
from grader.judge.support.ruling import Ruling

SAME_OUTPUTS = 1e-6
SMALL_LR = 1e-4  # of a step that is too short to overshoot
FIRST = "conv2d_1.weight"
# Batch norm subtracts the mean, and with it these biases, so that in train mode they have no gradient.
BEFORE_BATCH_NORM = tuple(f"{layer}.bias" for layer in ("resnet.0.0", "resnet.0.3", "conv2d_2", "conv2d_3"))


def ask_for_batch(rng: Random, oracle: Oracle) -> Batch:
    """Return a batch with the outputs of the handout's network."""
    batch, right = oracle.ask("batch", Batch, rng)
    batch.right = right
    return batch


def fitted_batch(worker: Worker, ruling: Ruling, batch: Batch) -> Batch:
    """Return the batch with weights for the student's network; without right outputs if that has other layers."""
    network = fitted_network(worker, batch.weights, width=WIDTH, height=HEIGHT, block=BLOCK)
    ruling.message = network.remark
    return batch if network.has_right_layers else batch.with_other_network(network)


def first_layer(batch: Batch) -> str:
    """Return the name of the weights that see the planes; a network with other layers may have another one."""
    planes = batch.states.shape[1]
    return next((key for key, w in batch.weights.items() if w.ndim == 4 and w.shape[1] == planes), FIRST)


def train(worker: Worker, batch: Batch, lr: float) -> tuple[list[float], dict[str, np.ndarray]]:
    """Take one step from the batch's weights; return the numbers that train_step returns, and the weights afterwards.

    The check of the loss decides whether these numbers are right.
    """
    worker.call("net_create", **batch.size, weights=batch.weights)
    before = worker.call("net_weights")
    # A first call may find the network in train mode.
    _, outputs, repeated = (heads_of(worker, batch.states) for _ in range(3))
    if not are_same(outputs, repeated):
        raise StudentFault("policy_value returns different outputs each time it is called, so they could not show a step.")
    returned: list[float] = next(iter(batch.step(worker, lr)), [])
    after = worker.call("net_weights")
    if not all(np.isfinite(weights).all() for weights in after.values()):
        raise StudentFault(f"After a step at lr {lr:g} some of the network's weights are not finite numbers.")
    changed = not are_equal(before, after)
    again = heads_of(worker, batch.states)
    if lr > 0 and changed and are_same(outputs, again):
        raise StudentFault("train_step changes the state_dict but not the outputs: those are not the network's weights.")
    return returned, after


def are_equal(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    """Return whether two sets of weights have the same entries."""
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def are_same(first: Heads, second: Heads) -> bool:
    """Return whether outputs differ by no more than what rounding could explain; NaN is the same as NaN."""
    return all(
        one.shape == other.shape
        and np.allclose(one.astype(float), other.astype(float), rtol=0, atol=SAME_OUTPUTS, equal_nan=True)
        for one, other in zip(first, second, strict=True)
    )


def change(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    if key not in before or key not in after or after[key].shape != before[key].shape:
        raise StudentFault(f"{key} is missing from the model's state_dict after a training step, or has another shape.")
    return after[key].astype(float) - before[key].astype(float)


def right_outputs(batch: Batch, train_mode: bool = True) -> Outputs:
    """Return the outputs of the handout's network with the batch's weights."""
    mode = "train" if train_mode else "eval"
    return outputs_of((batch.right[f"{mode} log_probs"], batch.right[f"{mode} value"]))


def outputs_of(heads: Heads) -> Outputs:
    return Outputs(heads[0].astype(float), heads[1][:, 0].astype(float))


def possible_outputs(worker: Worker, batch: Batch) -> PossibleOutputs:
    """Return the outputs that the network may have had in a step from the batch's weights.

    The first ones are those of the handout's network. The outputs of the student's own network follow, since network.outputs
    checks those, and there are outputs in eval mode, since train_step.train_mode checks the mode.
    """
    worker.call("net_create", **batch.size, weights=batch.weights)
    of_modes = []
    for train_mode in (True, False):
        outputs = [right_outputs(batch, train_mode)] if batch.right else []
        log_probs, value = worker.call("net_forward", states=batch.states, train_mode=train_mode)
        if log_probs.shape == batch.targets.pi.shape and value.shape == (BATCH_SIZE, 1):
            outputs.append(Outputs(log_probs.astype(float), value[:, 0].astype(float)))
        of_modes.append(outputs)
    return PossibleOutputs(*of_modes)


def raises_loss(worker: Worker, batch: Batch) -> bool:
    """Return whether a small step raises the handout's loss on its own batch, as one along the gradient does.

    This takes a step from the batch's weights.
    """
    before = possible_outputs(worker, batch).train_mode[-1:]
    train(worker, batch, lr=SMALL_LR)
    after = worker.call("net_forward", states=batch.states, train_mode=True)
    return any(HANDOUT.loss(outputs_of(after), batch.targets) > HANDOUT.loss(each, batch.targets) for each in before)


def read_returned(
    returned: list[float], possible: PossibleOutputs, batch: Batch, after: Mapping[str, np.ndarray]
) -> LossDiagnosis | None:
    """Return the formula behind the loss that train_step returned with an entropy, or None.

    Args:
        after: the weights after the step, with batch norm's statistics as forward left them before the loss was computed.
    """
    return read_loss(returned[0], possible, batch.targets, {**after, **batch.trained}) if len(returned) == 2 else None


def entropy_of(outputs: Outputs) -> float:
    return float(-np.mean(np.sum(np.exp(outputs.log_probs) * outputs.log_probs, axis=1)))


def distance(batch: Batch, after: dict[str, np.ndarray]) -> float:
    """Return the Euclidean distance by which the trained weights moved."""
    return float(np.sqrt(sum(np.sum(change(batch.weights, after, key) ** 2) for key in batch.trained)))
