"""What network.outputs takes for the same outputs, and how it names outputs that differ."""

from types import SimpleNamespace

import numpy as np
import pytest

from grader.confinement import network_calls
from grader.confinement.loading import STATE
from grader.confinement.network_calls import evaluation_by, policy_value_by_forward
from grader.errors import StudentFault
from grader.judge.checks.test_network import LEAST_LOG, _both_heads, _expect_close, _expect_same_outputs, _train_mode
from grader.judge.support.board_position import EMPTY_3X3, BoardPosition
from grader.judge.support.network_cases import FittedNetwork

LOG_PROBS = np.log(np.array([[0.9, 0.1 - 2e-4, 2e-4, 1e-9, 1e-30], [0.5, 0.25, 0.15, 0.1, 1e-12]]))


POSITIONS = [BoardPosition(5, 1, 1), BoardPosition(5, 1, 1, (2,))]
drawn = []


def judged(seen):
    drawn.clear()
    try:
        _expect_close(seen, LOG_PROBS, "log probabilities", POSITIONS, least=LEAST_LOG)
    except StudentFault as fault:
        drawn.extend(fault.boards)
        return str(fault)
    return ""


@pytest.mark.parametrize("constant", [0.0, 1e-12, 1e-10, 1e-8])
def test_a_constant_within_the_logarithm_is_right(constant):
    assert judged(np.log(np.exp(LOG_PROBS) + constant)) == ""


def test_the_logarithm_of_a_probability_that_vanishes_is_right():
    seen = LOG_PROBS.copy()
    seen[0, 4] = -np.inf
    assert judged(seen) == ""


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (LOG_PROBS + 1e-3, "differs from the reference by up to 0.001"),
        (LOG_PROBS[:, ::-1], "the right numbers in the wrong order"),
        (np.exp(LOG_PROBS), "The outputs are probabilities, not their logarithms."),
        (np.where(LOG_PROBS < -20, 0.0, LOG_PROBS), "differs from the reference"),
        (np.where(LOG_PROBS < -20, np.nan, LOG_PROBS), "not finite"),
        (LOG_PROBS[:, :4], "has shape [2, 4]; expected [2, 5]"),
    ],
)
def test_other_outputs_are_refused_and_named(seen, words):
    assert words in judged(seen)
    assert len(drawn) == (2 if "reference" in words or "order" in words or "logarithms" in words else 0)


def test_outputs_that_differ_are_drawn_on_the_position_that_differs_most():
    seen = LOG_PROBS.copy()
    seen[1, [0, 1]] = seen[1, [1, 0]]
    assert "wrong order" in judged(seen)
    expected, got = drawn
    assert expected["moves"] == got["moves"] == [2] and expected["caption"].startswith("Expected: the probability")
    assert dict(expected["shares"])[0] == 0.5 and dict(got["shares"])[0] == 0.25


@pytest.mark.parametrize(("train_mode", "said"), [(True, "as if batch norm were in train mode"), (False, "")])
def test_train_mode_is_named_if_the_value_of_a_state_depends_on_the_batch(train_mode, said):
    states = np.random.default_rng(1).normal(size=(8, 9, 3, 3))

    class Worker:
        def call(self, operation, states):
            assert operation == "net_policy_value"
            values = states.mean(axis=(1, 2, 3))
            softmax_over_the_batch = np.exp(states[:, 0]) / np.exp(states[:, 0]).sum(axis=0)
            return softmax_over_the_batch.reshape(-1, 9), (values - values.mean() * train_mode).reshape(-1, 1)

    sentence = _train_mode(Worker(), states)
    assert said in sentence and bool(said) == bool(sentence)


def test_heads_in_the_wrong_order_are_a_matter_for_the_check_of_outputs_alone():
    policy, value = np.log(np.full((4, 9), 1 / 9)), np.zeros((4, 1))
    assert _both_heads((value, policy), 4).shape == _both_heads((policy, value[:, 0]), 4).shape == (4, 10)
    case = SimpleNamespace(states=np.zeros((4, 9, 3, 3)), width=3, height=3, positions=[BoardPosition(3, 3, 3)] * 4)
    worker = SimpleNamespace(call=lambda operation, states: (value, policy))
    with pytest.raises(StudentFault, match="forward returns the value first"):
        _expect_same_outputs(worker, case, {"log_probs": policy, "value": value})


SIZE = {"width": 3, "height": 3, "block": 1}


@pytest.mark.parametrize("reply", ["It fails.", (np.zeros((2, 1)), np.zeros((2, 9)))])
def test_another_policy_value_takes_the_place_of_one_that_fails(reply):
    made = []

    def call(operation, **arguments):
        if operation == "net_create":
            made.append(arguments)
        elif isinstance(reply, str):
            raise StudentFault(reply)
        return reply

    network = FittedNetwork(SIZE, {}, True).evaluating(SimpleNamespace(call=call))
    assert made[-1]["own_policy_value"] is False and "policy_value of the grader's" in network.remark


def test_a_policy_value_that_works_stays_and_one_that_is_not_written_is_told():
    def call(operation, **_):
        return np.zeros((2, 9)), np.zeros(2)

    assert FittedNetwork(SIZE, {}, True).evaluating(SimpleNamespace(call=call)).remark == ""

    def unwritten(operation, **_):
        if operation == "net_policy_value":
            raise StudentFault("Not written yet: policy_value (handout section 5.2).")

    with pytest.raises(StudentFault, match="Not written yet"):
        FittedNetwork(SIZE, {}, True).evaluating(SimpleNamespace(call=unwritten))


class Network:
    """A network with the functions that are handed out, more or less."""

    def __init__(self, of_array):
        self.of_array = of_array

    def policy_value(self, states, *_):
        return self.of_array(np.full((len(states), 9), 1 / 9)), self.of_array(np.zeros((len(states), 1)))

    def policy_value_fn(self, board, *handles):
        probs, value = self.policy_value(board.current_state()[None], *handles)
        return zip(board.availables, probs[0][board.availables], strict=True), value


def test_a_policy_value_without_arrays_is_named(monkeypatch):
    monkeypatch.setitem(STATE, "net", Network(lambda array: array))
    assert len(evaluation_by("policy_value_fn", EMPTY_3X3.to_json())[0]) == 9
    monkeypatch.setitem(STATE, "net", Network(np.ndarray.tolist))
    with pytest.raises(TypeError, match=r"policy_value must return two numpy arrays.*a value of type list"):
        evaluation_by("policy_value_fn", EMPTY_3X3.to_json())
    monkeypatch.setitem(STATE, "net", Network(lambda array: array[:, :1]))
    with pytest.raises(IndexError):
        evaluation_by("policy_value_fn", EMPTY_3X3.to_json())


def test_the_outputs_of_forward_can_take_the_place_of_policy_value(monkeypatch):
    monkeypatch.setattr(network_calls, "net_forward", lambda states: (np.log(np.full((len(states), 9), 1 / 9)), states[:, 0]))
    probs, _ = policy_value_by_forward(np.zeros((2, 1)), 2, 3)
    assert np.allclose(probs, 1 / 9)
