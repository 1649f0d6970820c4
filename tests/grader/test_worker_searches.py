"""How a worker runs a student's search: the evaluator that it gives, and the arguments of get_action."""

from random import Random

import numpy as np
import pytest
from odd_workers import PLAYER, POSITION

from Board.game_board import Board
from grader.assignment import ROOT
from grader.confinement.worker import SearchEvaluator
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.checks import test_mcts_alphazero, test_mcts_pure, test_noise
from grader.judge.support.agreement import AGREEMENT_TOLERANCE, expect_agreement
from grader.judge.support.board_position import EMPTY_3X3
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import call, expect_reuse, hash_evaluation, searches_of
from grader.judge.support.trees import Tree, expect_visits_add_up
from grader.judge.trusted.answers import TrustedOracle


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


TREE_IN_ARRAYS = """
import random
from math import sqrt

class Node:
    def __init__(self, tree, row):
        self.tree, self.row = tree, row
    _parent = property(lambda self: Node(self.tree, self.tree.parent[self.row]) if self.tree.parent[self.row] >= 0 else None)
    _children = property(lambda self: {move: Node(self.tree, row) for move, row in self.tree.children[self.row].items()})
    _n_visits = property(lambda self: self.tree.visits[self.row])
    _Q = property(lambda self: self.tree.total[self.row] / max(1, self.tree.visits[self.row]))
    _P = property(lambda self: self.tree.prior[self.row])

class Tree:
    def __init__(self):
        self.clear()

    def clear(self):
        self.parent, self.children, self.visits, self.total, self.prior, self.top = [], [], [], [], [], 0
        self.add(-1, 1.0)

    def add(self, parent, prior):
        columns = self.parent, self.children, self.visits, self.total, self.prior
        for column, entry in zip(columns, (parent, {}, 0, 0.0, prior)):
            column.append(entry)
        return len(self.parent) - 1

    def selected(self, at, c_puct):
        value = lambda row: self.total[row] / max(1, self.visits[row])
        bonus = lambda row: c_puct * self.prior[row] * sqrt(self.visits[at]) / (1 + self.visits[row])
        return max(self.children[at].items(), key=lambda pair: value(pair[1]) + bonus(pair[1]))

    def advance(self, move):
        if move in self.children[self.top]:
            self.top = self.children[self.top][move]
            self.parent[self.top] = -1
        else:
            self.clear()

class MCTS:
    def __init__(self, policy, c_puct=5, n_playout=100):
        self.tree, self.policy, self.c_puct, self.n_playout = Tree(), policy, c_puct, n_playout
        self.name_root()

    ROOT

    def playout(self, board):
        tree = self.tree
        at = tree.top
        while tree.children[at]:
            move, at = tree.selected(at, self.c_puct)
            board.do_move(move)
        if not board.game_end()[0]:
            tree.children[at] = {move: tree.add(at, prior) for move, prior in self.policy(board)[0]}
        mover = 3 - board.get_current_player()
        while not board.game_end()[0]:
            board.do_move(random.choice(board.availables))
        winner = board.game_end()[1]
        value = 0 if winner == -1 else 1 if winner == mover else -1
        while at >= 0:
            tree.visits[at] += 1
            tree.total[at] += value
            at, value = tree.parent[at], -value

    def update_with_move(self, move):
        self.tree.advance(move)
        self.name_root()

class MCTSPlayer:
    def __init__(self, c_puct=5, n_playout=100):
        self.mcts = MCTS(None, c_puct, n_playout)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.mcts.update_with_move(-1)
        for _ in range(self.mcts.n_playout):
            self.mcts.playout(board.copy())
        tree = self.mcts.tree
        move = max(tree.children[tree.top], key=lambda move: tree.visits[tree.children[tree.top][move]])
        self.mcts.update_with_move(-1)
        return move, None
"""
ROOTS = {
    "a property": "_root = property(lambda self: Node(self.tree, self.tree.top)); name_root = lambda self: None",
    "a second name": "name_root = lambda self: setattr(self, '_root', Node(self.tree, self.tree.top))",
}
SLIPS = {
    "throws the searched subtree away": ("if move in self.children", "if False and move in self.children"),
    "should cut the new root off": ("            self.parent[self.top] = -1\n", ""),
    r"update_with_move\(-1\) should start from a new root": ("        else:\n            self.clear()\n", ""),
}
PURE = {"kind": "mcts_pure", "c_puct": 5.0, "evaluator": {"kind": "uniform"}}


@pytest.fixture
def search_of(worker):
    """Makes a worker with this search, with a text in it replaced."""

    def make(root, old="", new=""):
        assert old in TREE_IN_ARRAYS
        text = TREE_IN_ARRAYS.replace(old, new) if old else TREE_IN_ARRAYS
        return worker(more={"AlphaZero/mcts_pure.py": text.replace("ROOT", ROOTS[root]).encode()})

    return make


