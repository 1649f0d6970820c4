"""How a worker runs a student's search: the evaluator that it gives, and the arguments of get_action."""

from random import Random

import numpy as np
import pytest
from odd_workers import PLAYER, POSITION

from Board.game_board import Board
from grader.confinement.worker import SearchEvaluator
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.board_position import EMPTY_3X3
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import call, expect_reuse, hash_evaluation


@pytest.mark.parametrize("kind", ["hash", "hash priors"])
def test_the_priors_of_a_position_do_not_depend_on_the_order_of_its_empty_points(kind):
    """A search may shuffle the list of a copy, or append to it where it takes a move back."""
    board = EMPTY_3X3.after([4]).board()
    evaluate = SearchEvaluator(kind, seed=7)
    before = dict(evaluate(board)[0])
    assert list(before.values()) == pytest.approx(list(hash_evaluation(board, 7)[0]))
    board.availables.reverse()
    pairs = list(evaluate(board)[0])
    assert [move for move, _ in pairs] == board.availables, "in the order of the board, as a network's policy has them"
    assert dict(pairs) == before


def test_given_priors_of_the_root_go_to_their_moves_in_any_order():
    board = Board(width=3, height=3, n_in_row=3)
    board.init_board()
    board.availables.reverse()
    priors = np.arange(9) / 36
    assert dict(SearchEvaluator("hash", at_root=priors)(board)[0]) == dict(enumerate(priors))


def test_get_action_is_called_as_the_game_calls_it(worker):
    """`Game.start_self_play` passes True and False by name; a search may compare with True itself."""
    checked = "assert _.keys() == {'is_selfplay', 'print_probs_value'} and _['is_selfplay'] is "
    for is_selfplay in (False, True):
        asked = worker(f"{checked}{is_selfplay}")
        assert asked.call("search", position=POSITION, is_selfplay=int(is_selfplay), **PLAYER)["move"] == 1
        asked.close()


class OnlyArrays:
    """A worker with a search that understands no float as the value."""

    def __init__(self, fault):
        self.fault = fault

    def call(self, operation, *, evaluator, **_):
        if "value_as_array" not in evaluator:
            raise StudentFault(f"{self.fault} (AlphaZero/mcts_alphaZero.py, line 1).")
        return operation


@pytest.mark.parametrize(
    "fault",
    [
        "TypeError: 'float' object is not subscriptable",
        "AxisError: axis 0 is out of bounds for array of dimension 0",
        "ValueError: zero-dimensional arrays cannot be concatenated",
        "AssertionError",
    ],
)
def test_a_search_that_understands_only_arrays_is_given_one(fault):
    assert call(OnlyArrays(fault), "search", position=EMPTY_3X3, evaluator={"kind": "uniform"}) == "search"


def test_another_fault_of_a_search_is_told_at_once():
    with pytest.raises(StudentFault, match="ZeroDivisionError"):
        call(OnlyArrays("ZeroDivisionError"), "search", position=EMPTY_3X3, evaluator={"kind": "uniform"})


class WithoutItsTree:
    """A worker with a search whose root cannot be set and whose tree is gone after get_action."""

    def call(self, operation, **_):
        return {}


def test_a_search_whose_updates_cannot_be_tried_is_left_to_a_person():
    with pytest.raises(CouldNotGrade, match="cannot be set"):
        expect_reuse(WithoutItsTree(), Ruling(), Random(1), {"kind": "mcts_pure", "evaluator": {"kind": "uniform"}})
