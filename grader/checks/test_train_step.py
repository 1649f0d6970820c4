"""Part 2, the training step: loss, train mode, learning rate, L2, learning (handout 5.3)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.checks.conftest import Ruling
from grader.checks.test_network import random_states
from grader.errors import StudentFault
from grader.trusted_network import forward, random_weights
from grader.worker_client import Worker

WIDTH, HEIGHT, BLOCK = 4, 3, 1
BATCH = 32
LOSS_TOLERANCE = 5e-4
L2 = 1e-4 / 2
UNUSED_PLANE = 7
ENOUGH = 0.4  # of what can be learnt is left


class Batch:
    """Random states, targets and weights, and what the loss of the handout is on them."""

    def __init__(self, rng: Random) -> None:
        numbers = np.random.default_rng(rng.randrange(2**31))
        self.weights = random_weights(WIDTH, HEIGHT, BLOCK, rng.randrange(2**31))
        self.states = random_states(rng, WIDTH, HEIGHT, BATCH)
        # A plane without a stone: the data says nothing about its weights, so they move by regularisation alone.
        self.states[:, UNUSED_PLANE] = 0.0
        self.probs = numbers.dirichlet(np.full(WIDTH * HEIGHT, 0.5), BATCH).astype(np.float32)
        self.winners = numbers.choice([-1.0, 0.0, 1.0], BATCH).astype(np.float32)

    def data_loss(self, train_mode: bool) -> float:
        """MSE + cross entropy of the right network."""
        log_probs, value = forward(self.weights, self.states, width=WIDTH, height=HEIGHT, train_mode=train_mode)
        return self.loss_of(log_probs, value)

    def loss_of(self, log_probs: np.ndarray, value: np.ndarray) -> float:
        """MSE + cross entropy for these outputs; infinite if it is no number."""
        loss = float(np.mean((value[:, 0] - self.winners) ** 2) - np.mean(np.sum(self.probs * log_probs, axis=1)))
        return loss if np.isfinite(loss) else float("inf")

    def l2(self, with_biases: bool = False) -> float:
        """1e-4 / 2 * the squared norm of the trained parameters, biases left out unless asked for."""
        trained = {key: self.weights[key] for key in trained_keys(self)}
        return L2 * sum(
            float(np.sum(w.astype(float) ** 2)) for k, w in trained.items() if with_biases or not k.endswith("bias")
        )

    def entropy(self) -> float:
        """Of the network's own distribution, in train mode."""
        log_probs, _ = forward(self.weights, self.states, width=WIDTH, height=HEIGHT, train_mode=True)
        return float(-np.mean(np.sum(np.exp(log_probs) * log_probs, axis=1)))


def trained_keys(batch: Batch) -> list[str]:
    """What an optimiser moves: all but batch norm's statistics."""
    return [key for key in batch.weights if "running_" not in key and "num_batches" not in key]


@pytest.fixture
def batch(rng: Random) -> Batch:
    return Batch(rng)


