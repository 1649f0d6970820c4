"""In the labs NoGo and Go one mistake in the rules costs the points of one check, and no lie of a board gains any."""

import re
import tomllib
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from lab_grading import graded, reference

from grader.assignment import ROOT
from grader.confinement.boards import GivenBoard, board_at
from labs.go.trusted import families as go_families
from labs.nogo.trusted import families as nogo_families
from labs.support.boards import LabPosition, Tally
from labs.support.tables import table_in, table_of

pytestmark = pytest.mark.usefixtures("checks_run_here")
POSITIONS = [("nogo", "middle 4x3", nogo_families.after_moves), ("go", "middle 4x3", go_families.searched_position)]
NOGO, GO = reference("nogo", "board"), reference("go", "board")
LONG = pytest.mark.thorough("the same losses as of another lie")
SEARCH = reference("nogo", "search")
LISTED = "if point not in self.states and self._is_legal(point)]"
LIES = {
    "it is over everywhere": (
        "        if self.availables:\n            return False, -1\n",
        "        if not self.states:\n            return False, -1\n",
    ),
    "it lists nothing": (LISTED, "if False]"),
    "it stops after two moves": (LISTED, f"if len(self.states) < 2 and {LISTED.removeprefix('if ')}"),
    "it lists every number": (LISTED, "]"),
}


@pytest.mark.parametrize("lab", ["nogo", "go"])
def test_a_mistake_in_the_rules_costs_its_own_check_unless_the_sample_says_why(lab):
    for path in sorted((ROOT / "labs" / lab / "submissions" / "mutants").glob("*.toml")):
        for mutant in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            if not mutant["fails"][0].startswith("search."):
                alone = len(mutant["fails"]) == 1 and not mutant.get("luck")
                assert alone != mutant.get("shares", "").endswith("."), mutant["name"]


@pytest.mark.parametrize(("lab", "family", "position"), POSITIONS, ids=[lab for lab, *_ in POSITIONS])
def test_a_board_of_ours_plays_by_its_table_as_by_the_rules(lab, family, position):
    rng, families = Random(3), {"nogo": nogo_families, "go": go_families}[lab]
    for _ in range(3):
        case = families.FAMILIES[family](rng)
        ours, given = position(case), GivenBoard(table_in(case))
        assert given.last_move == ours.last_move
        while not ours.game_end()[0]:
            kept = given.copy()
            assert given.availables == ours.availables and given.states == dict(ours.states)
            assert (given.game_end(), given.get_current_player()) == (ours.game_end(), ours.get_current_player())
            with pytest.raises(ValueError, match="not legal"):
                given.do_move(-1)
            move = rng.choice(ours.availables)
            ours.do_move(move)
            given.do_move(move)
            assert (
                kept.states != given.states or kept.last_move != given.last_move or kept.current_player != given.current_player
            )
        assert given.game_end() == ours.game_end() and given.availables == []


@pytest.mark.parametrize(("count", "shown"), [(0, "On an empty 4x3 board"), (2, "after the moves [0, 1]")])
def test_a_message_keeps_the_moves_before_a_position_apart_from_what_follows(count, shown):
    position = LabPosition("Go.board.Board", {"width": 4, "height": 3}, tuple(range(13)))
    assert position.after(count).endswith(shown)
    assert position.after(13).startswith("On a 4x3 board after the moves [..., 1, 2") and position.after(13).endswith(", 12]")


class Used:
    """A board that begins again with what `kept` says it keeps of an earlier game."""

    def __init__(self, kept=False):
        self.kept, self.moves, self.asked = kept, [], []

    def init_board(self, start_player=0):
        self.moves = self.moves[: self.kept]

    def do_move(self, move):
        self.moves.append(move)

    def game_end(self):
        self.asked.append(len(self.moves))
        return False, -1


@pytest.mark.parametrize(("kept", "seen"), [(False, []), (True, [3])])
def test_a_game_begins_on_a_board_that_has_played_an_earlier_one(kept, seen):
    position = {"board": "made.Used", "arguments": {"kept": kept}, "moves": [5], "earlier": [3, 4]}
    board = board_at(position, lambda _: SimpleNamespace(Used=Used))
    assert board.moves == [*seen, 5] and board.asked == [1, 2], "after each earlier move, to fill what the board stores"


def test_a_table_that_would_be_too_large_is_not_made():
    position = nogo_families.after_moves({"size": np.array((3, 3)), "moves": np.array([], dtype=int)})
    assert table_of(position, most=50) is None


def test_a_tally_names_what_was_judged_too_rarely():
    tally = Tally({"ends": 2, "kos": 0})
    assert tally.lacking == [], "no line was cut short"
    tally.cut("It lists nothing.")
    assert tally.lacking == ["ends"]
    tally.found["ends"] += 2
    assert tally.lacking == []


