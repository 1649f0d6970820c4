"""Part 2, the training step: loss, train mode, learning rate, L2 and learning (handout 5.3).

The board is square, since network.outputs already checks whether width and height are swapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.network_cases import BATCH_SIZE, BLOCK, HEIGHT, UNUSED_PLANE, WIDTH, Batch, fitted_network, heads_of
from grader.judge.support.objectives import (
    BIASES,
    DIVERGENCE,
    HANDOUT,
    LOSS_TOLERANCE,
    WITHOUT_CONVOLUTIONS,
    LossDiagnosis,
    Objective,
    Outputs,
    PossibleOutputs,
    l2_terms,
    learnt_objective,
    read_loss,
)
from grader.judge.support.oracle import Heads, Oracle
from grader.judge.support.ruling import Ruling

ENOUGH = 0.25  # the largest share of the avoidable loss that may remain
STEPS, BEGINNINGS = 60, 5
SAME_OUTPUTS = 1e-6
NEW_OPTIMISER = 0.75  # the smallest share of the weights that move by exactly lr in the second step of a new Adam
FIRST = "conv2d_1.weight"
# Batch norm subtracts the mean, and with it these biases, so that in train mode they have no gradient.
BEFORE_BATCH_NORM = tuple(f"{layer}.bias" for layer in ("resnet.0.0", "resnet.0.3", "conv2d_2", "conv2d_3"))


@pytest.fixture
def batch(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> Batch:
    return fitted_batch(worker, ruling, ask_for_batch(rng, oracle))


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
    if not _are_same(outputs, repeated):
        raise StudentFault("policy_value returns different outputs each time it is called, so they could not show a step.")
    returned: list[float] = next(iter(batch.step(worker, lr)), [])
    after = worker.call("net_weights")
    if not all(np.isfinite(weights).all() for weights in after.values()):
        raise StudentFault(f"After a step at lr {lr:g} some of the network's weights are not finite numbers.")
    changed = not _are_equal(before, after)
    again = heads_of(worker, batch.states)
    if lr > 0 and changed and _are_same(outputs, again):
        raise StudentFault("train_step changes the state_dict but not the outputs: those are not the network's weights.")
    return returned, after


def _are_equal(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    """Return whether two sets of weights have the same entries."""
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def _are_same(first: Heads, second: Heads) -> bool:
    """Return whether outputs differ by no more than what rounding could explain; NaN is the same as NaN."""
    return all(
        one.shape == other.shape
        and np.allclose(one.astype(float), other.astype(float), rtol=0, atol=SAME_OUTPUTS, equal_nan=True)
        for one, other in zip(first, second, strict=True)
    )


def change(before: dict[str, np.ndarray], after: dict[str, np.ndarray], key: str) -> np.ndarray:
    if key not in before or key not in after or after[key].shape != before[key].shape:
        raise StudentFault(f"{key} is missing from the model's state_dict after a training step, or has another shape.")
    return after[key].astype(float) - before[key].astype(float)


def right_outputs(batch: Batch, train_mode: bool = True) -> Outputs:
    """Return the outputs of the handout's network with the batch's weights."""
    mode = "train" if train_mode else "eval"
    return _outputs((batch.right[f"{mode} log_probs"], batch.right[f"{mode} value"]))


def _outputs(heads: Heads) -> Outputs:
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


def read_returned(returned: list[float], possible: PossibleOutputs, batch: Batch) -> LossDiagnosis | None:
    """Return the formula behind the loss that train_step returned with an entropy, or None."""
    return read_loss(returned[0], possible, batch.targets, batch.trained) if len(returned) == 2 else None


def entropy_of(outputs: Outputs) -> float:
    return float(-np.mean(np.sum(np.exp(outputs.log_probs) * outputs.log_probs, axis=1)))


@pytest.mark.points("train_step.loss")
def test_loss(worker: Worker, ruling: Ruling, batch: Batch) -> None:
    """Check the loss and the entropy that train_step returns; name the slip in the loss if one explains it.

    Accepts:
        L2 over all parameters that are not biases (reference, network-double-precision-outputs, network-in-its-own-classes)
        L2 without batch norm's scales, as a squared norm or a sum of squares (network-as-handed-out, network-mixed-precision)
        Weight decay in place of the L2 term, which is not in the loss (training-weight-decay, training-weight-decay-everywhere)
        Weight decay, with the L2 term in the returned loss (training-weight-decay-without-scales)
        The cross entropy as the sum of the divergence from the targets and their entropy (training-losses-apart)
        z and v compared as [N] or as [N, 1] (reference, network-padding-layer)
        Floats, numpy numbers or tensors without a gradient (reference, network-mixed-precision, network-in-its-own-classes)
    """
    returned, _ = train(worker, batch, lr=1e-3)
    if len(returned) != 2 or not np.isfinite(returned[0]):
        numbers = ", ".join(f"{number:.4f}" for number in returned) or "no numbers"
        raise StudentFault(f"train_step should return two finite numbers, the loss and the entropy; it returned {numbers}.")
    loss, entropy = returned
    possible = possible_outputs(worker, batch)
    if not possible.train_mode:
        raise StudentFault("The outputs of forward have other shapes than those of 5.2, so the loss cannot be judged.")
    outputs = possible.train_mode[0]
    reading = read_returned(returned, possible, batch)
    data, l2 = HANDOUT.loss(outputs, batch.targets), l2_terms(batch.trained)[""][1]
    ruling.expected = "loss = mean (z - v)^2 - mean sum pi log p + 1e-4/2 * squared norm of the weights, in train mode."
    ruling.seen = f"loss {loss:.4f}, entropy {entropy:.4f}"
    ruling.evidence.update(loss=loss, entropy=entropy, data=data, l2=l2)
    told = f"The loss is {loss:.4f}; expected {data + l2:.4f}"
    if reading is not None and reading.slip == BIASES:
        ruling.deduct("biases_in_l2", f"{told}. It looks as if {BIASES}.")
    elif reading is not None and reading.slip == DIVERGENCE:
        ruling.deduct("divergence", f"{told}. It looks as if {DIVERGENCE}.")
    elif reading is None or reading.slip:
        if _is_random_in_train_mode(worker, batch):
            raise StudentFault(
                "In train mode the network returns different outputs each time for the same batch, so its loss is not that of "
                "the handout's network: it has a random layer, such as dropout, which the network of 5.2 does not have."
            )
        turned = read_returned(returned[::-1], possible, batch)
        if turned is not None and not turned.slip:
            raise StudentFault(
                f"{told}. It is the second number that train_step returns: the loss comes first, then the entropy."
            )
        raise StudentFault(f"{told}{_reason(reading, outputs, batch, l2)}")
    entropies = [entropy_of(each) for each in (*possible.train_mode, *possible.eval_mode)]
    if not any(abs(entropy - value) <= LOSS_TOLERANCE * max(1.0, value) for value in entropies):
        ruling.deduct("entropy", f"The entropy returned is {entropy:.4f}; the policy's entropy is {entropies[0]:.4f}.")


def _is_random_in_train_mode(worker: Worker, batch: Batch) -> bool:
    """Return whether the network's outputs in train mode differ from call to call; those of the handout's network do not."""
    first, second = (worker.call("net_forward", states=batch.states, train_mode=True) for _ in range(2))
    return any(a.shape == b.shape and not np.allclose(a, b, atol=1e-4) for a, b in zip(first, second, strict=True))


def _reason(reading: LossDiagnosis | None, outputs: Outputs, batch: Batch, l2: float) -> str:
    """Return the end of the message about a wrong loss."""
    if reading is not None:
        return f". It looks as if {reading.slip}."
    value_error = HANDOUT.value_error(outputs.values, batch.targets.z)
    policy_error = HANDOUT.policy_error(outputs.log_probs, batch.targets.pi)
    return f" (MSE {value_error:.4f} + cross entropy {policy_error:.4f} + L2 {l2:.4f})."


@pytest.mark.points("train_step.train_mode")
def test_train_mode(worker: Worker, ruling: Ruling, batch: Batch) -> None:
    """Check batch norm's running statistics: train_step must update them, and policy_value must not.

    Accepts:
        train_step leaves the network in train mode, or ends in eval mode (reference, training-losses-apart)
        policy_value restores the mode that it found (training-weight-decay, network-in-its-own-classes)
    """
    ruling.expected = "train_step updates the running statistics of batch norm; policy_value does not, even afterwards."
    worker.call("net_create", **batch.size, weights=batch.weights)
    mixed_before = _depends_on_the_batch(worker, batch)
    _, after = train(worker, batch, lr=1e-3)
    statistics = [key for key in batch.weights if "running_" in key]
    ruling.expect(bool(statistics), "The model's state_dict has no running statistics of batch norm.")
    moved = max(float(np.abs(change(batch.weights, after, key)).max()) for key in statistics)
    ruling.expect(moved > 0, "train_step did not update batch norm's running statistics: the network was left in eval mode.")
    # If states affect each other before any training, the cause is a different fault, which network.outputs checks.
    mixed = _depends_on_the_batch(worker, batch) and not mixed_before
    again = worker.call("net_weights")
    still = max(float(np.abs(change(after, again, key)).max()) for key in statistics)
    ruling.expect(still == 0, "policy_value updated batch norm's running statistics: it belongs in eval mode.")
    ruling.expect(not mixed, "What policy_value returns for a state depends on the other states: it belongs in eval mode.")
    ruling.seen = f"The running statistics changed by up to {moved:.3g} in train_step and not at all in policy_value."


def _depends_on_the_batch(worker: Worker, batch: Batch) -> bool:
    """Return whether policy_value gives a state other probabilities when it is evaluated alone than in a batch."""
    (together, _), (alone, _) = (heads_of(worker, states) for states in (batch.states, batch.states[:1]))
    first = np.atleast_1d(together)[:1]
    return first.shape != alone.shape or not np.allclose(first, alone, atol=1e-4)


@pytest.mark.points("train_step.learning_rate")
def test_learning_rate(worker: Worker, ruling: Ruling, batch: Batch) -> None:
    """Check how the distance that the weights move in one step depends on lr, and that the optimiser is kept between steps.

    Accepts:
        The rate set in each parameter group or in the only one, by a helper or not (reference, network-mixed-precision)
        Several parameter groups (training-weight-decay-without-scales)
        Decoupled weight decay, which also scales with the rate (training-decoupled-weight-decay)
        Steps through a disabled gradient scaler (network-mixed-precision)
    """
    ruling.expected = "At lr 0 no weight moves; with ten times the lr the first step moves them about ten times as far."

    moved = [train(worker, batch, lr)[1] for lr in (0.0, 1e-4, 1e-3)]
    still, short, long = (_distance(batch, after) for after in moved)
    ruling.seen = f"Weights moved by {still:.2g} at lr 0, {short:.3g} at 1e-4, {long:.3g} at 1e-3."
    ruling.expect(short > 0, "The weights do not move at all in a step at lr 1e-4.")
    ratio = long / short
    if still > 0.01 * short or not 8 < ratio < 12:
        raise StudentFault(
            f"The learning rate given to train_step is not the one used: the weights moved by {still:.2g} at lr 0, "
            f"{short:.3g} at 1e-4 and {long:.3g} at 1e-3.{_left_out(batch, *moved[::2])}"
        )
    batch.with_other_targets().step(worker, lr=1e-3)
    alike = _share_moved_by(1e-3, batch, moved[-1], worker.call("net_weights"))
    # The lr of a later call must count too.
    batch.step(worker, lr=0.0)
    before = worker.call("net_weights")
    batch.step(worker, lr=0.0)
    after = worker.call("net_weights")
    drift = max(float(np.abs(change(before, after, key)).max()) for key in batch.trained)
    ruling.expect(drift < 1e-7, f"A second call, with lr 0, still moved the weights by {drift:.2g}.")
    if alike > NEW_OPTIMISER:
        ruling.deduct(
            "optimiser_forgets",
            f"In a second step, with other targets, {alike:.0%} of the weights moved by exactly lr, as only Adam's first step "
            "moves them. It looks as if train_step makes a new optimiser in every call, so that the moments are lost.",
        )


def _left_out(batch: Batch, after_lr_0: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> str:
    """Return a sentence if some parameters still move at lr 0, and others only in the step at another lr, or ""."""
    at_lr_0, at_another = (
        {key for key in batch.trained if change(batch.weights, weights, key).any()} for weights in (after_lr_0, after)
    )
    if not at_lr_0 or at_another <= at_lr_0:
        return ""
    return (
        f" At lr 0 only {len(at_lr_0)} of {len(at_another)} parameters still move, such as {min(at_lr_0)}: set lr in each of "
        "the optimiser's parameter groups."
    )


def _share_moved_by(lr: float, batch: Batch, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    """Return the share of the weights that a step moved by lr (within 2 %), without those that the data does not affect."""
    moved = {key: np.abs(change(before, after, key)) for key in batch.trained if key not in BEFORE_BATCH_NORM}
    if (first := first_layer(batch)) in moved:
        moved[first] = np.delete(moved[first], UNUSED_PLANE, axis=1)
    distances = np.concatenate([distance.reshape(-1) for distance in moved.values()])
    return float(np.mean(np.abs(distances / lr - 1) < 0.02))


def _distance(batch: Batch, after: dict[str, np.ndarray]) -> float:
    """Return the Euclidean distance by which the trained weights moved."""
    return float(np.sqrt(sum(np.sum(change(batch.weights, after, key) ** 2) for key in batch.trained)))


@pytest.mark.points("train_step.l2")
def test_l2(worker: Worker, ruling: Ruling, batch: Batch) -> None:
    """Check the weights of a plane that is empty in the whole batch: only regularisation can move them, towards zero.

    Accepts:
        The L2 term in the loss, with or without batch norm's scales (reference, network-as-handed-out)
        Weight decay in the optimiser, over w or over all parameters (training-weight-decay, training-weight-decay-everywhere)
        Weight decay without batch norm's scales (training-weight-decay-without-scales)
        Decoupled weight decay (training-decoupled-weight-decay)
        The L2 term backpropagated separately (training-losses-apart)
    """
    ruling.expected = "Weights that the data does not affect shrink."
    returned, after = train(worker, batch, lr=1e-2)
    first = first_layer(batch)
    moved = change(batch.weights, after, first)[:, UNUSED_PLANE].reshape(-1)
    unused = batch.weights[first][:, UNUSED_PLANE].astype(float).reshape(-1)
    large = np.abs(unused) > 0.05
    ruling.expect(_distance(batch, after) > 0, "The weights do not move at all in a step at lr 1e-2.")
    if not moved.any():
        possible = possible_outputs(worker, batch)
        reading = read_returned(returned, possible, batch)
        if reading is not None and reading.slip == WITHOUT_CONVOLUTIONS:
            ruling.seen = "The convolutions are not regularised (see train_step.loss)."
            return
        why = "there is no L2 regularisation, in the loss or as weight decay"
        if reading is not None and not reading.slip and not _lacks_l2_term(returned[0], possible, batch):
            why = "the L2 term is in the loss that train_step returns, but without a gradient, as with w.data or item()"
        raise StudentFault(f"Weights that the data does not affect did not move: {why}.")
    inward = float(np.mean(np.sign(moved[large]) == -np.sign(unused[large])))
    ruling.seen = f"{inward:.0%} of those weights moved towards zero."
    direction = " The L2 term is subtracted." if inward < 0.05 else ""
    ruling.expect(
        inward > 0.95, f"Of these weights, which the data does not affect, {inward:.0%} moved towards zero.{direction}"
    )


def _lacks_l2_term(loss: float, possible: PossibleOutputs, batch: Batch) -> bool:
    """Return whether a loss is the sum of both errors alone."""
    errors = [HANDOUT.loss(outputs, batch.targets) for outputs in (*possible.train_mode, *possible.eval_mode)]
    return any(abs(loss - error) <= LOSS_TOLERANCE * max(1.0, error) for error in errors)


@pytest.mark.points("train_step.overfits")
def test_overfits(worker: Worker, ruling: Ruling, rng: Random, batch: Batch, oracle: Oracle) -> None:
    """Check training from new weights, as the student's own code initialises them.

    Only train_step.loss penalises a slip in the loss; here the steps then have to minimise the loss with the slip.

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
    ruling.expect(_distance(batch, after) > 0, "The weights do not move at all in a step at lr 1e-3.")
    possible = possible_outputs(worker, batch)
    reading = read_returned(returned, possible, batch)
    objective = reading.objective if reading is not None else HANDOUT
    try:
        _expect_fresh_gradients(worker, ruling, batch)
    except StudentFault:
        # The optimiser's zero_grad does not clear the gradients of parameters that the optimiser lacks.
        _expect_all_trained(worker, batch, after, objective)
        raise
    smallest, trainings = float("inf"), []
    beginnings: list[dict[str, np.ndarray]] = []
    for _ in range(BEGINNINGS):
        for start, end in _learn(worker, batch, oracle, rng, beginnings):
            share = objective.share_left(start, end, batch.targets)
            if share < smallest:
                smallest = share
                ruling.seen = (
                    f"The loss fell from {objective.loss(start, batch.targets):.3f} to "
                    f"{objective.loss(end, batch.targets):.3f}; {objective.floor(batch.targets):.3f} cannot be avoided."
                )
            if smallest < ENOUGH:
                ruling.evidence["left"] = smallest
                _expect_all_trained(worker, batch, after, objective)
                if objective.slip:
                    ruling.seen += f" This is measured with the loss as it is computed: {objective.slip} (see train_step.loss)."
                return
            trainings.append((start, end))
    learnt = learnt_objective(trainings, batch.targets, ENOUGH)
    left = f"{ruling.seen} The steps do not learn: {smallest:.0%} of the avoidable loss remains."
    raise StudentFault(f"{left} From what they do learn it looks as if {learnt.slip}." if learnt and learnt.slip else left)


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
    return [key for key in keys if not _are_same(before, outputs({**batch.weights, key: changed(batch.weights[key])}))]


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
    worker: Worker, batch: Batch, oracle: Oracle, rng: Random, beginnings: list[dict[str, np.ndarray]]
) -> Iterator[tuple[Outputs, Outputs]]:
    """Train a new network on the batch; yield its outputs before and after training.

    A constructor may seed the initialisation, so that each new network begins alike. If the weights are among `beginnings`, to
    which they are added, the network gets their entries in another order.

    The first pair is what the oracle computes from the weights, if it can, since the loss that train_step returns proves
    nothing. The other pairs are what the student's own network computes, in a process that has only the weights, since an
    incorrect network is a matter for network.outputs. It computes in eval mode and in train mode: a batch norm that averages
    over many batches knows little of this one after a few steps.
    """
    worker.call("net_create", **batch.size)
    before = worker.call("net_weights")
    if any(_are_equal(before, earlier) for earlier in beginnings):
        order = np.random.default_rng(rng.randrange(2**31))
        weights = {key: order.permuted(entries.reshape(-1)).reshape(entries.shape) for key, entries in before.items()}
        worker.call("net_create", **batch.size, weights=weights)
        before = worker.call("net_weights")
    beginnings.append(before)
    own_before = _own_outputs(worker, batch)
    batch.step(worker, lr=1e-3, steps=STEPS)
    after = worker.call("net_weights")
    try:
        by_weights = [oracle.outputs(w, batch.states, width=WIDTH, height=HEIGHT, train_mode=True) for w in (before, after)]
    except (ValueError, RuntimeError):
        by_weights = []  # the layers are not the handout's; another check reports that
    known = [_outputs(heads) for heads in by_weights if heads is not None]
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
