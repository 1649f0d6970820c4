"""What a right player may answer with, and forged trees; the rest is tried by submissions, in tests/trust."""

import json

import numpy as np
import pytest

from grader.confinement.searched_trees import MAX_TREE_NODES
from grader.errors import StudentFault
from grader.judge.support.board_position import BoardPosition, drawn_at
from grader.judge.support.searches import expect_most_visited
from grader.judge.support.trees import Tree, expect_legal_children, expect_values_add_up, expect_visits_add_up, most_visited

POSITION = BoardPosition(3, 3, 3)


def test_a_move_visited_nearly_as_often_may_be_drawn_at_a_temperature_near_zero():
    """A right solution draws the third with 1.5 %: (238 / 239) ** 1000."""
    assert most_visited({6: 239.0, 5: 239.0, 12: 238.0, 8: 11.0}) == {5, 6, 12}


@pytest.mark.parametrize("most", [20, 60, 150, 400, 1600])
def test_what_is_drawn_hardly_ever_is_no_right_answer(most):
    visits = {move: float(count) for move, count in enumerate(range(1, most + 1))}
    logs = np.log(np.array(list(visits.values()))) / 1e-3
    chances = np.exp(logs - logs.max())
    assert most_visited(visits) == {move for move, chance in enumerate(chances) if chance >= 1e-9}
    assert 0 not in most_visited(visits)


PLACE = " 1 is the place of move 5 in the list of the root's children, not a move."


@pytest.mark.parametrize(("move", "hint"), [(1, PLACE), (7, "")])
def test_a_place_in_the_list_of_children_is_no_move(move, hint):
    tree = Tree.from_reply(reply([-1, 0, 0, 0], move=np.array([-1, 3, 5, 7]), visits=np.array([9, 2, 5, 1])))
    expect_most_visited(5, tree, POSITION, "Wrong.")
    with pytest.raises(StudentFault) as fault:
        expect_most_visited(move, tree, POSITION, "Wrong.")
    assert str(fault.value) == "Wrong." + hint


def reply(parent, kind=np.int64, **parts):
    size = len(parent)
    zeros = {name: np.zeros(size, dtype=kind) for name in ("move", "visits", "value", "prior")}
    return {"parent": np.array(parent, dtype=np.int64), **zeros, **parts}


def test_a_forged_tree_is_refused_by_its_size():
    with pytest.raises(StudentFault, match=f"has {MAX_TREE_NODES + 1} nodes"):
        Tree.from_reply(reply(np.maximum(-1, np.arange(-1, MAX_TREE_NODES))))
    assert len(Tree.from_reply(reply(np.arange(-1, MAX_TREE_NODES - 1))).parent) == MAX_TREE_NODES


def test_children_come_in_order_whatever_the_order_of_nodes():
    tree = Tree.from_reply(reply([-1, 0, 1, 0, 1, 3, 0]))
    for node in range(7):
        assert tree.children(node).tolist() == np.flatnonzero(tree.parent == node).tolist()
    assert tree.below(1).parent.tolist() == [-1, 0, 0] and tree.below(0).move.tolist() == tree.move.tolist()


def test_the_longest_chain_of_nodes_is_walked_and_told_in_few_words():
    """Each walk from a node to the root, one for each node, would take hours."""
    chain = np.arange(-1, MAX_TREE_NODES - 1)
    visits = np.full(MAX_TREE_NODES, 5.0)
    visits[-1] = 9.0
    tree = Tree.from_reply(reply(chain, visits=visits))
    assert len(tree.below(1).parent) == MAX_TREE_NODES - 1
    with pytest.raises(StudentFault) as fault:
        expect_visits_add_up(tree, 5)
    assert len(str(fault.value)) < 5000
    with pytest.raises(StudentFault, match=r"after moves \[0, 0\] is reached by an illegal move"):
        expect_legal_children(tree, POSITION)


def test_a_fault_is_drawn_on_the_position_of_its_node():
    tree = Tree.from_reply(reply([-1, 0], move=np.array([-1, 2]), visits=np.array([5, 4])))
    with pytest.raises(StudentFault, match="has no child for the legal moves") as fault:
        expect_legal_children(tree, BoardPosition(2, 2, 2, (3, 1)))
    (board,) = fault.value.boards
    assert board["moves"] == [3, 1] and (board["expected"], board["played"]) == ([0], [])
    with pytest.raises(StudentFault) as fault, drawn_at(POSITION, "Here", {4: 0.75, 9: 1.0, 2: float("nan")}):
        expect_visits_add_up(tree, 9)
    assert fault.value.boards == [POSITION.pictured("Here", shares={4: 0.75})]