def lying(how):
    old, new = LIES[how]
    assert NOGO.count(old) == 1
    return NOGO.replace(old, new)


@pytest.mark.parametrize(
    ("how", "loses"),
    [
        ("it is over everywhere", {"rules.end"}),
        ("it lists nothing", {"rules.legal", "rules.end", "rules.planes", "rules.copy", "rules.refuses"}),
        pytest.param(
            "it stops after two moves",
            {"rules.legal", "rules.end", "rules.planes", "rules.copy", "rules.refuses"},
            marks=LONG,
        ),
        ("it lists every number", {"rules.legal", "rules.refuses"}),
    ],
)
def test_a_lie_gains_no_point_for_what_cannot_be_seen(how, loses, tmp_path):
    failed = graded(tmp_path, board=lying(how))
    assert loses <= set(failed), failed


@pytest.mark.parametrize("how", ["it is over everywhere", "it lists every number"])
def test_no_lie_of_a_board_makes_a_wrong_search_right(how, tmp_path):
    wrong = SEARCH.replace("            value = -value\n", "")
    failed = graded(tmp_path, board=lying(how), search=wrong)
    assert {"search.tree", "search.losses"} <= set(failed), failed
    assert re.search("values", failed["search.tree"], re.IGNORECASE)


def test_a_right_search_loses_nothing_for_a_board_that_is_over_everywhere(tmp_path):
    failed = graded(tmp_path, board=lying("it is over everywhere"))
    assert set(failed) == {"rules.end"}, failed


def test_wrong_stones_hide_no_wrong_move(tmp_path):
    """A board that does not know the ko shows wrong stones after each capture of one, so that no ko could be judged."""
    old = "        self.states = after\n"
    kept = "{point: 3 - self.current_player for point in captured if len(captured) == 1}"
    assert GO.count(old) == 1
    failed = graded(tmp_path, lab="go", board=GO.replace(old, f"        self.states = after | {kept}\n"))
    assert {"rules.captures", "rules.legal"} <= set(failed), failed
    assert "depends on other rules" in failed["rules.legal"] and "kos" in failed["rules.legal"]


def test_cases_hold_what_their_families_promise():
    for number in range(4):
        repetition, ko = (go_families.FAMILIES[name](Random(number)) for name in ("repetition", "ko"))
        assert (repetition["why"] == go_families.SUPERKO).any()
        begin = int(ko["begin"])
        assert (ko["why"][begin] == go_families.KO).any() and ko["moves"][begin] == ko["moves"][begin + 1] == ko["size"].prod()
        assert np.array_equal(ko["why"][begin], ko["why"][begin + 3]), "two passes are taken back, and the ko stands again"
        arising = go_families.FAMILIES["new ko"](Random(number))
        begin = int(arising["begin"])
        has_ko = [(row == go_families.KO).any() for row in arising["why"][begin : begin + 5]]
        assert has_ko == [False, False, True, False, True], "it arises in the simulation, and the two passes are taken back"
        for name, ends in (("ended", True), ("passed", False), ("empty", False)):
            case = go_families.FAMILIES[name](Random(number))
            begin, passes = int(case["begin"]), [case["size"].prod()] * 2
            assert case["moves"][begin - 1 : begin + 1].tolist() == passes and case["ends"][begin + 2][0] == ends
        assert begin == 1, "nobody has placed a stone"
        for name in ("recalled", "barred"):
            case = go_families.FAMILIES[name](Random(number))
            begin, passes = int(case["begin"]), [case["size"].prod()] * 2
            by_both = case["why"][[begin, begin + 2]]  # before the two passes, and between them
            assert (by_both == go_families.SUPERKO).any() and case["moves"][begin : begin + 2].tolist() == passes
            assert np.array_equal(case["why"][begin], case["why"][begin + 3]), "superko forbids the same points again"
        assert case["worth"][begin] >= 0 and not (by_both[:, case["worth"][begin]] == go_families.LEGAL).any()
        last = go_families.FAMILIES["last"](Random(number))
        assert len(last["moves"]) == last["begin"] + last["depth"] and last["ends"][-1][0] and last["worth"][-1] == -1
        assert set(last["moves"][-2:].tolist()) == {last["size"].prod()}, "two passes end it, and not the depth limit"
        for families in (go_families, nogo_families):
            assert families.FAMILIES["second"](Random(number))["players"][0] == 2


RAISING = {
    "planes": (
        "nogo",
        "planes[plane, self.height - 1 - point // self.width, point % self.width]",
        "planes[plane, point % self.width, self.height - 1 - point // self.width]",
    ),
    "score": ("go", "owner = touched.pop() if len(touched) == 1 else 0", "owner = touched.pop() if len(touched) != 2 else 0"),
}


