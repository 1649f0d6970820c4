"""The random positions of the search checks have what the checks look for."""

from itertools import permutations
from random import Random

import pytest

from grader.judge.support.board_position import board_at
from grader.judge.support.drawn_positions import drawn_position
from grader.judge.support.searches import SEARCHES, families


@pytest.mark.parametrize("seed", range(20))
def test_the_last_stone_of_a_drawn_position_may_draw_the_game_or_win_it(seed):
    position, results = drawn_position(Random(seed)), set()
    for order in permutations(board_at(position).availables):
        board = board_at(position)
        while not board.game_end()[0]:
            board.do_move(order[3 - len(board.availables)])
        results |= {board.game_end()[1]} if not board.availables else set()
    assert -1 in results and len(results) > 1


def test_rollouts_that_are_always_won_show_in_a_position():
    """Where the side to move below the root loses whatever is played; without such a leaf, no rollout would be worth -1."""
    values = [value for name in families("certain")[:8] for value in SEARCHES[name](Random(1)).values.values()]
    assert {-1.0, 0.0, 1.0} <= set(values)
