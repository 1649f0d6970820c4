"""What a worker shows of a board that a submission brings, and what the checks of the labs NoGo and Go make of it."""

from collections import deque
from types import MappingProxyType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from grader.confinement.boards import copies, follow, refusals, watched
from grader.confinement.worker import act
from grader.errors import StudentFault
from labs.support.boards import LabPosition, Tally, expect_refusal, listed_in, stones_in, walked, walks
from labs.support.copies import PAIRS
from labs.support.searches import _expect_probabilities

POSITION = {"board": "made.Line", "arguments": {}, "moves": []}


class Line:
    """Three points in a row, each of which may be taken once."""

    refusal = ValueError

    def __init__(self):
        self.availables = [0, 1, 2]

    def do_move(self, move):
        if move not in self.availables:
            raise self.refusal(move)
        self.availables.remove(move)


def loading(board_class):
    """How a worker imports the module of this class."""
    return lambda _: SimpleNamespace(Line=board_class)


class IllegalMove(ValueError):
    pass


@pytest.mark.parametrize(
    ("exception", "raised"), [(ValueError, "ValueError"), (IllegalMove, "ValueError"), (IndexError, "IndexError")]
)
def test_a_subclass_of_value_error_is_a_value_error(exception, raised):
    class Refusing(Line):
        refusal = exception

    (legal, illegal) = refusals(loading(Refusing), POSITION, [0, 7], [1, 9], ["availables"])
    assert (legal["raised"], illegal["raised"]) == ("", raised)
    assert np.array_equal(illegal["before"]["availables"], illegal["after"]["availables"])
    assert legal["later"] == [] and [reply["played"].tolist() for reply in illegal["later"]] == [1, 1]


def test_what_a_refused_move_spoils_inside_shows_after_the_next_move():
    class Spoilt(Line):
        def do_move(self, move):
            self.refused = getattr(self, "refused", False) or move not in self.availables
            super().do_move(move)
            if self.refused:
                self.availables = []

    (reply,) = refusals(loading(Spoilt), POSITION, [7], [1], ["availables"])
    assert np.array_equal(reply["before"]["availables"], reply["after"]["availables"])
    spoilt, untouched = reply["later"]
    assert len(spoilt["availables"]) == 0 < len(untouched["availables"])
    with pytest.raises(StudentFault, match="as the next moves show"):
        expect_refusal(reply, "There")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_board_may_fill_the_same_array_at_every_call(dtype):
    class Buffered(Line):
        def __init__(self):
            super().__init__()
            self.buffer = np.zeros(3, dtype=dtype)

        def current_state(self):
            self.buffer[:] = [point not in self.availables for point in range(3)]
            return self.buffer

    (reply,) = follow(loading(Buffered), POSITION, [[1, 0]], ["current_state"])
    assert [values["current_state"].tolist() for values in reply["seen"]] == [[0, 0, 0], [0, 1, 0], [1, 1, 0]]


class Smeared(Line):
    """What it shows depends on what it has shown before: it fills an array that it never clears."""

    def __init__(self):
        super().__init__()
        self.buffer = np.zeros(3)

    def current_state(self):
        self.buffer[[point for point in range(3) if point not in self.availables][-1:]] = 1
        return self.buffer

    def copy(self):
        twin = type(self)()
        twin.availables = list(self.availables)
        return twin


def test_what_depends_on_what_was_shown_before_is_no_fault_of_the_copy_or_the_refusal():
    shown = copies(loading(Smeared), {**POSITION, "moves": [0]}, steps=[1], others=[2], watch=["current_state"])
    for pair in (*PAIRS, ("original", "copy"), ("original after 1", "copy after 1"), ("alone", "fresh copy moved")):
        assert np.array_equal(*(shown[name]["current_state"] for name in pair[:2])), pair
    (reply,) = refusals(loading(Smeared), {**POSITION, "moves": [0]}, [7], [1], ["current_state"])
    expect_refusal(reply, "There")


def test_what_another_check_judges_may_be_missing():
    class Unwritten(Line):
        def score(self):
            raise NotImplementedError("score: see handout section 2.4")

    values = watched(Unwritten(), ["availables", "score?", "captures?"])
    assert values["availables"].tolist() == [0, 1, 2]
    assert all(np.isnan(values[name]) and values[name].shape == () for name in ("score", "captures"))
    with pytest.raises(NotImplementedError):
        watched(Unwritten(), ["score"])


