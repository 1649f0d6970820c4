"""What a right player may answer with; the rest of the checks' trees is tried by submissions, in tests/trust."""

import numpy as np
import pytest

from grader.checks.trees import most_visited


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
