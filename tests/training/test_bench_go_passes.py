"""bench/go_passes.py: on the way to which new nodes two passes were taken back."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from go_passes import PassCounter

from games.go.rules import GoRules
from training.search.paths import Ways

PASS = 16
OPEN = "b1 c1 b2 c2 b4 c4 a1"  # all empty points but two reach both colours
SETTLED = "b1"  # all points are black's


def uniform(states):
    return np.full((len(states), PASS + 1), 1 / (PASS + 1), dtype=np.float32), np.zeros(len(states), dtype=np.float32)


@pytest.mark.parametrize(
    ("played", "way", "depth_limit", "touched"),
    [
        (OPEN, "pass pass", 20, 1),
        (OPEN, "pass pass a2 a3", 20, 1),
        (f"{OPEN} pass", "pass", 20, 1),
        (f"{OPEN} pass", "a2 pass", 20, 0),
        (OPEN, "pass a2 pass", 20, 0),
        (OPEN, "pass pass", 0, 0),
        (SETTLED, "pass pass", 20, 0),
    ],
)
def test_a_node_counts_if_two_passes_were_taken_back_on_its_way(played, way, depth_limit, touched):
    """The first of two passes may be a real one. Two passes that end a game are not taken back."""
    rules = GoRules(4, 4)
    boards = rules.batch(1)
    for name in played.split():
        boards.play([rules.action_of(name)])
    line = np.array([[rules.action_of(name) for name in way.split()]])
    counter = PassCounter(uniform, depth_limit)
    steps = counter.new_steps()
    steps.begin(boards, rows=8)
    first = np.zeros(1, dtype=np.int64)
    steps.behind_edges(first, first + 1, Ways(first, line[:, -1], line, np.array([line.shape[1]])))
    assert (counter.nodes, counter.touched) == (1, touched)
