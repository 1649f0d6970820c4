"""A search that selects by another rule fails with a message that names the rule; a correct search passes."""

import json
from functools import cache
from math import sqrt
from random import Random

import pytest

from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.agreement import (
    DEFAULT_C_PUCT,
    HUGE_C_PUCT,
    SLIPS,
    WIDE_BOARDS,
    WIDE_PLAYOUTS,
    SearchComparison,
    expect_agreement,
)
from grader.judge.support.board_position import EMPTY_3X3, board_at
from grader.judge.support.drawn_positions import random_position
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import SearchCase, call
from grader.judge.trusted.answers import READINGS, answers_of
from grader.judge.trusted.search import search
from grader.judge.trusted.slips import rules

C_PUCT = 5.0


@cache
def cases(sizes, n_playout, c_puct):
    """Searches in random positions, each with its correct answers, which are the same for all tests."""
    rng, found = Random(3), []
    for size in sizes:
        case = SearchCase(random_position(rng, *size, 2), rng.randrange(2**31), n_playout, c_puct)
        found.append((case, answers_of(case)))
    return found


def searches(rule=None, reading=READINGS[0], sizes=((3, 3, 3), (4, 3, 3), (5, 4, 4)), n_playout=120, c_puct=C_PUCT, further=0):
    """Searches of a student who selects by this rule, or by the right one."""
    found = []
    for case, answers in cases(sizes, n_playout, c_puct):
        root = search(board_at(case.position), case.evaluate, n_playout + further, c_puct, reading=reading, rule=rule)
        visits = {move: float(child.visits) for move, child in root.children.items()}
        found.append(SearchComparison(visits, case.position, n_playout, c_puct, answers))
    return found


def test_every_slip_has_a_rule_and_a_sentence():
    assert list(rules(C_PUCT)) == list(SLIPS)


@pytest.mark.parametrize("slip", [slip for slip in SLIPS if slip != DEFAULT_C_PUCT])
def test_a_slip_in_the_selection_is_named(slip):
    sentence = SLIPS[slip]
    with pytest.raises(StudentFault) as caught:
        expect_agreement(searches(rules(C_PUCT)[slip]))
    assert f"It looks as if {sentence}." in str(caught.value) or f"or as if {sentence}" in str(caught.value)


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_whatever_the_formula_leaves_open_is_right(reading):
    assert expect_agreement(searches(reading=reading)) == 0
    # The root is expanded before the first playout, which then visits a child.
    assert expect_agreement(searches(reading=reading, further=1)) == 0


def test_a_c_puct_that_is_not_the_players_is_named():
    wide = wide_searches(rules(HUGE_C_PUCT)[DEFAULT_C_PUCT])
    with pytest.raises(StudentFault, match="It looks as if c_puct is 5 whatever value the player is given"):
        expect_agreement(searches(), wide)


def wide_searches(rule):
    return searches(rule, sizes=tuple((*size, 5) for size in WIDE_BOARDS), n_playout=WIDE_PLAYOUTS, c_puct=HUGE_C_PUCT)


def at_random_where_all_bonuses_are_0(c_puct, rng):
    """Count only the children's visits, and break ties at random."""
    return lambda p, n: (n.mean_value + c_puct * n.prior * sqrt(p.visits - 1) / (1 + n.visits), rng.random())


def test_a_right_search_that_cannot_be_repeated_could_not_be_graded():
    rng = Random(5)
    ordinary = searches(at_random_where_all_bonuses_are_0(C_PUCT, rng))
    wide = wide_searches(at_random_where_all_bonuses_are_0(HUGE_C_PUCT, rng))
    with pytest.raises(CouldNotGrade, match="chooses at random among moves of equal value"):
        expect_agreement(ordinary, wide, lambda: True)
    with pytest.raises(StudentFault, match="of the visits went to other moves"):
        expect_agreement(ordinary, wide, lambda: False)
    slipped = searches(rules(C_PUCT)["logarithm"])
    with pytest.raises(StudentFault, match="logarithm"):
        expect_agreement(slipped, wide=slipped, chooses_at_random=lambda: True)


def test_a_rule_that_is_no_known_slip_is_told_by_its_visits_alone():
    with pytest.raises(StudentFault, match=r"% of the visits went to other moves than with .* \(1 \+ n\)\.$"):
        expect_agreement(searches(lambda parent, child: child.visits))


class Picky:
    """A worker whose search understands values of one form alone."""

    def __init__(self, understands_arrays, fault=None):
        self.understands_arrays, self.fault = understands_arrays, fault or StudentFault("TypeError: not subscriptable.")
        self.asked = []

    def call(self, operation, *, evaluator, **arguments):
        self.asked.append(bool(evaluator.get("value_as_array")))
        if self.asked[-1] != self.understands_arrays:
            raise self.fault
        return operation


@pytest.mark.parametrize("understands_arrays", [False, True])
def test_a_search_that_understands_one_form_of_values_is_given_that_form(understands_arrays):
    assert call(Picky(understands_arrays), "search", position=EMPTY_3X3, evaluator={"kind": "uniform"}) == "search"


@pytest.mark.parametrize("fault", [StudentFault("RuntimeError: wrong."), CouldNotGrade("TypeError: ours.")])
def test_a_failure_that_has_nothing_to_do_with_values_is_told_at_once(fault):
    worker = Picky(True, fault)
    with pytest.raises(type(fault)):
        call(worker, "search", position=EMPTY_3X3, evaluator={"kind": "uniform"})
    assert worker.asked == [False]


def test_what_was_expected_and_seen_is_recorded_for_the_position_that_differs_most():
    ruling = Ruling()
    wrong = searches(rules(C_PUCT)["no square root"])
    with pytest.raises(StudentFault, match="After moves") as fault:
        expect_agreement(wrong, ruling=ruling)
    worst = max(wrong, key=SearchComparison.smallest_difference)
    most = max(worst.seen, key=lambda move: (worst.seen[move], -move))
    assert ruling.seen.startswith(f"This search visits move {most} {worst.seen[most]:.0f} times")
    assert ruling.expected.startswith("In this position, a correct search visits move ")
    expected, seen = json.loads(json.dumps(fault.value.boards))
    assert expected["moves"] == seen["moves"] == list(worst.position.moves)
    total = sum(worst.seen.values())
    assert dict(map(tuple, seen["shares"])) == {move: round(n / total, 3) for move, n in worst.seen.items() if n}
    assert sum(share for _, share in expected["shares"]) == pytest.approx(1, abs=0.02)