def train(worker: Worker, batch: Batch, lr: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One step of a network of the batch's weights: ([1, 2] loss and entropy, weights afterwards)."""
    worker.call("net_create", width=WIDTH, height=HEIGHT, block=BLOCK, weights=batch.weights)
    before, outputs = worker.call("net_weights"), worker.call("net_policy_value", states=batch.states)
    losses = worker.call("net_train", states=batch.states, probs=batch.probs, winners=batch.winners, lr=lr, steps=1)
    losses = np.asarray(losses, dtype=float)
    if losses.shape != (1, 2) or not np.all(np.isfinite(losses)):
        raise StudentFault("train_step should return two finite numbers, the loss and the entropy.")
    after = worker.call("net_weights")
    told = before.keys() != after.keys() or any(not np.array_equal(before[key], after[key]) for key in before)
    again = worker.call("net_policy_value", states=batch.states)
    if lr > 0 and told and all(np.array_equal(first, second) for first, second in zip(outputs, again, strict=True)):
        raise StudentFault("train_step changes the state_dict and not what the network gives: those are not its weights.")
    return losses, after


def change(before: dict[str, np.ndarray], after: dict[str, np.ndarray], key: str) -> np.ndarray:
    if key not in after or after[key].shape != before[key].shape:
        raise StudentFault(f"{key} is missing from the model's state_dict after a training step.")
    return after[key].astype(float) - before[key].astype(float)


@pytest.mark.points("train_step.loss")
def test_loss(worker: Worker, verdict: Ruling, batch: Batch) -> None:
    losses, _ = train(worker, batch, lr=1e-3)
    loss, entropy = losses[0]
    data, l2, own = batch.data_loss(train_mode=True), batch.l2(), _own_outputs(worker, batch)
    # Of the right network's outputs or, since a wrong network is network.outputs' affair, of its own; also in eval mode,
    # which is train_step.train_mode's. With weight decay in the optimiser the L2 term is not part of the loss;
    # train_step.l2 sees whether it acts.
    data_losses = [data, batch.data_loss(train_mode=False), *(batch.loss_of(*outputs) for outputs in own)]
    accepted = [value + term for value in data_losses for term in (l2, 0.0)]
    entropies = [batch.entropy(), *(float(-np.mean(np.sum(np.exp(p) * p, axis=1))) for p, _ in own)]
    verdict.expected = "loss = mean (z - v)^2 - mean sum pi log p + 1e-4/2 * the squared norm of the weights, in train mode."
    verdict.seen = f"loss {loss:.4f}, entropy {entropy:.4f}"
    verdict.evidence.update(loss=loss, entropy=entropy, data=data, l2=l2)
    if not any(abs(loss - value) <= LOSS_TOLERANCE * max(1.0, value) for value in accepted):
        raise StudentFault(_diagnose(loss, batch))
    if not any(abs(entropy - value) <= LOSS_TOLERANCE * max(1.0, value) for value in entropies):
        verdict.partial(
            0.75, f"The loss is right; the entropy returned is {entropy:.4f}, the policy's is {batch.entropy():.4f}."
        )


def _own_outputs(worker: Worker, batch: Batch) -> list[tuple[np.ndarray, np.ndarray]]:
    """What the student's network itself gives before the step, in train mode and in eval mode, as far as it is readable."""
    worker.call("net_create", width=WIDTH, height=HEIGHT, block=BLOCK, weights=batch.weights)
    found = []
    for train_mode in (True, False):
        log_probs, value = worker.call("net_forward", states=batch.states, train_mode=train_mode)
        if log_probs.shape == (BATCH, WIDTH * HEIGHT) and value.shape == (BATCH, 1):
            found.append((log_probs.astype(float), value.astype(float)))
    return found


def _diagnose(loss: float, batch: Batch) -> str:
    """The likeliest reason for a wrong loss, by computing what each slip would give."""
    log_probs, value = forward(batch.weights, batch.states, width=WIDTH, height=HEIGHT, train_mode=True)
    data, l2 = batch.data_loss(train_mode=True), batch.l2()
    cross_entropy = float(-np.mean(np.sum(batch.probs * log_probs, axis=1)))
    mse = data - cross_entropy
    broadcast = float(np.mean((value - batch.winners[None, :]) ** 2))
    slips = {
        "the values [N, 1] are compared with the winners [N] by broadcasting to [N, N]": cross_entropy + broadcast,
        "the value's error is missing": cross_entropy,
        "the policy's cross entropy is missing": mse,
        "probabilities stand where log probabilities belong": mse - float(np.mean(np.sum(batch.probs * np.exp(log_probs), 1))),
        "the cross entropy is averaged over the moves too": mse + cross_entropy / (WIDTH * HEIGHT),
        "the cross entropy's sign is turned": mse - cross_entropy,
        "the L2 term is twice as large as asked": data + l2,
        "the biases are part of the L2 term": data + batch.l2(with_biases=True) - l2,
    }
    for reason, value_of_slip in slips.items():
        for regularised in (value_of_slip, value_of_slip + l2):
            if abs(loss - regularised) <= LOSS_TOLERANCE * max(1.0, abs(regularised)):
                return f"The loss is {loss:.4f}; expected {data + l2:.4f}. It looks as if {reason}."
    return (
        f"The loss is {loss:.4f}; expected {data + l2:.4f} (MSE {mse:.4f} + cross entropy {cross_entropy:.4f} + L2 {l2:.4f})."
    )


@pytest.mark.points("train_step.train_mode")
def test_train_mode(worker: Worker, verdict: Ruling, batch: Batch) -> None:
    verdict.expected = "train_step moves the running statistics of batch norm; policy_value does not, even afterwards."
    worker.call("net_create", width=WIDTH, height=HEIGHT, block=BLOCK, weights=batch.weights)
    mixed_before = _depends_on_the_batch(worker, batch)
    _, after = train(worker, batch, lr=1e-3)
    moved = max(float(np.abs(change(batch.weights, after, key)).max()) for key in batch.weights if "running_" in key)
    verdict.expect(moved > 0, "Batch norm's running statistics did not move in train_step: the network was left in eval mode.")
    # States that mix before any training do so for another reason, which network.outputs looks for.
    mixed = _depends_on_the_batch(worker, batch) and not mixed_before
    again = worker.call("net_weights")
    still = max(float(np.abs(change(after, again, key)).max()) for key in after if "running_" in key)
    verdict.expect(still == 0, "policy_value moved batch norm's running statistics: it belongs in eval mode.")
    verdict.expect(not mixed, "policy_value of a state depends on the other states of its batch: it belongs in eval mode.")
    verdict.seen = f"Running statistics moved by up to {moved:.3g} in train_step and not at all in policy_value."


def _depends_on_the_batch(worker: Worker, batch: Batch) -> bool:
    """Whether policy_value says of a state alone something else than among others."""
    together, _ = worker.call("net_policy_value", states=batch.states)
    alone, _ = worker.call("net_policy_value", states=batch.states[:1])
    first = np.atleast_1d(together)[:1]
    return first.shape != alone.shape or not np.allclose(first, alone, atol=1e-4)


@pytest.mark.points("train_step.learning_rate")
def test_learning_rate(worker: Worker, verdict: Ruling, batch: Batch) -> None:
    verdict.expected = "No weight moves at lr 0; ten times the lr moves them about ten times as far in the first step."
    trained = trained_keys(batch)

    def length(lr: float) -> float:
        _, after = train(worker, batch, lr)
        return float(np.sqrt(sum(np.sum(change(batch.weights, after, key) ** 2) for key in trained)))

    still, short, long = length(0.0), length(1e-4), length(1e-3)
    verdict.seen = f"Weights moved by {still:.2g} at lr 0, {short:.3g} at 1e-4, {long:.3g} at 1e-3."
    verdict.expect(short > 0, "The weights do not move at all in a step at lr 1e-4.")
    ratio = long / short
    if still > 0.01 * short or not 8 < ratio < 12:
        raise StudentFault(
            f"The learning rate given to train_step is not the one used: the weights moved by {still:.2g} at lr 0, "
            f"{short:.3g} at 1e-4 and {long:.3g} at 1e-3."
        )
    # The second call's lr must count as well as the first one's.
    worker.call("net_train", states=batch.states, probs=batch.probs, winners=batch.winners, lr=0.0, steps=1)
    before = worker.call("net_weights")
    worker.call("net_train", states=batch.states, probs=batch.probs, winners=batch.winners, lr=0.0, steps=1)
    after = worker.call("net_weights")
    drift = max(float(np.abs(change(before, after, key)).max()) for key in trained)
    verdict.expect(drift < 1e-7, f"A later call with lr 0 still moved the weights by {drift:.2g}.")


@pytest.mark.points("train_step.l2")
def test_l2(worker: Worker, verdict: Ruling, batch: Batch) -> None:
    """The weights of a plane that is empty in the whole batch: only regularisation can move them, and towards zero."""
    verdict.expected = "Weights that the data says nothing about shrink."
    _, after = train(worker, batch, lr=1e-2)
    key = "conv2d_1.weight"
    unused = batch.weights[key][:, UNUSED_PLANE].astype(float).reshape(-1)
    moved = change(batch.weights, after, key)[:, UNUSED_PLANE].reshape(-1)
    large = np.abs(unused) > 0.05
    most = max(float(np.abs(change(batch.weights, after, key)).max()) for key in trained_keys(batch))
    verdict.expect(most > 0, "The weights do not move at all in a step at lr 1e-2.")
    verdict.expect(
        float(np.abs(moved).max()) > 0,
        "Weights that the data says nothing about did not move: there is no L2 regularisation, in the loss or as weight decay.",
    )
    inward = float(np.mean(np.sign(moved[large]) == -np.sign(unused[large])))
    verdict.seen = f"{inward:.0%} of those weights moved towards zero."
    verdict.expect(inward > 0.95, f"Of the weights that the data says nothing about only {inward:.0%} moved towards zero.")


@pytest.mark.points("train_step.overfits")
def test_overfits(worker: Worker, verdict: Ruling, batch: Batch) -> None:
    """From fresh weights, as the student's own code draws them; the two-channel heads can be dead from the start (ReLU)."""
    steps, beginnings = 150, 5
    target_entropy = float(-np.mean(np.sum(batch.probs * np.log(batch.probs + 1e-12), axis=1)))
    told = {"states": batch.states, "probs": batch.probs, "winners": batch.winners}
    verdict.expected = (
        f"{steps} steps on one batch of {BATCH} take most of the loss away (the targets' own entropy is left), from one of "
        f"{beginnings} draws of the weights at least."
    )
    _expect_fresh_gradients(worker, verdict, batch)
    left = float("inf")
    for _ in range(beginnings):
        worker.call("net_create", width=WIDTH, height=HEIGHT, block=BLOCK)
        before, own_start = worker.call("net_weights"), _own_loss(worker, batch)
        worker.call("net_train", lr=1e-3, steps=steps, **told)
        after = worker.call("net_weights")
        pairs = [(_loss_of(before, batch), _loss_of(after, batch))]
        if _share(*pairs[0], target_entropy) >= ENOUGH:
            # A network of another layout is asked itself, in a process that knows nothing but the weights.
            worker.close()
            worker.call("net_create", width=WIDTH, height=HEIGHT, block=BLOCK, weights=after)
            pairs.append((own_start, _own_loss(worker, batch)))
        start, end = min(pairs, key=lambda pair: _share(*pair, target_entropy))
        share = _share(start, end, target_entropy)
        if share < left:
            left = share
            verdict.seen = f"Loss {start:.3f} at first, {end:.3f} at last; {target_entropy:.3f} cannot be learnt away."
        if left < ENOUGH:
            return
    raise StudentFault(f"{verdict.seen} The steps do not learn: {left:.0%} of what can be learnt is left.")


def _expect_fresh_gradients(worker: Worker, verdict: Ruling, batch: Batch) -> None:
    """At lr 0 a second step on the same batch has the first one's gradients, and not their sum."""
    train(worker, batch, lr=0.0)
    first = worker.call("net_gradients")
    worker.call("net_train", states=batch.states, probs=batch.probs, winners=batch.winners, lr=0.0, steps=1)
    second = worker.call("net_gradients")
    # None where the gradients are cleared after the step; then nothing can be left of them.
    for name, gradient in first.items():
        again = second.get(name, np.empty(0))
        felt = again.shape == gradient.shape and np.abs(gradient).max(initial=0) > 1e-4
        verdict.expect(
            not felt or not np.allclose(again, 2.0 * gradient, rtol=1e-2),
            "The second step's gradients hold the first one's too: gradients of an earlier step must not remain.",
        )


def _share(start: float, end: float, target_entropy: float) -> float:
    return (end - target_entropy) / max(start - target_entropy, 1e-9) if np.isfinite([start, end]).all() else float("inf")


def _loss_of(weights: dict[str, np.ndarray], batch: Batch) -> float:
    """What the weights make of the batch, computed here: what train_step says of its loss is only its word."""
    try:
        return batch.loss_of(*forward(weights, batch.states, width=WIDTH, height=HEIGHT, train_mode=True))
    except (ValueError, RuntimeError):
        return float("inf")  # not the handout's layers, which is another check's matter


def _own_loss(worker: Worker, batch: Batch) -> float:
    """What the student's network makes of the batch."""
    probs, value = worker.call("net_policy_value", states=batch.states)
    if probs.shape != batch.probs.shape or value.size != len(batch.winners):
        return float("inf")
    return batch.loss_of(np.log(np.clip(probs, 1e-12, None)), value.reshape(-1, 1))