@pytest.mark.parametrize("root", ROOTS)
def test_a_tree_in_arrays_that_are_cleared_afterwards_is_read_and_updated(search_of, root):
    worker = search_of(root)
    reply = worker.call("search", position=POSITION, n_playout=200, **PURE)
    expect_visits_add_up(Tree.from_reply(reply["tree"]), 200)
    expect_reuse(worker, Ruling(), Random(1), PURE)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("fault", SLIPS)
def test_a_slip_in_the_update_of_a_tree_in_arrays_is_found(search_of, root, fault):
    with pytest.raises(StudentFault, match=fault):
        expect_reuse(search_of(root, *SLIPS[fault]), Ruling(), Random(1), PURE)


def test_a_search_whose_updates_cannot_be_tried_is_left_to_a_person(search_of):
    """Its root cannot be set, and its tree is gone after get_action."""
    last = "        self.mcts.update_with_move(-1)\n        return move"
    with pytest.raises(CouldNotGrade, match="cannot be set"):
        expect_reuse(
            search_of("a property", last, "        self.mcts.tree = Tree()\n        return move"), Ruling(), Random(1), PURE
        )


MOVED = "            self._root = self._root._children[last_move]\n"
KEEPING = MOVED, f"            self.before = self._root\n{MOVED}"
WEAK_PARENTS = {
    "        self._parent = parent\n": "        self.parent_reference = parent and weakref.ref(parent)\n",
    "    def get_value(": """    @property
    def _parent(self):
        return self.parent_reference and self.parent_reference()

    def get_value(""",
    "            self._root._parent = None\n": "",
}


NEW_SEARCH = (
    "        self.mcts.update_with_move(-1)\n        move",
    "        self.mcts = MCTS(policy_value_fn, self.mcts._c_puct, self.mcts._n_playout)\n        move",
)


@pytest.fixture
def weak_search(worker):
    """Makes a worker with the reference's search, in which nodes refer to their parents weakly, and a text replaced."""

    def make(old="", new=""):
        text = (ROOT / "instructor" / "reference" / "AlphaZero" / "mcts_pure.py").read_text(encoding="utf-8")
        for before, after in {**({old: new} if old else {}), **WEAK_PARENTS}.items():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        return worker(more={"AlphaZero/mcts_pure.py": f"import weakref\n{text}".encode()})

    return make


@pytest.mark.parametrize("change", [(), NEW_SEARCH])
def test_a_root_whose_weak_reference_to_its_parent_ends_with_it_is_cut_off(weak_search, change):
    expect_reuse(weak_search(*change), Ruling(), Random(1), PURE)


def test_a_root_whose_parent_is_held_elsewhere_is_not_cut_off(weak_search):
    with pytest.raises(StudentFault, match="should cut the new root off"):
        expect_reuse(weak_search(*KEEPING), Ruling(), Random(1), PURE)


PURE_PATH, ALPHA_PATH = "AlphaZero/mcts_pure.py", "AlphaZero/mcts_alphaZero.py"
# The first of equal moves in an order of the search's own; with the children's visits as N_parent, all are equal at first.
ORDER_OF_ITS_OWN = (
    (PURE_PATH, "self._parent._n_visits**0.5", "sum(n._n_visits for n in self._parent._children.values()) ** 0.5"),
    (
        ALPHA_PATH,
        "leaf = self._root.select_leaf(board, self._c_puct)",
        "board.availables.append(board.availables.pop(0)); leaf = self._root.select_leaf(board, self._c_puct)",
    ),
)


@pytest.fixture
def changed(worker):
    """Makes a worker with the reference's searches, in which these texts are replaced: (path, old, new)."""

    def make(changes):
        texts = {
            path: (ROOT / "instructor" / "reference" / path).read_text(encoding="utf-8") for path in (PURE_PATH, ALPHA_PATH)
        }
        for path, old, new in changes:
            assert texts[path].count(old) == 1, old
            texts[path] = texts[path].replace(old, new)
        return worker(more={path: text.encode() for path, text in texts.items()})

    return make


def test_a_search_whose_copies_have_their_empty_points_in_another_order_agrees(changed):
    found = searches_of(changed(ORDER_OF_ITS_OWN), Ruling(), Random(1), TrustedOracle(), "mcts_alphaZero", "search")
    assert expect_agreement([comparison for comparison, _, _ in found]) <= AGREEMENT_TOLERANCE


UPDATED = "self._Q += (leaf_value - self._Q) / self._n_visits"
SUM_IN_Q = (
    (PURE_PATH, UPDATED, "self._Q += leaf_value"),
    (PURE_PATH, "return self._Q + self._u", "return self._Q / max(1, self._n_visits) + self._u"),
)
COUNTED_TWICE = ((PURE_PATH, UPDATED, "self._Q += (leaf_value - self._Q) / (self._n_visits + 1)"),)
EXPANDS_LATE = ((PURE_PATH, "        if not ended:", "        if not ended and (leaf._n_visits > 0 or leaf.is_root()):"),)


