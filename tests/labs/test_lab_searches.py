"""What the checks of the labs NoGo and Go make of a search with one mistake, and of right searches of other kinds."""

import pytest
from lab_grading import edited, graded, reference

pytestmark = pytest.mark.usefixtures("checks_run_here")
GO, NOGO = reference("go", "search"), reference("nogo", "search")
NEW_TREE = "        self.mcts.update_with_move(-1)\n        self.mcts.search(board)\n"
CHILDREN = "            node._children = {move: TreeNode(node, float(prior)) for move, prior in priors}\n"
CHOICE = "        return int(np.argmax(probs)), probs\n"
STALE = "the tree does not begin from the position on the board"
REPEATED = pytest.mark.thorough("the same check notices another mistake")
# Name -> the edits of the search of Go, the checks that lose points, and what the message of the first one says.
SLIPS = {
    "the tree is never reset": ([(NEW_TREE, "        self.mcts.search(board)\n")], ["search.tree"], STALE),
    "the tree does not follow a pass": (
        [
            (
                NEW_TREE,
                "        if board.last_move != board.width * board.height:\n"
                "            self.mcts.update_with_move(-1)\n        self.mcts.search(board)\n",
            )
        ],
        ["search.tree"],
        STALE,
    ),
    "every move has the same prior": (
        [
            (
                CHILDREN,
                "            priors = list(priors)\n"
                "            node._children = {move: TreeNode(node, 1 / len(priors)) for move, _ in priors}\n",
            )
        ],
        ["search.tree"],
        "; policy_value_fn gives 0.",
    ),
    "the prior of the pass is masked": (
        [(CHILDREN, CHILDREN.replace("float(prior)", "float(prior) * (move < board.width * board.height)"))],
        ["search.tree", "search.wins"],
        "(pass) with the prior 0; policy_value_fn gives",
    ),
    "moves with few visits lose their probability": (
        [
            (
                "        probs /= probs.sum()\n",
                "        probs /= probs.sum()\n        probs = (probs > 0.02) * probs\n        probs /= probs.sum()\n",
            )
        ],
        ["search.tree"],
        "not the shares of the visits",
    ),
    "rows and columns are mixed up, which fails on boards that are not square": (
        [(NEW_TREE, NEW_TREE + "        np.zeros((board.width, board.height)) + np.zeros((board.height, board.width))\n")],
        ["search.tree"],
        "ValueError: operands could not be broadcast",
    ),
    "playouts move on the board itself": (
        [("self._playout(board.copy())", "self._playout(board)")],
        ["search.tree"],
        "on a copy",
    ),
    "the side to move of the board is turned": (
        [(NEW_TREE, NEW_TREE + "        board.current_player = 3 - board.current_player\n")],
        ["search.tree"],
        "leave the board itself as it is",
    ),
    "self-play draws among the points alone": (
        [
            (
                "            return int(np.random.choice(len(probs), p=probs)), probs\n",
                "            points = probs[:-1] / probs[:-1].sum()\n"
                "            return int(np.random.choice(len(points), p=points)), probs\n",
            )
        ],
        ["search.wins"],
        "In self-play, get_action never passes",
    ),
    "the pass gets no child": (
        [(CHILDREN, CHILDREN.replace("in priors}", "in priors if move < board.width * board.height}"))],
        ["search.tree", "search.wins"],
        "has no child for the legal moves",
    ),
}
SHOWN = {
    "the tree does not follow a pass",
    "the prior of the pass is masked",
    "moves with few visits lose their probability",
    "rows and columns are mixed up, which fails on boards that are not square",
    "the side to move of the board is turned",
    "self-play draws among the points alone",
}


@pytest.mark.parametrize("what", [pytest.param(what, marks=[] if what in SHOWN else REPEATED) for what in SLIPS])
def test_a_slip_in_the_search_costs_its_own_check(what, tmp_path):
    edits, checks, says = SLIPS[what]
    failed = graded(tmp_path, lab="go", part="search", search=edited(GO, *edits))
    assert set(failed) == set(checks) and says in failed[checks[0]], failed
    for check in checks[1:]:
        assert says in failed[check] or "for the legal moves" in failed[check] or "with the prior 0" in failed[check], failed


def test_a_tree_may_follow_the_moves_of_both_players(tmp_path):
    kept = NEW_TREE.replace("(-1)", "(board.last_move)")
    search = edited(GO, (NEW_TREE, kept), (CHOICE, f"        self.mcts.update_with_move(int(np.argmax(probs)))\n{CHOICE}"))
    assert graded(tmp_path, lab="go", part="search", search=search) == {}


def test_a_tree_of_nogo_that_does_not_follow_the_own_move_is_noticed(tmp_path):
    search = edited(NOGO, (NEW_TREE, NEW_TREE.replace("(-1)", "(board.last_move)")))
    failed = graded(tmp_path, part="search", search=search)
    assert set(failed) == {"search.tree"} and STALE in failed["search.tree"], failed
