"""Part 2, the training step: repeated steps learn (handout 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.network_cases import BATCH_SIZE, HEIGHT, WIDTH, Batch, heads_of
from grader.judge.support.objectives import HANDOUT, Objective, Outputs, learnt_objective, no_error
from grader.judge.support.oracle import Heads, Oracle
from grader.judge.support.ruling import Ruling
from grader.judge.support.training_steps import (
    BEFORE_BATCH_NORM,
    are_equal,
    are_same,
    ask_for_batch,
    change,
    distance,
    fitted_batch,
    outputs_of,
    possible_outputs,
    raises_loss,
    read_returned,
    train,
)

ENOUGH = 0.25  # the largest share of the avoidable loss that may remain
STEPS, BEGINNINGS = 60, 5
ONE_HEAD = (Objective("", policy_error=no_error), Objective("", value_error=no_error))
FALL = 0.25  # the least share of itself by which a loss that is not recognised has to fall


@pytest.fixture
def batch(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> Batch:
    return fitted_batch(worker, ruling, ask_for_batch(rng, oracle))


@pytest.mark.points("train_step.overfits")
def test_overfits(worker: Worker, ruling: Ruling, rng: Random, batch: Batch, oracle: Oracle) -> None:
    """Check training from new weights, as the student's own code initialises them.

    Only train_step.loss penalises a slip in the loss; here the steps then have to minimise the loss with the slip. If it is not
    recognised, what train_step returns has to fall, and at least one head has to come near its targets, since what train_step
    returns proves nothing.

    Accepts:
        Gradients cleared before the step or after it (reference, network-padding-layer)
        Gradients cleared through the model or the optimiser (network-double-precision-outputs, reference)
        The errors backpropagated as one sum or one after the other (reference, training-losses-apart)
    """
    ruling.expected = (
        f"{STEPS} steps on one batch of {BATCH_SIZE} remove most of the avoidable loss (all but the targets' own entropy), "
        f"for at least one of {BEGINNINGS} random initialisations."
    )
    returned, after = train(worker, batch, lr=1e-3)
    ruling.expect(distance(batch, after) > 0, "The weights do not move at all in a step at lr 1e-3.")
    possible = possible_outputs(worker, batch)
    reading = read_returned(returned, possible, batch, after)
    objective = reading.objective if reading is not None else HANDOUT
    try:
        _expect_fresh_gradients(worker, ruling, batch)
    except StudentFault:
        # The optimiser's zero_grad does not clear the gradients of parameters that the optimiser lacks.
        _expect_all_trained(worker, batch, after, objective)
        raise
    smallest, trainings = float("inf"), []
    beginnings: list[dict[str, np.ndarray]] = []
    told: list[list[list[float]]] = []
    for _ in range(BEGINNINGS):
        for start, end in _learn(worker, batch, oracle, rng, beginnings, told):
            share = objective.share_left(start, end, batch.targets)
            if share < smallest:
                smallest = share
                ruling.seen = (
                    f"The loss went from {objective.loss(start, batch.targets):.3f} to "
                    f"{objective.loss(end, batch.targets):.3f}; {objective.floor(batch.targets):.3f} cannot be avoided."
                )
            if smallest < ENOUGH:
                ruling.evidence["left"] = smallest
                _expect_all_trained(worker, batch, after, objective)
                if objective.slip:
                    ruling.seen += f" This is measured with the loss as it is computed: {objective.slip} (see train_step.loss)."
                return
            trainings.append((start, end))
    if reading is None and any(map(_falls, told)) and any(_a_head_learns(*each, batch) for each in trainings):
        ruling.seen = "The steps lower the loss that train_step returns, which was not recognised (see train_step.loss)."
        return
    learnt = learnt_objective(trainings, batch.targets, ENOUGH)
    left = f"{ruling.seen} The steps do not learn: {smallest:.0%} of the avoidable loss remains."
    if learnt is not None and learnt.slip:
        left += f" From what they do learn it looks as if {learnt.slip}."
    elif smallest > 1 and raises_loss(worker, batch):
        left += " Each step goes up the gradient: the weights should move against it."
    raise StudentFault(left)


def _falls(returned: list[list[float]]) -> bool:
    """Return whether the loss falls clearly, given the loss and the entropy that each of the steps returned."""
    losses = [step[0] for step in returned if len(step) == 2]
    if len(losses) < len(returned) or not losses or not np.isfinite(losses).all():
        return False
    return bool(losses[0] - np.median(losses[-10:]) > FALL * abs(losses[0]))


def _a_head_learns(start: Outputs, end: Outputs, batch: Batch) -> bool:
    """Return whether the values or the policy come near their targets."""
    return any(head.share_left_of_either_head(start, end, batch.targets) < ENOUGH for head in ONE_HEAD)


def _expect_all_trained(worker: Worker, batch: Batch, after: dict[str, np.ndarray], objective: Objective) -> None:
    """Raise StudentFault if a step left a parameter as it was, although the handout's loss has a gradient for each one.

    A parameter that the network does not use has none; network.layers reports that.
    """
    if objective.slip or not batch.right:  # of other layers, nobody knows which ones have a gradient
        return
    fixed = [key for key in batch.trained if key not in BEFORE_BATCH_NORM and not change(batch.weights, after, key).any()]
    if fixed:
        fixed = _used(worker, batch, after, fixed)
    if fixed:
        more = f" and {len(fixed) - 4} more" if len(fixed) > 4 else ""
        raise StudentFault(
            f"A step at lr 1e-3 does not change {', '.join(fixed[:4])}{more}. The optimiser should update all parameters, "
            "biases too: only the L2 term leaves them out."
        )


def _used(worker: Worker, batch: Batch, after: dict[str, np.ndarray], keys: list[str]) -> list[str]:
    """Return those of the parameters that have an effect on the outputs of forward, in the mode in which the step was taken.

    In eval mode, which train_step.train_mode reports, all inputs of a ReLU may be negative.
    """
    train_mode = any(change(batch.weights, after, key).any() for key in batch.weights if "running_" in key)

    def outputs(weights: dict[str, np.ndarray]) -> Heads:
        worker.call("net_create", **batch.size, weights=weights)
        heads: Heads = worker.call("net_forward", states=batch.states, train_mode=train_mode)
        return heads

    def changed(w: np.ndarray) -> np.ndarray:
        return w + np.linspace(1e-3, 5e-4, w.size, dtype=w.dtype).reshape(w.shape)  # a softmax ignores equal numbers

    before = outputs(batch.weights)
    return [key for key in keys if not are_same(before, outputs({**batch.weights, key: changed(batch.weights[key])}))]


def _expect_fresh_gradients(worker: Worker, ruling: Ruling, batch: Batch) -> None:
    """Raise StudentFault if a second step, on the same batch at lr 0, adds its gradients to the first's."""
    train(worker, batch, lr=0.0)
    first = worker.call("net_gradients")
    batch.step(worker, lr=0.0)
    second = worker.call("net_gradients")
    # If the gradients are cleared after the step, there are none here, and nothing can remain.
    for name, gradient in first.items():
        again = second.get(name, np.empty(0))
        matters = again.shape == gradient.shape and np.abs(gradient).max(initial=0) > 1e-4
        ruling.expect(
            not matters or not np.allclose(again, 2.0 * gradient, rtol=1e-2),
            "The second step's gradients include the first step's: gradients of an earlier step must not remain.",
        )