@pytest.mark.parametrize(
    ("changes", "told"),
    [(SUM_IN_Q, "Q holds the sum"), (COUNTED_TWICE, "one more than its visits"), (EXPANDS_LATE, "first visit of a leaf")],
    ids=["sum in Q", "mean over n + 1", "expands at the second visit"],
)
def test_a_slip_in_the_numbers_of_a_pure_tree_is_named_and_costs_no_wins_or_blocks(changed, changes, told):
    with pytest.raises(StudentFault, match=told):
        test_mcts_pure.test_tree(changed(changes), Ruling(), Random(1))
    test_mcts_pure.test_tactics(changed(changes), Ruling(), Random(1))


def test_noise_in_play_costs_no_points_for_the_tree(changed):
    noisy = changed([(ALPHA_PATH, "        if self._is_selfplay:", "        if True:")])
    test_mcts_alphazero.test_tree(noisy, Ruling(), Random(1))
    with pytest.raises(StudentFault, match="no noise"):
        test_noise.test_noise(noisy, Ruling(), Random(1))


@pytest.mark.parametrize("changes", [SUM_IN_Q, ((PURE_PATH, *NEW_SEARCH),)], ids=["sum in Q", "a new MCTS for each move"])
def test_a_pure_search_that_visits_as_the_reference_does_agrees(changed, changes):
    test_mcts_pure.test_agreement(changed(changes), Ruling(), Random(1), TrustedOracle())


UNREADABLE = {
    "Q divides by no visits": (
        (PURE_PATH, "        self._Q = 0.0\n", "        self._W = 0.0\n"),
        (PURE_PATH, "    def is_leaf", "    _Q = property(lambda self: self._W / self._n_visits)\n\n    def is_leaf"),
        (PURE_PATH, "return self._Q + self._u", "return (self._Q if self._n_visits else 0.0) + self._u"),
        (PURE_PATH, "self._Q += (leaf_value - self._Q) / self._n_visits", "self._W += leaf_value"),
    ),
    "the root has no prior": (
        (PURE_PATH, "        self._P = prior_p\n", "        self._prior = prior_p\n"),
        (
            PURE_PATH,
            "    def is_leaf",
            "    _P = property(lambda self: self._parent and self._prior or self.none)\n\n    def is_leaf",
        ),
    ),
    "moves are small integers": (
        (PURE_PATH, "self._children[move] = type", "self._children[np.uint8(move)] = type"),
        (PURE_PATH, "import random\n", "import random\n\nimport numpy as np\n"),
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_a_node_of_a_right_search_does_not_have_yet_is_not_asked_for(changed, name):
    worker = changed(UNREADABLE[name])
    test_mcts_pure.test_tree(worker, Ruling(), Random(1))
    test_mcts_pure.test_reuse(worker, Ruling(), Random(1))


NEW_IN_PLAY = (
    (
        ALPHA_PATH,
        "        self._policy_value_fn = policy",
        "        self.about = policy_value_fn.__name__\n        self._policy_value_fn = policy",
    ),
    (
        ALPHA_PATH,
        "        self._follow_game(board)\n        moves, visits",
        """        m = self.mcts
        if not is_selfplay:
            self.mcts = MCTS(m._policy_value_fn, m._action_fc, m._evaluation_fc, is_selfplay, m._c_puct, m._n_playout)
        moves, visits""",
    ),
    (
        ALPHA_PATH,
        "        return move, probs\n",
        "        self.mcts.update_with_move(move if is_selfplay else -1)\n        return move, probs\n",
    ),
)


def test_a_new_search_that_get_action_makes_and_then_empties_is_read(changed):
    worker = changed(NEW_IN_PLAY)
    test_mcts_alphazero.test_tree(worker, Ruling(), Random(1))
    test_mcts_alphazero.test_reuse(worker, Ruling(), Random(1))


TAKEN_OUT = (
    (ALPHA_PATH, "                self.mcts.update_with_move(move)", "                self.mcts.go_down(move)"),
    (ALPHA_PATH, "        return move, probs\n", "        if is_selfplay: self.mcts.go_down(move)\n        return move, probs\n"),  # noqa: E501
    (ALPHA_PATH, "        self._follow_game(board)\n", "        if not is_selfplay: self.mcts.update_with_move(-1)\n"),
    (ALPHA_PATH, "    def update_with_move(", """    def go_down(self, move):
        self._root = self._root._children.pop(move)
        self._root._parent = None

    def update_with_move("""),
)  # fmt: skip


def test_a_child_that_is_taken_out_of_the_tree_unseen_leaves_the_checks_of_self_play_open(changed):
    for check in (test_mcts_alphazero.test_reuse, test_noise.test_noise):
        with pytest.raises(CouldNotGrade, match="it seems to be taken out of the tree before get_action returns"):
            check(changed(TAKEN_OUT), Ruling(), Random(1))
