"""A slip that leaves the tree of a search as it should be costs the points of the check that reports it, and no others."""

from random import Random

import pytest
from odd_workers import ROOT

from grader.errors import StudentFault
from grader.judge.checks import test_mcts_alphazero as alphazero
from grader.judge.checks import test_mcts_pure as pure
from grader.judge.checks import test_noise as noise
from grader.judge.checks import test_temperature as temperature
from grader.judge.support.board_position import EMPTY_3X3
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import call, player_under
from grader.judge.support.trees import Tree, most_visited
from grader.judge.trusted.answers import TrustedOracle

ALPHAZERO, PURE = "AlphaZero/mcts_alphaZero.py", "AlphaZero/mcts_pure.py"
DRAWN = "        move = int(np.random.choice(moves, p=chances))\n"
COPIED = "self._playout(board.copy())\n        moves"
BACKED_UP = "        leaf.update_recursive(-value)\n"
PLAYOUTS = 20
# Name of a slip: where it is, the right text, the wrong text, and what the check that reports it says.
SLIPS = {
    "draw": (ALPHAZERO, DRAWN, DRAWN.replace("chances)", "chances[1:])"), "must have same size"),
    "late in self-play": (ALPHAZERO, DRAWN, f"{DRAWN}        assert not is_selfplay or len(moves) > 6\n", "AssertionError"),
    "no tuple": (ALPHAZERO, "return move, probs\n", "return move\n", "it returned a value of type int"),
    "board": (ALPHAZERO, COPIED, COPIED.replace(".copy()", ""), "let each playout move on a copy"),
    "board in self-play": (
        ALPHAZERO,
        COPIED,
        COPIED.replace("board.copy()", "board if self._is_selfplay else board.copy()"),
        "let each playout move on a copy",
    ),
    "another move in play": (
        ALPHAZERO,
        DRAWN,
        f"{DRAWN}        move = move if is_selfplay else moves[int(np.argmin(visits))]\n",
        "In play (temperature 1e-3) the move should be the most visited one",
    ),
    "place for move": (ALPHAZERO, DRAWN, DRAWN.replace("choice(moves", "choice(len(moves)"), "is the place of move"),
    "probs by place": (ALPHAZERO, "        probs[moves] = ", "        probs[: len(moves)] = ", "is the place of move"),
    "a playout less": (ALPHAZERO, "playouts = self._n_playout\n", "playouts = self._n_playout - 1\n", "298 visits in total"),
    "finished games not counted": (
        ALPHAZERO,
        BACKED_UP,
        f"        if not board.game_end()[0]:\n    {BACKED_UP}",
        "counts as one visit on its whole path",
    ),
    "pure, a playout less": (PURE, "range(self._n_playout)", "range(self._n_playout - 1)", "298 visits in total"),
    "pure, another move": (
        PURE,
        "        move = self.mcts.get_move(board)\n",
        "        self.mcts.get_move(board)\n        move = board.availables[0]\n",
        "get_action should return the most visited move",
    ),
    "pure, place for move": (
        PURE,
        "        return max(self._root._children.items(), key=lambda item: item[1]._n_visits)[0]\n",
        "        return int(np.argmax([child._n_visits for child in self._root._children.values()]))\n",
        "is the place of move",
    ),
    "pure, no tuple": (PURE, "        return move, None\n", "        return move\n", "it returned a value of type int"),
    "pure, board": (PURE, "self._playout(board.copy())", "self._playout(board)", "let each playout move on a copy"),
}


@pytest.fixture
def slipped(worker):
    """Makes a worker over the reference with one change."""

    def make(file, old, new):
        texts = {name: (ROOT / "instructor/reference" / name).read_text() for name in (ALPHAZERO, PURE)}
        assert texts[file].count(old) == 1
        texts[file] = texts[file].replace(old, new)
        return worker(more={name: text.encode() for name, text in texts.items()}, limit_s=60)

    return make


def judged_by(check, worker, assignment):
    """Return the share of the points that a check gives, and its message."""
    name = f"{check.__module__.rpartition('.')[2].removeprefix('test_')}.{check.__name__.removeprefix('test_')}"
    arguments = {"worker": worker, "ruling": Ruling(shares=assignment.shares.get(name, {})), "rng": Random(1)}
    if "oracle" in check.__annotations__:
        arguments["oracle"] = TrustedOracle()
    try:
        check(**arguments)
    except StudentFault as fault:
        return 0.0, str(fault)
    return arguments["ruling"].share, arguments["ruling"].message