def test_a_child_on_a_stone_is_drawn_in_numbers_that_a_record_can_hold():
    tree = Tree.from_reply(reply([-1, 0], move=np.array([-1, 4]), visits=np.array([5, 4])))
    with pytest.raises(StudentFault, match=r"after moves \[4\] is reached by an illegal move") as fault:
        expect_legal_children(tree, BoardPosition(3, 3, 3, (4,)))
    (board,) = json.loads(json.dumps(fault.value.boards))
    assert board["played"] == [4]
    pictured = POSITION.pictured("Here", expected=np.array([2, 1, 99]), played=[np.int64(3), np.float64("nan")])
    assert json.loads(json.dumps(pictured))["expected"] == [1, 2] and pictured["played"] == [3]


def test_a_wrong_value_is_drawn_at_its_node_with_both_values():
    """One line of two moves, each visited once more than the next; the evaluator gives every position 0.5."""
    values = {"move": np.array([-1, 4, 0]), "visits": np.array([3.0, 2.0, 1.0]), "prior": np.zeros(3)}
    right = Tree.from_reply(reply([-1, 0, 1], **values, value=np.array([0.0, 0.0, -0.5])))
    assert expect_values_add_up(right, POSITION, lambda board: 0.5) == ""
    wrong = Tree.from_reply(reply([-1, 0, 1], **values, value=np.array([0.0, 0.9, -0.5])))
    with pytest.raises(StudentFault, match="do not add up") as fault:
        expect_values_add_up(wrong, POSITION, lambda board: 0.5)
    (board,) = fault.value.boards
    assert board["moves"] == [4]
    assert board["caption"] == "Expected: Q +0.000. Seen: Q +0.900 after 2 visits of this position"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.05, 0.4], "Q has the same player's view in the whole tree"),
        ([-0.35, 0.4], "The value of each position enters the tree from the same player's point of view"),
        ([-0.35, -0.4], "do not change sign"),
    ],
)
def test_whose_view_the_values_have_is_told(values, message):
    """One line of two moves; the evaluator gives 0.3 after the first, 0.4 after the second, for whoever is to move."""
    line = {"move": np.array([-1, 4, 0]), "visits": np.array([3.0, 2.0, 1.0]), "prior": np.zeros(3)}
    tree = Tree.from_reply(reply([-1, 0, 1], **line, value=np.array([0.0, *values])))
    with pytest.raises(StudentFault, match=message):
        expect_values_add_up(tree, POSITION, lambda board: 0.2 + 0.1 * len(board.states))


@pytest.mark.parametrize(
    ("other", "win", "message"), [(0.5, 1.0, "from opposite points of view"), (-0.5, -1.0, "result of a finished game")]
)
def test_a_sign_that_is_turned_where_the_game_goes_on_is_not_blamed_on_results(other, win, message):
    """A winning move, and one after which the evaluator gives 0.5 to the side to move."""
    line = {"move": np.array([-1, 5, 2]), "visits": np.array([3.0, 1.0, 1.0]), "prior": np.zeros(3)}
    tree = Tree.from_reply(reply([-1, 0, 0], **line, value=np.array([0.0, other, win])))
    with pytest.raises(StudentFault, match=message):
        expect_values_add_up(tree, BoardPosition(3, 3, 3, (0, 3, 1, 4)), lambda board: 0.5)


def test_what_is_drawn_is_the_node_that_the_message_is_about():
    """The value after another move is even further off, and gets no picture."""
    moves, wins, other = (0, 3, 1, 4), 2, 5
    values = {"move": np.array([-1, other, wins]), "visits": np.array([5.0, 1.0, 1.0]), "prior": np.zeros(3)}
    tree = Tree.from_reply(reply([-1, 0, 0], **values, value=np.array([0.0, -9.0, 0.5])))
    with pytest.raises(StudentFault, match="not worth 1 or -1") as fault:
        expect_values_add_up(tree, BoardPosition(3, 3, 3, moves), lambda board: 0.5)
    (board,) = fault.value.boards
    assert board["moves"] == [*moves, wins] and board["caption"].startswith("Expected: Q +1. Seen: Q +0.500")


def test_small_numbers_of_a_reply_do_not_overflow():
    tree = Tree.from_reply(reply([-1, 0, 0], np.int8, visits=np.array([127, 100, 100], dtype=np.int8)))
    with pytest.raises(StudentFault, match="200 visits in total"):
        expect_visits_add_up(tree, 400)
