"""What an engine's moves tell of the board that it has in mind, on games written down move by move."""

import pytest

from arena.rules import SWAP
from grader.judge.support.beliefs import (
    PASSED_BY,
    TAKEN,
    Temptation,
    forgets_the_swap,
    likely_slips,
    longest_row,
    stones_before_swap,
    temptations,
)

YX, FROM_ONE = "answers `y x` instead of `x y`", "counts from 1 instead of 0"
# White takes over 7 7 and 8 8; black lays 9 9 and 6 6 beside them, which would be an open four had no stone changed hands.
AS_WHITE = [(7, 7), (7, 8), (8, 8), SWAP, (9, 9), (0, 3), (6, 6)]
# White takes over 7 7 and 7 8; black adds 7 9 and 7 10, which would be an open four with them.
AS_BLACK = [(7, 7), (0, 0), (7, 8), SWAP, (7, 9), (14, 0), (7, 10), (14, 2)]
# The same row, of which black has laid three stones itself: a right engine continues it as well.
OWN_THREE = [(7, 7), (0, 0), (12, 12), SWAP, (7, 8), (14, 0), (7, 9), (14, 2), (7, 10), (14, 4)]


def test_white_that_stops_a_five_of_the_old_colours_has_taken_a_temptation():
    ends = frozenset({(5, 5), (10, 10)})
    assert temptations([*AS_WHITE, (10, 10)], 1) == [Temptation(8, ends, (10, 10))]
    assert temptations([*AS_WHITE, (10, 10)], 1)[0].is_taken
    assert not temptations([*AS_WHITE, (9, 7)], 1)[0].is_taken


def test_black_that_completes_a_five_of_the_old_colours_has_taken_a_temptation():
    (met,) = temptations([*AS_BLACK, (7, 11)], 0)
    assert met.points == {(7, 6), (7, 11)} and met.is_taken


def test_nothing_is_told_once_five_would_stand_on_the_believed_board():
    going_on = [*AS_BLACK, (7, 11), (14, 4), (7, 12)]
    assert temptations(going_on, 0) == temptations(going_on[:9], 0)


def test_what_a_right_engine_would_play_as_well_is_no_temptation():
    assert temptations([*OWN_THREE, (7, 11)], 0) == []


def test_without_a_swap_there_is_no_temptation():
    moves = [(1, 1) if action == SWAP else action for action in AS_WHITE]
    assert temptations([*moves, (10, 10)], 1) == []


@pytest.mark.parametrize(
    ("answers", "forgets"),
    [
        ([(5, 5)] * TAKEN, True),
        ([(9, 7)] * (PASSED_BY - 1) + [(5, 5)] * TAKEN, True),
        ([(5, 5)] * (TAKEN - 1), None),
        ([(9, 7)] * PASSED_BY + [(5, 5)] * TAKEN, False),
        ([], None),
    ],
)
def test_an_engine_is_convicted_by_many_temptations_taken_and_hardly_one_passed_by(answers, forgets):
    assert forgets_the_swap([[*AS_WHITE, answer] for answer in answers], 1) is forgets


def test_a_row_is_as_long_as_its_stones_where_the_other_colour_has_none():
    stones = {(0, 0): 0, (1, 0): 0, (3, 0): 0, (5, 0): 1}
    assert longest_row(stones, (2, 0), 0) == 3
    assert longest_row(stones, (2, 0), 1) == 0  # upwards
    assert longest_row(stones, (4, 0), 0) == 3  # from 0 0 to 4 0


def test_a_taken_point_is_explained_by_each_slip_that_makes_sense_of_all_answers():
    moves = [(5, 6), (0, 0), (5, 7), (5, 8)]
    assert dict(likely_slips(moves, 0, (5, 8))) == {YX: (8, 5), FROM_ONE: (4, 7)}
    assert likely_slips(moves, 0, (5, 6)) == [], "its own stone is taken however the board lies"
    assert likely_slips(moves, 0, (0, 0)) == []


def test_a_slip_by_which_the_engine_meant_a_taken_point_is_none():
    assert likely_slips([(8, 8), (9, 9), (10, 10)], 1, (10, 10)) == []
    assert dict(likely_slips([(7, 8), (7, 9), (8, 8), (8, 9), (8, 7)], 1, (8, 8))) == {}
    assert dict(likely_slips([(9, 10)], 1, (9, 10))) == {YX: (10, 9), FROM_ONE: (8, 9)}


def test_a_slip_that_makes_less_sense_than_a_missed_stone_is_none():
    moves = [(3, 9), (9, 2), (4, 9), (9, 7), (5, 9), (6, 9)]
    assert dict(likely_slips(moves, 0, (6, 9))) == {FROM_ONE: (5, 8)}, "transposed, 9 2 and 9 7 leave no room for a row of five"


def test_the_stones_of_before_a_swap():
    assert stones_before_swap(AS_WHITE) == {(7, 7), (7, 8), (8, 8)}
    assert stones_before_swap([(7, 7), (7, 8)]) == set()
