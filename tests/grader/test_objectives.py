"""The handout's loss is recognised in each of its right forms, and each slip by its own name and no other."""

from random import Random

import numpy as np
import pytest
import torch

from grader.judge.support import objectives
from grader.judge.support.objectives import (
    BIASES,
    DIVERGENCES,
    DOUBLED,
    FACTORLESS,
    HANDOUT,
    LOSS_TOLERANCE,
    NOT_SQUARED,
    OBJECTIVES,
    STATISTICS,
    WITHOUT_CONVOLUTIONS,
    WITHOUT_DENSE,
    Outputs,
    PossibleOutputs,
)
from grader.judge.support.training_steps import ask_for_batch, right_outputs
from grader.judge.trusted.answers import TrustedOracle


@pytest.fixture(params=range(5))
def batch(request):
    return ask_for_batch(Random(request.param), TrustedOracle())


@pytest.fixture
def outputs(batch):
    return PossibleOutputs(*([right_outputs(batch, train_mode)] for train_mode in (True, False)))


def read(loss, batch, outputs):
    return objectives.read_loss(loss, outputs, batch.targets, batch.weights, LOSS_TOLERANCE)


def squares(batch, chosen, among=None):
    return sum(float(np.sum(w.astype(float) ** 2)) for key, w in (among or batch.trained).items() if chosen(key, w))


def test_the_handouts_loss_is_right_with_and_without_scales_and_with_weight_decay_in_place_of_the_term(batch, outputs):
    data = HANDOUT.loss(outputs.train_mode[0], batch.targets)
    for term in (
        1e-4 / 2 * squares(batch, lambda key, w: not key.endswith("bias")),
        1e-4 / 2 * squares(batch, lambda key, w: w.ndim > 1),
        0.0,
    ):
        assert read(data + term, batch, outputs).slip == ""


def test_each_slip_in_the_errors_is_read_by_its_name_whatever_the_l2_term(batch, outputs):
    term = 1e-4 / 2 * squares(batch, lambda key, w: w.ndim > 1)
    for objective in OBJECTIVES[1:]:
        loss = objective.loss(outputs.train_mode[0], batch.targets)
        for total in (loss, loss + term):
            reading = read(total, batch, outputs)
            assert (reading.objective, reading.slip) == (objective, objective.slip)


def test_each_slip_in_the_l2_term_is_read_by_its_name(batch, outputs):
    data = HANDOUT.loss(outputs.train_mode[0], batch.targets)
    not_biases = {key: w.astype(float) for key, w in batch.trained.items() if not key.endswith("bias")}
    everything = squares(batch, lambda key, w: True)
    biases_of_layers = {key.replace("weight", "bias") for key, w in batch.trained.items() if w.ndim > 1}
    square = squares(batch, lambda key, w: not key.endswith("bias"))
    for term, slip in (
        (1e-4 / 2 * everything, BIASES),
        (1e-4 / 2 * squares(batch, lambda key, w: w.ndim > 1 or key.endswith("bias")), BIASES),
        (1e-4 / 2 * squares(batch, lambda key, w: w.ndim > 1 or key in biases_of_layers), BIASES),
        (1e-4 * square, DOUBLED),
        (1e-4 / 2 * squares(batch, lambda key, w: w.ndim == 4), WITHOUT_DENSE),
        (1e-4 / 2 * squares(batch, lambda key, w: w.ndim != 4 and not key.endswith("bias")), WITHOUT_CONVOLUTIONS),
        (1e-4 / 2 * squares(batch, lambda key, w: not key.endswith("bias"), among=batch.weights), STATISTICS),
        (1e-4 / 2 * squares(batch, lambda key, w: "num_batches" not in key, among=batch.weights), STATISTICS),
        (square / 2, FACTORLESS),
        (1e-4 / 2 * sum(np.linalg.norm(w) for w in not_biases.values()), NOT_SQUARED),
        (1e-4 / 2 * np.sqrt(square), NOT_SQUARED),
        (1e-4 * sum(np.linalg.norm(w) for w in not_biases.values()), NOT_SQUARED),
    ):
        assert (read(data + term, batch, outputs).objective, read(data + term, batch, outputs).slip) == (HANDOUT, slip)


@pytest.mark.parametrize(("reduction", "expected"), list(zip(("batchmean", "mean", "sum"), DIVERGENCES, strict=True)))
@pytest.mark.filterwarnings("ignore:reduction. 'mean'")
def test_the_divergence_from_the_targets_is_told_from_their_cross_entropy(reduction, expected, batch, outputs):
    pi, log_probs = batch.targets.pi, outputs.train_mode[0].log_probs
    value_error = HANDOUT.value_error(outputs.train_mode[0].values, batch.targets.z)
    divergence = torch.nn.functional.kl_div(torch.tensor(log_probs), torch.tensor(pi), reduction=reduction).item()
    for term in (0.0, 1e-4 / 2 * squares(batch, lambda key, w: w.ndim > 1)):
        assert read(value_error + divergence + term, batch, outputs) == expected