def reporting(slip):
    if slip.startswith("pure"):
        return pure.test_tree
    of_the_tree = slip.startswith(("board", "a playout", "finished"))
    return alphazero.test_tree if of_the_tree else temperature.test_temperature


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_reported_by_one_check(slip, slipped, assignment):
    *change, said = SLIPS[slip]
    share, message = judged_by(reporting(slip), slipped(*change), assignment)
    assert share == 0 and said in message


@pytest.mark.parametrize(
    ("slip", "checks"),
    [
        ("draw", [alphazero.test_reuse, noise.test_noise]),
        ("late in self-play", [alphazero.test_reuse]),
        ("no tuple", [alphazero.test_tree]),
        ("board", [alphazero.test_reuse, temperature.test_temperature]),
        ("board in self-play", [noise.test_noise]),
        ("another move in play", [alphazero.test_tree, alphazero.test_tactics]),
        ("place for move", [alphazero.test_reuse, alphazero.test_tactics, noise.test_noise]),
        ("a playout less", [alphazero.test_tactics]),
        ("finished games not counted", [alphazero.test_reuse]),
        ("pure, a playout less", [pure.test_tactics]),
        ("pure, another move", [pure.test_tactics]),
        ("pure, place for move", [pure.test_reuse, pure.test_tactics]),
        ("pure, no tuple", [pure.test_reuse]),
        ("pure, board", [pure.test_reuse]),
    ],
)
def test_a_slip_costs_no_points_of_other_checks(slip, checks, slipped, assignment):
    worker = slipped(*SLIPS[slip][:3])
    for check in checks:
        assert judged_by(check, worker, assignment) == (1.0, ""), check.__name__


def test_a_kept_root_that_gets_new_children_keeps_nothing(slipped, assignment):
    """The root still counts the visits of the search before."""
    noise = "            self._add_noise()\n"
    replaced = "            self._root._children = {}\n            self._root.expand(self._evaluate(board)[0])\n"
    share, message = judged_by(alphazero.test_reuse, slipped(ALPHAZERO, noise, replaced + noise), assignment)
    assert share == 0.5 and "thrown away between moves" in message


def test_children_made_one_at_a_time_are_not_taken_for_a_tree_of_another_position(slipped, assignment):
    grown = "            leaf.expand(action_priors)\n"
    one = grown.replace("(action_priors)", "([random.choice(list(action_priors))])")
    share, message = judged_by(pure.test_reuse, slipped(PURE, grown, one), assignment)
    assert share == 0 and "has no child for the legal moves" in message


def test_the_tree_of_a_search_that_cannot_draw_its_move_is_returned_with_the_most_visited_move(slipped):
    worker, player = slipped(*SLIPS["draw"][:3]), {"n_playout": PLAYOUTS, **player_under(1)}
    reply = call(worker, "search", position=EMPTY_3X3, **player)
    tree = Tree.from_reply(reply["tree"])
    assert tree.visits[0] == PLAYOUTS and reply["move"] in most_visited(tree.root_visits) and reply["probs"] is None
    assert len(call(worker, "self_play", position=EMPTY_3X3, plies=3, **player)) == 1, "what the player keeps is not known"
    for operation, more in (("search", {}), ("self_play", {"plies": 3})):
        with pytest.raises(StudentFault, match="must have same size"):
            call(worker, operation, position=EMPTY_3X3, own=("move",), **player, **more)


def test_an_exception_before_the_search_is_complete_is_not_excused(slipped):
    broken = "        if self._root._n_visits == 10:\n            raise RuntimeError('half-way')\n"
    worker = slipped(ALPHAZERO, "        leaf = self._root", f"{broken}        leaf = self._root")
    with pytest.raises(StudentFault, match="half-way"):
        call(worker, "search", position=EMPTY_3X3, n_playout=PLAYOUTS, **player_under(1))


def test_a_board_that_is_not_changed_in_a_playout_is_not_excused(slipped):
    worker = slipped(PURE, "self._playout(board.copy())", "(lambda b: b.do_move(b.availables[0]))(board)")
    player = {"n_playout": PLAYOUTS, "kind": "mcts_pure", "c_puct": 5.0, "evaluator": {"kind": "uniform"}}
    with pytest.raises(StudentFault, match="let each playout move on a copy"):
        call(worker, "search", position=EMPTY_3X3, **player)