@pytest.mark.parametrize("what", RAISING)
def test_a_value_that_raises_costs_its_own_check_alone(what, tmp_path):
    """Rows and columns are mixed up, an IndexError on wide boards; and an empty board touches nobody, a KeyError."""
    lab, old, new = RAISING[what]
    board = {"nogo": NOGO, "go": GO}[lab]
    assert board.count(old) == 1
    failed = graded(tmp_path, lab=lab, board=board.replace(old, new))
    assert set(failed) == {f"rules.{what}"}, failed


# Name -> lab, what is replaced in its board, the one check that loses points, and what it says.
SLIPS = {
    "the array of the planes is never cleared": (
        "nogo",
        [
            (
                "dtype=np.float32)\n",
                "dtype=np.float32)\n        planes = self._all = vars(self).get('_all', planes)\n",
            )
        ],
        "rules.planes",
        "is wrong: it sums to",
    ),
    "the other player begins": (
        "nogo",
        [("self.players[start_player]\n", "self.players[1 - start_player]\n")],
        "rules.end",
        "is to move; got",
    ),
    "a copy forgets the last move": (
        "nogo",
        [("        return twin\n", "        twin.last_move = -1\n        return twin\n")],
        "rules.copy",
        "the copy differs from its original in last_move",
    ),
    "a new game keeps the last move": (
        "nogo",
        [("        self.last_move = -1\n", "        self.last_move = getattr(self, 'last_move', -1)\n")],
        "rules.end",
        "last_move differs from that of a new board if init_board(",
    ),
    "states holds the opponent of each player": (
        "nogo",
        [
            ("        self.states[move] = player\n", "        self.states[move] = 3 - player\n"),
            ("for point, player in self.states.items():", "for point, player in ((p, 3 - s) for p, s in self.states.items()):"),
        ],
        "rules.planes",
        "states gives a stone to the wrong player",
    ),
    "the end is right and the list is old": (
        "nogo",
        [
            (
                "3 - player\n        self.availables = self._legal_moves()\n",
                "3 - player\n        self.availables.remove(move)\n",
            ),
            ("        if self.availables:\n", "        if self._legal_moves():\n"),
        ],
        "rules.legal",
        "Your board lists it.",
    ),
    "three passes end a real game": (
        "go",
        [("        if self._passes == 2:\n", "        if self._passes == (3 if self._depth_limit is None else 2):\n")],
        "rules.end",
        "the game is over; game_end says that it goes on",
    ),
    "a copy takes player 1 for the side to move": (
        "go",
        [
            (
                "set(self._earlier)\n        return twin\n",
                "set(self._earlier)\n        twin.current_player = 1\n        return twin\n",
            )
        ],
        "rules.copy",
        "the copy differs from its original in get_current_player",
    ),
    "the empty board is nobody's and yet not worth playing": (
        "go",
        [("(point, owner) for point in region)\n", "(point, owner or -(not self.states)) for point in region)\n")],
        "simulation.double_pass",
        "is worth playing there",
    ),
    "the score is an integer": (
        "go",
        [("        return black - white - self.komi\n", "        return int(black - white - self.komi)\n")],
        "rules.score",
        "The komi need not be an integer",
    ),
    "a real game is over when one point is left": (
        "go",
        [
            (
                "        if self._passes == 2:\n",
                "        left = self.width * self.height - len(self.states)\n"
                "        if self._passes == 2 or (self._depth_limit is None and left == 1):\n",
            )
        ],
        "rules.end",
        "the game goes on; game_end says that it is over",
    ),
    "a copy forgets the ko before the passes": (
        "go",
        [
            (
                "set(self._earlier)\n        return twin\n",
                "set(self._earlier)\n        twin._ko_before_passes = -1\n        return twin\n",
            )
        ],
        "rules.copy",
        "the copy differs from its original in availables after the same",
    ),
    "a new game keeps a single pass": (
        "go",
        [("        self._passes = 0  # in a row\n", "        self._passes = getattr(self, '_passes', 0) % 2\n")],
        "rules.end",
        "differs from that of a new board if init_board(",
    ),
    "points of nobody count half": (
        "go",
        [
            (
                "        return black - white - self.komi\n",
                "        return black - white - self.komi + sum(owner == 0 for owner in areas.values()) / 2\n",
            )
        ],
        "rules.score",
        "Count stones and the empty points that reach stones of one player only",
    ),
    "the pass is listed first": (
        "go",
        [("        return [*legal, self.pass_action()]\n", "        return [self.pass_action(), *legal]\n")],
        "rules.legal",
        "not in ascending order",
    ),
}