def test_a_slip_that_fits_is_not_missed_because_two_oddities_together_fit_by_chance(batch, outputs):
    """The handout's loss in eval mode with the L2 term subtracted is read as such, but gives way to what fits better."""
    term = 1e-4 / 2 * squares(batch, lambda key, w: w.ndim > 1)
    odd = outputs.eval_mode[0]
    assert read(HANDOUT.loss(odd, batch.targets) - term, batch, outputs).slip == ""
    negated = next(objective for objective in OBJECTIVES if "-z instead of z" in objective.slip)
    loss = negated.loss(outputs.train_mode[0], batch.targets) + term
    shifted = loss + LOSS_TOLERANCE / 2 + term - HANDOUT.loss(odd, batch.targets)
    by_chance = PossibleOutputs(outputs.train_mode, [Outputs(odd.log_probs - shifted, odd.values)])
    assert HANDOUT.loss(by_chance.eval_mode[0], batch.targets) - term == pytest.approx(loss, abs=LOSS_TOLERANCE)
    assert read(loss, batch, by_chance).objective is negated


def test_a_loss_that_no_single_slip_explains_has_no_reading(batch, outputs):
    assert read(HANDOUT.loss(outputs.train_mode[0], batch.targets) * 1.7 + 0.123, batch, outputs) is None
    assert read(float("inf"), batch, outputs) is None


def log_softmax(logits):
    return logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.slip[:30] or "handout")
def test_no_outputs_get_far_below_the_floor_of_an_objective_and_ideal_ones_reach_it(objective, batch):
    numbers = np.random.default_rng(1)
    pi, z = batch.targets
    start = Outputs(log_softmax(np.zeros_like(pi)), np.zeros_like(z))
    toward = [pi * 8, np.eye(pi.shape[1])[pi.argmax(axis=1)] * 8, np.eye(pi.shape[1])[pi.argmin(axis=1)] * 8, np.log(pi + 1e-4)]
    shares = [
        objective.share_left(start, Outputs(log_softmax(logits * scale + noise), np.tanh(values)), batch.targets)
        for logits in toward
        for scale in (0.5, 1.0)
        for values in (3 * z, -3 * z, np.full_like(z, np.mean(z)))
        for noise in (np.zeros_like(pi), numbers.normal(0.0, 0.5, pi.shape))
    ]
    assert -0.05 < min(shares) < 0.2 and objective.share_left(start, start, batch.targets) == pytest.approx(1.0)
    worst = Outputs(np.full_like(pi, -np.inf), np.full_like(z, np.nan))
    assert objective.share_left(start, worst, batch.targets) == float("inf")


SLIPS_IN_WHAT_IS_LEARNT = {
    "": (lambda pi: np.log(pi + 1e-4), lambda z: 3 * z),
    "the policy learns the argmax of pi instead of pi": (
        lambda pi: 9 * np.eye(pi.shape[1])[pi.argmax(axis=1)],
        lambda z: 3 * z,
    ),
    "the value learns the negated result, -z instead of z": (lambda pi: np.log(pi + 1e-4), lambda z: -3 * z),
    "the policy's cross entropy is missing": (np.zeros_like, lambda z: 3 * z),
    "the value's error is missing": (lambda pi: np.log(pi + 1e-4), None),  # the values stay as they were
}


@pytest.mark.parametrize("slip", SLIPS_IN_WHAT_IS_LEARNT)
@pytest.mark.parametrize("value_reached", [0.5, 0.8, 1.0])
def test_what_both_heads_learn_is_told_from_what_one_of_them_learns(slip, value_reached, batch):
    """However much nearer than the policy the value has come to its end."""
    pi, z = batch.targets
    numbers = np.random.default_rng(2)
    logits = 0.2 * numbers.normal(size=pi.shape)
    start = Outputs(log_softmax(logits), 0.2 * numbers.normal(size=z.shape))
    of_policy, of_value = SLIPS_IN_WHAT_IS_LEARNT[slip]
    end = Outputs(log_softmax(of_policy(pi) + logits), np.tanh(value_reached * of_value(z)) if of_value else start.values)
    found = objectives.learnt_objective([(start, end)] * 5, batch.targets, 0.25)
    assert found is not None and found.slip == slip


def test_a_value_that_drifts_to_the_mean_in_one_training_is_not_taken_for_one_that_learns(batch):
    pi, z = batch.targets
    numbers = np.random.default_rng(3)
    learnt = log_softmax(np.log(pi + 1e-4))
    drifts = [0.2 * numbers.normal(size=z.shape) for _ in range(4)] + [np.full_like(z, np.mean(z))]
    first = Outputs(log_softmax(np.zeros_like(pi)), np.sign(z) * -0.5)
    trainings = [(first, Outputs(learnt, values)) for values in drifts]
    alone, among = (objectives.learnt_objective(each, batch.targets, 0.25) for each in (trainings[-1:], trainings))
    assert "broadcasting" in alone.slip and "error is missing" in among.slip