@pytest.mark.parametrize(
    ("shown", "name", "says"),
    [
        ({"availables": lambda: [0]}, "availables!", "it is a method"),
        ({"availables": ["0"]}, "availables!", "holds '0'"),
        ({"availables": [1.0]}, "availables!", "holds 1.0"),
        ({"states": {1: "2"}}, "states!", "holds '2'"),
        ({"states": {(0, 1): 1}}, "states", r"a dict from numbers to numbers; it holds \{\(0, 1\): 1\}"),
    ],
)
def test_the_check_that_judges_an_attribute_takes_no_method_and_no_text(shown, name, says):
    with pytest.raises(ValueError, match=says):
        watched(SimpleNamespace(**shown), [name])
    right = SimpleNamespace(availables=np.array([]), states={np.int64(2): 1.0})
    assert watched(right, ["availables!", "states!"])["states"].tolist() == [[2, 1]]


def test_what_is_no_number_is_shown():
    with pytest.raises(ValueError, match=r"expected numbers from game_end; got a tuple: \(True, 'player 2'\)"):
        watched(SimpleNamespace(game_end=lambda: (True, "player 2")), ["game_end"])


def test_half_a_point_is_no_action():
    with pytest.raises(StudentFault, match=r"availables holds 2.5, which is not an integer"):
        listed_in({"availables": np.array([1.0, 2.5])})


def test_a_refusal_without_an_exception_is_not_called_a_move():
    same = {"availables": np.array([0.0])}
    with pytest.raises(StudentFault, match="do_move does nothing and raises no ValueError"):
        expect_refusal({"raised": "", "before": same, "after": same, "later": []}, "There")


def test_an_exception_without_text_is_named_alone():
    class Silent(Line):
        def do_move(self, move):
            raise MemoryError

    (reply,) = follow(loading(Silent), POSITION, [[1]], ["availables"])
    assert reply["fault"] == "MemoryError"


class Copying(Line):
    def for_search(self, depth_limit):
        twin = type(self)()
        twin.availables = list(self.availables)
        return twin


class Returning(Line):
    def for_search(self, depth_limit):
        return self


@pytest.mark.parametrize(("board_class", "itself"), [(Copying, False), (Returning, True)])
def test_a_method_that_returns_a_copy_is_told_from_one_that_returns_the_board_itself(board_class, itself):
    call = ["for_search", 3]
    shown = copies(loading(board_class), POSITION, steps=[0], others=[2], watch=["availables"], call=call)
    seen = {name: values["availables"].tolist() for name, values in shown.items()}
    assert seen["original"] == [0, 1, 2] and (seen["original later"] == [1, 2]) == itself
    assert seen["alone"] == [0, 1] and (seen["original moved"] == [1]) == itself


class Sharing:
    """All boards share the moves played, which a new board begins again."""

    moves: ClassVar[list[int]] = []

    def __init__(self):
        self.moves.clear()
        self.availables, self.plies = [0, 1, 2], 0

    def do_move(self, move):
        if move not in self.availables:
            raise ValueError(move)
        self.moves.append(move)
        self.availables, self.plies = [point for point in range(3) if point not in self.moves], len(self.moves)

    def copy(self):
        twin = object.__new__(Sharing)
        twin.availables, twin.plies = list(self.availables), self.plies
        return twin


def test_what_all_boards_share_is_a_fault_of_the_copy_and_not_of_the_refusal():
    shown = copies(loading(Sharing), {**POSITION, "moves": [0]}, steps=[1], others=[2], watch=["availables"])
    seen = [shown[name]["availables"].tolist() for name in ("alone", "original moved", "beside a new board")]
    assert seen == [[1], [], [0, 1]]
    (reply,) = refusals(loading(Sharing), POSITION, [7], [1], ["availables", "plies"])
    expect_refusal(reply, "There")


class Forgetting(Line):
    def copy(self):
        self.twin = list(self.availables)


def test_a_copy_that_is_not_returned_is_named():
    with pytest.raises(TypeError, match="copy must return a board; it returned None"):
        copies(loading(Forgetting), POSITION, steps=[0], others=[2], watch=["availables"])
    with pytest.raises(TypeError, match="copy must return a board; it returned None"):
        follow(loading(Forgetting), POSITION, [[0]], ["availables"], on_copies=True)
    with pytest.raises(TypeError, match="copy must return a board; it returned None"):
        follow(loading(Forgetting), POSITION, [[["copy"]]], ["availables"])


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        ((1, ["for_search", 3]), "after the moves [1], for_search raised NameError: oh."),
        ((1, 1), "after the moves [1], the next move is legal, but do_move raised NameError: oh."),
    ],
)
def test_a_line_that_is_cut_short_says_which_call_raised(moves, says):
    seen = [{"availables": np.array([0.0, 1.0, 2.0])}] * 2
    worker = SimpleNamespace(call=lambda *_, **__: [{"seen": seen, "fault": "NameError: oh"}])
    walk = walked(worker, LabPosition("made.Line", {"width": 3, "height": 1}, moves))
    assert walk.plies == 1 and walk.stop.endswith(says)