# One slip for each check that was wrong; the others repeat what they show on other boards.
SHOWN = {
    "the array of the planes is never cleared",
    "the other player begins",
    "the end is right and the list is old",
    "a copy takes player 1 for the side to move",
    "a real game is over when one point is left",
    "a new game keeps a single pass",
}
REPEATED = pytest.mark.thorough("the same losses as of another slip, or one more message")


@pytest.mark.parametrize("what", [pytest.param(what, marks=[] if what in SHOWN else REPEATED) for what in SLIPS])
def test_a_slip_costs_its_own_check_alone(what, tmp_path):
    lab, edits, check, says = SLIPS[what]
    board = {"nogo": NOGO, "go": GO}[lab]
    for old, new in edits:
        assert board.count(old) == 1
        board = board.replace(old, new)
    failed = graded(tmp_path, lab=lab, board=board)
    assert set(failed) == {check} and says in failed[check], failed


def test_a_pass_that_keeps_the_turn_costs_neither_the_legal_actions_nor_the_captures(tmp_path):
    old = "        self.current_player = 3 - self.current_player\n"
    new = f"        if move != self.pass_action():\n    {old}"
    assert GO.count(old) == 1
    failed = graded(tmp_path, lab="go", board=GO.replace(old, new))
    assert set(failed) == {"rules.end", "simulation.double_pass"} and "is to move; got" in failed["rules.end"], failed


OWN_STONES = (
    ("if point not in self.states and", "if point not in self._chains and"),
    ("for point, player in self.states.items():", "for point, player in [(p, c.player) for p, c in self._chains.items()]:"),
    ("planes[3] = len(self.states)", "planes[3] = len(self._chains)"),
    ("        self.states[move] = player\n", ""),
)


def test_states_that_stay_empty_cost_one_check(tmp_path):
    board = NOGO
    for old, new in OWN_STONES:
        assert board.count(old) == 1
        board = board.replace(old, new)
    failed = graded(tmp_path, board=board)
    assert set(failed) == {"rules.planes"} and "states must hold" in failed["rules.planes"], failed


@pytest.mark.thorough("one more wrong answer of a board")
def test_states_that_are_a_list_cost_one_check(tmp_path):
    listed = "return [self._stones.get(point, 0) for point in range(self.pass_action())]"
    states = f"@property\n    def states(self):\n        {listed}\n\n    def has_a_winner("
    board = GO.replace(".states", "._stones").replace("def has_a_winner(", states)
    failed = graded(tmp_path, lab="go", board=board)
    assert set(failed) == {"rules.captures"} and "states must be a dict" in failed["rules.captures"], failed


@pytest.mark.thorough("one more wrong answer of a board")
def test_actions_that_are_listed_after_the_end_cost_one_check(tmp_path):
    old = "        if self.game_end()[0]:\n            return []\n"
    assert GO.count(old) == 1
    kept = old.replace("if self.game_end()[0]:", "if self.game_end()[0] and self._passes < 2:")
    failed = graded(tmp_path, lab="go", board=GO.replace(old, kept))
    assert {"rules.legal"} <= set(failed) <= {"rules.legal", "rules.refuses"}, failed


STUB = 'raise NotImplementedError("{file}/board.py: Board.{method}: see handout section {section}")'
NO_SIMULATION = {
    "it is not written yet": (
        "        twin = self.copy()\n",
        f"        {STUB.format(file='Go', method='for_search', section='3.2')}\n",
    ),
    "it returns nothing": ("        twin.availables = twin._legal_actions()\n        return twin\n", ""),
}


@pytest.mark.parametrize("how", NO_SIMULATION)
def test_a_missing_simulation_costs_neither_the_rules_nor_the_search(how, tmp_path):
    old, new = NO_SIMULATION[how]
    assert GO.count(old) == 1
    failed = graded(tmp_path, lab="go", board=GO.replace(old, new))
    assert set(failed) == {"simulation.double_pass", "simulation.depth"}, failed


def test_a_missing_method_that_only_the_search_calls_costs_it_nothing(tmp_path):
    search = reference("go", "search")
    board = GO.replace("self.pass_action()", "self.width * self.height")
    old, new = (
        "        return self.width * self.height\n",
        f"        {STUB.format(file='Go', method='pass_action', section='2.1')}\n",
    )
    assert board.count(old) == 1 and "board.width * board.height" in search
    search = search.replace("board.width * board.height", "board.pass_action()")
    assert graded(tmp_path, lab="go", board=board.replace(old, new), search=search) == {}


def test_a_missing_copy_costs_the_search_nothing(tmp_path):
    old, new = "        twin = Board.__new__(Board)\n", f"        {STUB.format(file='NoGo', method='copy', section='2.4')}\n"
    assert NOGO.count(old) == 1
    failed = graded(tmp_path, board=NOGO.replace(old, new))
    assert set(failed) == {"rules.copy"} and failed["rules.copy"].startswith("Not written yet"), failed
