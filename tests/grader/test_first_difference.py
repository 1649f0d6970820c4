"""The first layer that differs from the handout's network is named, whatever the student's network does before or after."""

from random import Random

import numpy as np
import pytest
import torch
from torch import nn

from common.student_network import output_shapes
from grader.confinement.layers import layer_outputs
from grader.confinement.replies import REPLIES
from grader.judge.support.first_difference import ALL_ALIKE, LAYERS, first_difference
from grader.judge.support.network_cases import OUTPUTS
from grader.judge.trusted.answers import answers_of

SIZE = (5, 4, 2)


@pytest.fixture(scope="module")
def case():
    return OUTPUTS["outputs 5x4"](Random(1))


@pytest.fixture
def make_model(case, reference):
    """Return a function that makes the reference's network with the weights of the case."""

    def make():
        model = reference("policy_value_net_torch").PolicyValueNetModel(*SIZE, 9)
        model.load_state_dict({key: torch.as_tensor(value) for key, value in case.weights.items()})
        return model

    return make


def sentence(model, case, expected=True):
    """Return what is said about a model, through the layout that a worker's reply must have."""

    class InThisProcess:
        def call(self, operation, states):
            reply = layer_outputs(torch, model, states)
            assert operation == "net_layers" and REPLIES[operation].fits(reply)
            return reply

    return first_difference(InThisProcess(), case.states, SIZE, answers_of(case)[LAYERS] if expected else None)


def test_if_no_layer_differs_what_comes_after_them_is_named(make_model, case):
    assert sentence(make_model(), case) == ALL_ALIKE and sentence(make_model(), case, expected=False) == ""
    seen = [name for name, *_ in layer_outputs(torch, make_model(), case.states) if name in output_shapes(*SIZE)]
    assert sorted(seen) == sorted(output_shapes(*SIZE))


def test_a_layer_of_another_shape_is_named_even_if_the_rest_fails(make_model, case):
    model = make_model()
    model.conv2d_1 = nn.Conv2d(9, 64, 1, padding=1)
    assert sentence(model, case, expected=False) == (
        "The first layer whose output differs is conv2d_1: shape [8, 64, 6, 7]; expected [8, 64, 8, 9]. "
        "Look at it and at its input."
    )


@pytest.mark.parametrize(("name", "before"), [("resnet.1.3", "resnet.1.1"), ("bn_1", "conv2d_2"), ("dense_layer_2", "bn_2")])
def test_a_layer_with_other_numbers_is_named_with_the_one_before_it(make_model, case, name, before):
    model = make_model()
    with torch.no_grad():
        model.get_submodule(name).bias += 0.5
    said = sentence(model, case)
    assert said.startswith(f"The first layer whose output differs is {name}: mean ") and f"what happens after {before}." in said
    assert sentence(model, case, expected=False) == ""


def test_an_input_in_another_order_is_seen_at_the_layer_that_reads_it(make_model, case):
    model = make_model()
    model.dense_layer_1.register_forward_pre_hook(lambda module, arguments: arguments[0].flip(1))
    assert "differs is dense_layer_1:" in sentence(model, case)


def test_states_that_are_turned_round_first_show_at_the_first_layer(make_model, case):
    model = make_model()
    model.register_forward_pre_hook(lambda module, arguments: arguments[0].flip(2))
    assert sentence(model, case) == (
        "The first layer whose output differs is conv2d_1: mean and spread are right, but its entries are not, or they are in "
        "another order; expected channels, rows and columns in the order of the states, rows from the top. Look at it and at "
        "its input."
    )


def test_a_model_that_fails_at_once_or_gives_infinities_says_nothing(make_model, case):
    model = make_model()
    with torch.no_grad():
        model.conv2d_1.bias[0] = np.inf
    assert layer_outputs(torch, model, case.states) == [] and sentence(model, case) == ""
