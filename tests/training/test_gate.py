"""The gate between the network that learns and the one that plays."""

import pytest

from arena.statistics.estimates import GameResult
from training.selfplay.workers import Gate


@pytest.mark.parametrize(
    ("results", "games", "accepted"),
    [
        ([1] * 400, (20, 100), True),  # Wald's test is sure early
        ([0, 1, 0] * 133, (20, 200), False),
        (([1, 0] * 23 + [1, 1] * 2) * 8, (400, 400), False),  # undecided, 54 %
        (([1, 0] * 22 + [1, 1] * 3) * 8, (400, 400), True),  # undecided, 56 %
        (([1, 0] * 18 + [1, 1] * 2) * 10, (400, 400), False),  # undecided, exactly 55 %
    ],
)
def test_the_gate_takes_more_than_55_percent_or_what_is_clearly_more(results, games, accepted):
    gate, played = Gate(0.55), []
    for number, value in enumerate(results):
        played.append(value)
        if gate.add(GameResult(value, pair=number // 2, identity=number)):
            break
    assert games[0] <= len(played) <= games[1]
    assert gate.accepts(sum(played) / len(played)) == accepted
