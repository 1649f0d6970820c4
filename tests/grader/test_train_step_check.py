"""What the checks of a training step make of what it returns, on a worker that computes the handout's network."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from grader.confinement.loading import STATE
from grader.confinement.network_calls import both, net_train, numbers_in
from grader.confinement.stand_in import model_replaced
from grader.errors import StudentFault
from grader.judge.checks import test_train_step as checks
from grader.judge.support.network_cases import UNUSED_PLANE, FittedNetwork, heads_of
from grader.judge.support.objectives import HANDOUT, STATISTICS, WITHOUT_CONVOLUTIONS, WITHOUT_DENSE, l2_terms
from grader.judge.support.ruling import Ruling
from grader.judge.support.training_steps import FIRST, ask_for_batch, entropy_of, first_layer, fitted_batch, right_outputs
from grader.judge.trusted.answers import TrustedOracle
from grader.judge.trusted.network import forward


class Worker:
    """A worker whose training step returns these numbers and makes these weights smaller; by default all of them.

    Args:
        shrinks: returns for a key of the state_dict whether its weights shrink, or an array that says it of each.
    """

    def __init__(self, returned, shrinks=lambda key: True):
        self.returned, self.shrinks, self.weights = returned, shrinks, {}

    def call(self, operation, weights=None, states=None, lr=0.0, train_mode=False, **_):
        if operation == "net_create":
            self.weights = dict(weights)
        elif operation == "net_weights":
            return self.weights
        elif operation == "net_train":
            moved = {key: w - np.float32(lr) * np.sign(w) * self.shrinks(key) for key, w in self.weights.items()}
            self.weights |= {key: w for key, w in moved.items() if self.weights[key].dtype.kind == "f"}
            return [self.returned]
        elif operation == "net_optimiser_steps":
            return []
        else:
            log_probs, value = forward(self.weights, states, train_mode=train_mode)
            return (np.exp(log_probs) if operation == "net_policy_value" else log_probs), value


SEEN_PLANES = (np.arange(9) != UNUSED_PLANE)[:, np.newaxis, np.newaxis]
HEADS = np.zeros((2, 16)), np.zeros((2, 1))  # of two states of 4x4


@pytest.fixture(scope="module")
def batch():
    return ask_for_batch(Random(1), TrustedOracle())


@pytest.fixture
def pair(batch):
    """The right loss without its L2 term, and the right entropy."""
    outputs = right_outputs(batch)
    return HANDOUT.loss(outputs, batch.targets), entropy_of(outputs)


def judged(check, batch, returned, **more):
    ruling = Ruling(shares={"entropy": 0.75})
    try:
        check(Worker(returned, **more), ruling, batch)
    except StudentFault as fault:
        return str(fault)
    return ruling.message


@pytest.mark.parametrize("chosen", [[], [0], [0, 1, 1]])
def test_another_count_of_numbers_than_two_is_a_matter_for_the_check_of_the_loss_alone(batch, pair, chosen):
    returned = [pair[place] for place in chosen]
    assert "two finite numbers" in judged(checks.test_loss, batch, returned)
    assert judged(checks.test_l2, batch, returned) == judged(checks.test_train_mode, batch, returned) == ""


def test_a_loss_that_is_not_finite_is_refused_and_such_an_entropy_costs_a_share(batch, pair):
    loss, entropy = pair
    assert judged(checks.test_loss, batch, [loss, entropy]) == ""
    assert "two finite numbers" in judged(checks.test_loss, batch, [float("nan"), entropy])
    assert "The entropy returned is nan" in judged(checks.test_loss, batch, [loss, float("nan")])


def test_loss_and_entropy_in_the_wrong_order_are_recognised(batch, pair):
    assert "the loss comes first" in judged(checks.test_loss, batch, pair[::-1])


def test_an_l2_term_over_the_state_dict_is_a_matter_for_the_check_of_the_loss_alone(batch, pair):
    returned = pair[0] + l2_terms(batch.weights)[STATISTICS][0], pair[1]
    assert STATISTICS in judged(checks.test_loss, batch, returned)
    assert judged(checks.test_l2, batch, returned, shrinks=lambda key: "conv" not in key) == ""


def test_a_first_layer_that_is_never_trained_is_not_taken_for_a_missing_l2_term(batch, pair):
    """The optimiser lacks it, which test_overfits reports; only a loss without the term shows that this is missing too."""
    for term in l2_terms(batch.weights)[""][:2]:
        told = judged(checks.test_l2, batch, [pair[0] + term, pair[1]], shrinks=lambda key: not key.startswith("conv2d_1"))
        assert ("there is no L2 regularisation" in told) == (term == 0.0)


def test_a_missing_part_of_the_l2_term_is_a_matter_for_the_check_of_the_loss_alone(batch, pair):
    for slip, left_out in ((WITHOUT_DENSE, "dense"), (WITHOUT_CONVOLUTIONS, "conv")):
        returned = pair[0] + l2_terms(batch.weights)[slip][0], pair[1]
        assert slip in judged(checks.test_loss, batch, returned)
        assert judged(checks.test_l2, batch, returned, shrinks=lambda key, part=left_out: part not in key) == ""


def test_a_step_without_l2_is_told_from_one_whose_l2_term_has_no_gradient(batch, pair):
    told = {}
    for added in (0.0, l2_terms(batch.weights)[""][1]):
        returned = pair[0] + added, pair[1]
        told[added > 0] = judged(checks.test_l2, batch, returned, shrinks=lambda key: SEEN_PLANES if key == FIRST else True)
    assert "there is no L2 regularisation" in told[False] and "without a gradient" in told[True]


def test_a_network_with_other_layers_is_judged_with_its_own_weights(batch):
    renamed = {key.replace("flatten_layer_3", "dense_layer_3"): w for key, w in batch.weights.items()}
    wider = {**batch.weights, "conv2d_1.weight": np.zeros((64, 9, 3, 3))}
    for own, same in ((batch.weights, True), (renamed, False), (wider, False)):
        worker = SimpleNamespace(call=lambda operation, own=own, **_: own if operation == "net_weights" else HEADS)
        fitted = fitted_batch(worker, Ruling(), batch)
        assert (fitted is batch) == same == bool(fitted.right) and fitted.weights is own


@pytest.mark.parametrize(
    "replies",
    [
        {"net_forward": None},
        {"net_create": None, "net_forward": None},
        {"net_forward": HEADS[::-1], "net_policy_value": HEADS[::-1]},
        {"net_forward": HEADS[::-1], "net_policy_value": None},
    ],
)
def test_another_network_stands_in_for_one_that_fails(batch, replies):
    def call(operation, stand_in=False, **_):
        if operation in replies and not stand_in:
            if replies[operation] is None:
                raise StudentFault("It fails.")
            return replies[operation]
        return batch.weights if operation == "net_weights" else HEADS

    ruling = Ruling()
    fitted = fitted_batch(SimpleNamespace(call=call), ruling, batch)
    assert fitted.size["stand_in"] and not fitted.right and "yours fails" in ruling.message
    assert "stand_in" not in batch.size, "the batch itself stays as it was"


def test_a_network_whose_callers_know_that_the_value_comes_first_is_tried_itself(batch):
    replies = {"net_weights": batch.weights, "net_forward": HEADS[::-1], "net_policy_value": HEADS}
    worker = SimpleNamespace(call=lambda operation, **_: replies.get(operation))
    assert fitted_batch(worker, Ruling(), batch) is batch


def test_a_policy_value_that_fails_is_replaced_by_what_forward_gives():
    def call(operation, **_):
        if operation == "net_policy_value":
            raise StudentFault("It fails.")
        return np.log(np.full((1, 4), 0.25)), np.ones((1, 1))

    probs, value = heads_of(SimpleNamespace(call=call), np.zeros((1, 9, 2, 2)))
    assert np.allclose(probs, 0.25) and value.item() == 1.0


def test_a_fault_that_the_stand_in_does_not_mend_is_told(batch):
    def call(operation, stand_in=False, **_):
        raise StudentFault("With the stand-in." if stand_in else "Without it.")

    with pytest.raises(StudentFault, match="Without it"):
        fitted_batch(SimpleNamespace(call=call), Ruling(), batch)


def test_a_stand_in_has_the_outputs_of_the_handouts_network_and_leaves_the_module_as_it_was():
    module = SimpleNamespace(PolicyValueNetModel="the student's")
    with model_replaced(module, torch):
        model = module.PolicyValueNetModel(board_width=5, board_height=4, block=1, planes_num=9)
    log_probs, value = model(torch.zeros(2, 9, 4, 5))
    assert log_probs.shape == (2, 20) and value.shape == (2, 1)
    assert torch.allclose(log_probs.exp().sum(dim=1), torch.ones(2)) and module.PolicyValueNetModel == "the student's"


def test_the_layer_that_sees_the_planes_is_found_under_another_name(batch):
    assert first_layer(batch) == FIRST
    renamed = {key.replace("conv2d_1", "first"): w for key, w in batch.weights.items()}
    assert first_layer(batch.with_other_network(FittedNetwork(batch.size, renamed, False))) == "first.weight"


@pytest.mark.parametrize(
    ("returned", "numbers"),
    [
        ((1.5, 2), [1.5, 2.0]),
        (np.array([1.5, 2.0]), [1.5, 2.0]),
        (np.float32(1.5), [1.5]),
        (None, []),
        ({"loss": 1.5, "entropy": 2.0}, []),
    ],
)
def test_the_numbers_of_a_step_are_read_from_whatever_it_returns(returned, numbers):
    assert numbers_in(returned) == numbers


@pytest.mark.parametrize(("returned", "words"), [(None, "None"), (1.5, "type float"), ((1, 2, 3), "a tuple of 3")])
def test_a_network_that_does_not_return_two_outputs_is_named(returned, words):
    with pytest.raises(TypeError, match=f"forward must return the policy and the value; it returned .*{words}"):
        both(returned, "forward")


def test_a_step_may_work_in_its_array_of_winners_as_train_py_makes_a_new_one_for_each_step(monkeypatch):
    seen = []

    def train_step(states, probs, winners, lr):
        seen.append(winners.tolist())
        winners -= 1
        return 0.0, 0.0

    monkeypatch.setitem(STATE, "net", SimpleNamespace(train_step=train_step))
    net_train(np.zeros((2, 9, 4, 4)), np.zeros((2, 16)), np.array([1.0, -1.0]), 1e-3, steps=2)
    assert seen == [[1.0, -1.0], [1.0, -1.0]]
