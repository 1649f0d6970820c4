"""The rules of a game in a match: five in a row, the opening, the swap, and the lines of the protocol."""

import pytest

from arena.rules import SWAP, IllegalAction, Position, Termination, from_line


def play(*actions):
    position = Position()
    for action in actions:
        position.play(action)
    return position


def test_five_in_a_row_wins_and_six_too():
    blacks = [(4, 4), (5, 4), (6, 4), (8, 4), (9, 4)]
    position = play(*[a for i, black in enumerate(blacks) for a in (black, (0, 2 * i))][:-1])
    assert position.winner is None
    position = play(*[a for i, black in enumerate(blacks) for a in (black, (0, 2 * i))], (7, 4))
    assert position.winner == 0


@pytest.mark.parametrize(
    ("actions", "termination"),
    [
        ([(3, 7)], Termination.ILLEGAL_OPENING),
        ([(7, 11)], Termination.ILLEGAL_OPENING),
        ([SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (0, 0), SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (0, 0), (1, 1), SWAP, SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (0, 0), (1, 1), (2, 2), (3, 3), SWAP], Termination.ILLEGAL_SWAP),
        ([(7, 7), (7, 7)], Termination.ILLEGAL_MOVE),
        ([(7, 7), (15, 0)], Termination.ILLEGAL_MOVE),
    ],
)
def test_illegal_actions_are_named_and_change_nothing(actions, termination):
    position = play(*actions[:-1])
    before = (dict(position.stones), list(position.actions), position.turn)
    with pytest.raises(IllegalAction) as fault:
        position.play(actions[-1])
    assert fault.value.termination == termination
    assert (position.stones, position.actions, position.turn) == before


def test_after_the_swap_black_owns_the_stone_that_had_been_white():
    position = play((7, 7), (8, 8), (9, 9), SWAP)
    assert position.turn == 0 and position.swapped
    assert position.stones == {(7, 7): 1, (8, 8): 0, (9, 9): 1}


def test_only_white_may_answer_outside_the_centre_first():
    assert play((7, 7), (0, 0)).stones[(0, 0)] == 1


@pytest.mark.parametrize("line", ["", "7", "7 7 7", "a b", "7.0 7", "0x7 7", "7,7", "9" * 50 + " 1"])
def test_lines_that_are_not_two_numbers_are_no_answer(line):
    with pytest.raises(ValueError):  # noqa: PT011 (any message)
        from_line(line)