def _learn(
    worker: Worker,
    batch: Batch,
    oracle: Oracle,
    rng: Random,
    beginnings: list[dict[str, np.ndarray]],
    told: list[list[list[float]]],
) -> Iterator[tuple[Outputs, Outputs]]:
    """Train a new network on the batch; yield its outputs before and after training, and add to `told` what the steps return.

    A constructor may seed the initialisation, so that each new network begins alike. If the weights are among `beginnings`, to
    which they are added, the network gets their entries in another order.

    The first pair is what the oracle computes from the weights, if it can, since the loss that train_step returns proves
    nothing. The other pairs are what the student's own network computes, in a process that has only the weights, since an
    incorrect network is a matter for network.outputs. It computes in eval mode and in train mode: a batch norm that averages
    over many batches knows little of this one after a few steps.
    """
    worker.call("net_create", **batch.size)
    before = worker.call("net_weights")
    if any(are_equal(before, earlier) for earlier in beginnings):
        order = np.random.default_rng(rng.randrange(2**31))
        weights = {key: order.permuted(entries.reshape(-1)).reshape(entries.shape) for key, entries in before.items()}
        worker.call("net_create", **batch.size, weights=weights)
        before = worker.call("net_weights")
    beginnings.append(before)
    own_before = _own_outputs(worker, batch)
    told.append(batch.step(worker, lr=1e-3, steps=STEPS))
    after = worker.call("net_weights")
    try:
        by_weights = [oracle.outputs(w, batch.states, width=WIDTH, height=HEIGHT, train_mode=True) for w in (before, after)]
    except (ValueError, RuntimeError):
        by_weights = []  # the layers are not the handout's; another check reports that
    known = [outputs_of(heads) for heads in by_weights if heads is not None]
    if len(known) == 2:
        yield known[0], known[1]
    worker.close()
    worker.call("net_create", **batch.size, weights=after)
    for own_start, own_end in zip(own_before, _own_outputs(worker, batch), strict=True):
        if own_start is not None and own_end is not None:
            yield own_start, own_end


def _own_outputs(worker: Worker, batch: Batch) -> list[Outputs | None]:
    """Return the outputs of policy_value, and of the model in train mode, for the batch; None if they have another shape."""
    probs, value = heads_of(worker, batch.states)
    in_train_mode = worker.call("net_forward", states=batch.states, train_mode=True)
    found = [(np.log(np.clip(probs, 1e-12, None)), value), in_train_mode]
    expected = batch.targets.pi.shape
    return [
        Outputs(log_probs, value.reshape(-1)) if log_probs.shape == expected and value.size == BATCH_SIZE else None
        for log_probs, value in found
    ]