def test_a_game_whose_actions_are_not_points_names_them_in_its_own_words():
    seen = [{"availables": np.array([0.0])}]
    worker = SimpleNamespace(call=lambda *_, **__: [{"seen": seen, "fault": ""}])
    case = {"size": [7, 6], "moves": [5]}
    points = LabPosition.of("made.Line", case)
    assert [points.name(action) for action in (5, 42, 43)] == [
        "5 (F1)",
        "42 (pass)",
        "43, which is not an action of this board",
    ]
    columns = LabPosition.of("made.Line", case, lambda action, width, _: f"column {action + 1}" if action < width else "")
    assert walked(worker, columns).stop.endswith("5 (column 6) is legal, and your board does not list it.")
    assert columns.name(7) == "7, which is not an action of this board"


def test_an_entry_of_0_says_the_same_as_none():
    class Trying(Line):
        states, captures = {2: 1, 0: 0}, {1: 0, 2: 3}

    values = watched(Trying(), ["states", "captures"])
    assert values["states"].tolist() == [[2, 1]] and values["captures"].tolist() == [[2, 3]]
    assert stones_in(values) == {2: 1} and stones_in(watched(SimpleNamespace(states={0: 0}), ["states"])) == {}


def test_planes_may_be_a_list_of_arrays():
    planes = list(np.arange(24.0).reshape(2, 3, 4))
    values = watched(
        SimpleNamespace(current_state=lambda: planes, availables=[np.array([5]), np.int64(7)]), ["current_state", "availables"]
    )
    assert np.array_equal(values["current_state"], planes) and values["availables"].tolist() == [5, 7]


@pytest.mark.parametrize(
    "listed",
    [[1, 4, 6], (1, 4, 6), {1, 4, 6}, frozenset([1, 4, 6]), deque([1, 4, 6]), {1: 0, 4: 0, 6: 0}.keys(), np.array([1, 4, 6])],
    ids=lambda listed: type(listed).__name__,
)
def test_moves_may_be_listed_in_any_collection_and_stones_in_any_mapping(listed):
    values = watched(SimpleNamespace(availables=listed, states=MappingProxyType({2: 1})), ["availables!", "states!"])
    assert listed_in(values) == [1, 4, 6] and stones_in(values) == {2: 1}


def test_a_set_and_its_copy_are_shown_in_the_same_order():
    listed = {9, 4, 0, 7} - {4}
    shown = [watched(SimpleNamespace(availables=moves), ["availables!"]) for moves in (listed, frozenset([0, 7, 9]))]
    assert [values["availables"].tolist() for values in shown] == [[0, 7, 9]] * 2


def test_a_dict_of_moves_is_not_taken_for_a_list():
    with pytest.raises(StudentFault, match=r"availables must be a list of integers; it gives numbers of shape \(3, 2\)"):
        listed_in(watched(SimpleNamespace(availables=dict.fromkeys([1, 4, 6], 1)), ["availables!"]))


@pytest.mark.parametrize(
    ("makes_a_board", "says"),
    [(True, r"where player 2 begins, init_board\(1\) fails: no Board"), (False, "^no Board$")],
)
def test_init_board_is_named_only_if_a_board_can_be_made(makes_a_board, says):
    def call(*_, position, **__):
        if position["start_player"] or not makes_a_board:
            raise StudentFault("no Board")

    position = LabPosition("made.Line", {"width": 3, "height": 1}, (1,), start_player=1)
    tally = Tally({"games that player 2 begins": 1})
    with pytest.raises(StudentFault, match=says):
        list(walks(SimpleNamespace(call=call), lambda: (position, {}), 1, tally))


@pytest.mark.parametrize(("left", "changes"), [(0, False), (2, True)])
def test_a_search_may_leave_an_entry_of_0_on_the_board_that_it_is_given_and_no_stone(left, changes):
    class Search:
        def __init__(self):
            self._root = SimpleNamespace(_children={}, _n_visits=1)

        def update_with_move(self, move):
            pass

    class Player:
        mcts = Search()

        def get_action(self, board, is_selfplay, print_probs_value):
            board.states[1] = left
            return 1, np.array([0.0, 1.0])

    board = SimpleNamespace(states={0: 1}, get_current_player=lambda: 2)
    if changes:
        with pytest.raises(ValueError, match="get_action changes the board"):
            act(Player(), board, 0)
    else:
        assert act(Player(), board, 0)["move"] == 1


def test_what_rounding_leaves_at_an_illegal_action_is_no_probability():
    _expect_probabilities(np.array([1 - 1e-10, 1e-10]), 0, [0], 2)
    with pytest.raises(StudentFault, match=r"a probability to illegal actions: \[1\]"):
        _expect_probabilities(np.array([0.99, 0.01]), 0, [0], 2)


def test_probabilities_that_are_no_numbers_are_not_called_nothing():
    with pytest.raises(StudentFault, match="got no numbers"):
        _expect_probabilities(None, 0, [0], 2)
