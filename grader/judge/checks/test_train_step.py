"""Part 2, the training step: loss, train mode, learning rate and L2 (handout 5.3); `test_overfits.py` checks that it learns.

The board is square, since network.outputs already checks whether width and height are swapped.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.network_cases import UNUSED_PLANE, Batch, heads_of
from grader.judge.support.objectives import (
    BIASES,
    DIVERGENCE,
    HANDOUT,
    L2_CONST,
    LOSS_TOLERANCE,
    STATISTICS,
    WITHOUT_CONVOLUTIONS,
    LossDiagnosis,
    Outputs,
    PossibleOutputs,
    l2_terms,
)
from grader.judge.support.optimiser_steps import (
    NEW_OPTIMISER,
    Update,
    Weights,
    other_rate,
    share_moved_by,
    updates_of,
    weight_decay_borne_out,
)
from grader.judge.support.oracle import Oracle
from grader.judge.support.ruling import Ruling
from grader.judge.support.training_steps import (
    BEFORE_BATCH_NORM,
    ask_for_batch,
    change,
    distance,
    entropy_of,
    first_layer,
    fitted_batch,
    possible_outputs,
    raises_loss,
    read_returned,
    train,
)

OTHER_LR = 5e-4  # of a second step, after one at 1e-3
UNMOVED = {
    WITHOUT_CONVOLUTIONS: "The convolutions are not regularised",
    STATISTICS: "The L2 term is a sum over state_dict(), so it has no gradient",
}
"""Slips in the L2 term because of which it does not move the weights of the first layer."""

LATER = 5  # the number of steps, at lr 0, before one that shows whether the rate still is the one given


@pytest.fixture
def batch(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> Batch:
    return fitted_batch(worker, ruling, ask_for_batch(rng, oracle))


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
    returned, after = train(worker, batch, lr=1e-3)
    if len(returned) != 2 or not np.isfinite(returned[0]):
        numbers = ", ".join(f"{number:.4f}" for number in returned) or "no numbers"
        raise StudentFault(f"train_step should return two finite numbers, the loss and the entropy; it returned {numbers}.")
    loss, entropy = returned
    possible = possible_outputs(worker, batch)
    if not possible.train_mode:
        raise StudentFault("The outputs of forward have other shapes than those of 5.2, so the loss cannot be judged.")
    outputs = possible.train_mode[0]
    reading = read_returned(returned, possible, batch, after)
    data, l2 = HANDOUT.loss(outputs, batch.targets), l2_terms(batch.weights)[""][1]
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
        turned = read_returned(returned[::-1], possible, batch, after)
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
    still, short, long = (distance(batch, after) for after in moved)
    ruling.seen = f"Weights moved by {still:.2g} at lr 0, {short:.3g} at 1e-4, {long:.3g} at 1e-3."
    ruling.expect(short > 0, "The weights do not move at all in a step at lr 1e-4.")
    ratio = long / short
    if still > 0.01 * short or not 8 < ratio < 12:
        raise StudentFault(
            f"The learning rate given to train_step is not the one used: the weights moved by {still:.2g} at lr 0, "
            f"{short:.3g} at 1e-4 and {long:.3g} at 1e-3.{_left_out(batch, *moved[::2])}"
        )
    _expect_given_rate(worker, batch, batch.weights, moved[-1], lr=1e-3)
    # At another lr, because some make a new optimiser only when it changes, as it does after every game of train.py.
    batch.with_other_targets().step(worker, lr=OTHER_LR)
    alike = share_moved_by(OTHER_LR, _distances(batch, moved[-1], worker.call("net_weights")).values())
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
            f"In a second step, with other targets and another lr, {alike:.0%} of the weights moved by exactly lr, as only "
            "Adam's first step moves them. It looks as if train_step makes a new optimiser in every call, or whenever lr "
            "changes, so that the moments are lost.",
        )
    worker.call("net_create", **batch.size, weights=batch.weights)
    # While the weights stay as they are, so does the gradient, and the next step of Adam moves them as its first step would.
    batch.step(worker, lr=0.0, steps=LATER)
    before = worker.call("net_weights")
    batch.step(worker, lr=1e-3)
    _expect_given_rate(worker, batch, before, worker.call("net_weights"), lr=1e-3, earlier=LATER)


def _expect_given_rate(worker: Worker, batch: Batch, before: Weights, after: Weights, lr: float, earlier: int = 0) -> None:
    """Raise StudentFault if the optimiser had another learning rate in the last step, and the weights moved by that."""
    found = other_rate(updates_of(worker), lr, _distances(batch, before, after))
    if found is None:
        return
    rate, steps = found
    where = f"in a step at lr {lr:g}" + f" after {earlier} others" * bool(earlier)
    if steps > 1:
        raise StudentFault(
            f"Each call of train_step should take one step of the optimiser; it takes {steps}, so that {where} the weights "
            f"moved by {rate:.3g}."
        )
    raise StudentFault(
        f"The learning rate given to train_step is not the one used: {where} the optimiser's own was {rate:.3g}, and the "
        "weights moved by that."
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


def _distances(batch: Batch, before: Weights, after: Weights) -> dict[str, np.ndarray]:
    """Return how far a step moved each of the weights that the data affects."""
    moved = {key: np.abs(change(before, after, key)) for key in batch.trained if key not in BEFORE_BATCH_NORM}
    if (first := first_layer(batch)) in moved:
        moved[first] = np.delete(moved[first], UNUSED_PLANE, axis=1)
    return moved


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
    ruling.expected = "Weights that the data does not affect shrink, by the L2 term or by weight decay."
    returned, after = train(worker, batch, lr=1e-2)
    updates = updates_of(worker)
    first = first_layer(batch)
    moved = change(batch.weights, after, first)[:, UNUSED_PLANE].reshape(-1)
    unused = batch.weights[first][:, UNUSED_PLANE].astype(float).reshape(-1)
    large = np.abs(unused) > 0.05
    ruling.expect(distance(batch, after) > 0, "The weights do not move at all in a step at lr 1e-2.")
    if not moved.any():
        possible = possible_outputs(worker, batch)
        reading = read_returned(returned, possible, batch, after)
        if reading is not None and reading.slip in UNMOVED:
            ruling.seen = f"{UNMOVED[reading.slip]} (see train_step.loss)."
            return
        in_loss = reading is not None and not reading.slip and not _lacks_l2_term(returned[0], possible, batch)
        decays = any(update.weight_decay > 0 for of_parameter in updates.values() for update in of_parameter)
        if (in_loss or decays) and not change(batch.weights, after, first).any():
            ruling.seen = f"The step does not change {first}, on which L2 regularisation would show (see train_step.overfits)."
            return
        why = "there is no L2 regularisation, in the loss or as weight decay"
        if in_loss:
            why = "the L2 term is in the loss that train_step returns, but without a gradient, as with w.data or item()"
        raise StudentFault(f"Weights that the data does not affect did not move: {why}.")
    inward = float(np.mean(np.sign(moved[large]) == -np.sign(unused[large])))
    ruling.seen = f"{inward:.0%} of those weights moved towards zero."
    outward = inward < 0.05
    if outward and raises_loss(worker, batch):
        ruling.seen = "The step raises the loss, and with it the weights that only the L2 term moves (see train_step.overfits)."
        return
    direction = " The L2 term is subtracted." if outward else ""
    ruling.expect(
        inward > 0.95, f"Of these weights, which the data does not affect, {inward:.0%} moved towards zero.{direction}"
    )
    if decay := _decay_beside_l2_term(batch, updates, after):
        by_default = " AdamW has this weight_decay unless you set another one." * (
            updates[first][0].decoupled and decay == 0.01
        )
        # The loss is right, and how strong a decay may be is nowhere said, so this costs nothing.
        twice = f"by the L2 term in the loss, and by the optimiser's weight_decay of {decay:g}"
        ruling.seen += f" The weights decay twice: {twice}.{by_default}"


def _decay_beside_l2_term(batch: Batch, updates: dict[str, list[Update]], after: Weights) -> float:
    """Return the weight decay with which a step moved the weights although its loss has an L2 term too; 0 if there is none."""
    first = first_layer(batch)
    update = next(iter(updates.get(first, ())), None)
    if update is None or update.gradient.shape != batch.weights[first].shape:
        return 0.0
    # The data does not affect these weights, so their gradient is that of the L2 term.
    weights, gradient = (each[:, UNUSED_PLANE].astype(float) for each in (batch.weights[first], update.gradient))
    has_l2_term = float(np.sum(gradient * weights)) > 0.01 * L2_CONST * float(np.sum(weights**2))
    decayed = {key: each for key, each in updates.items() if key in batch.trained and each[0].weight_decay > 0}
    if has_l2_term and first in decayed and weight_decay_borne_out(decayed, batch.weights, after):
        return update.weight_decay
    return 0.0


def _lacks_l2_term(loss: float, possible: PossibleOutputs, batch: Batch) -> bool:
    """Return whether a loss is the sum of both errors alone."""
    errors = [HANDOUT.loss(outputs, batch.targets) for outputs in (*possible.train_mode, *possible.eval_mode)]
    return any(abs(loss - error) <= LOSS_TOLERANCE * max(1.0, error) for error in errors)
