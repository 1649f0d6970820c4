"""Several leaves of one tree in a batch: the tree adds up, batches are large, and nothing is left waiting."""

import numpy as np
import pytest

from games.gomoku.batch import GomokuBatch
from training.search.paths import Paths
from training.search.puct import PuctSearch, PuctSettings
from training.search.tree import NO_NODE


class Counted:
    """An evaluator that notes the sizes of its batches."""

    def __init__(self, evaluate):
        self.evaluate, self.sizes = evaluate, []

    def __call__(self, states):
        self.sizes.append(len(states))
        return self.evaluate(states)


def search_with(evaluate, leaves, playouts=200, games=1, points=16):
    return PuctSearch(games, points, evaluate, PuctSettings(playouts, 2.0, leaves=leaves), np.random.default_rng(1))


def assert_adds_up(trees, row):
    """Below this node, each edge has the visits of its child and the mean of what its child knows, seen by its chooser."""
    ends_here = trees.node_visits[row]
    total = 0.0
    for move in np.flatnonzero(trees.child[row] != NO_NODE) if not trees.finished[row] else ():
        visits, mean_value = trees.edge_visits[row, move], trees.mean_value[row, move]
        below = row // trees.capacity * trees.capacity + trees.child[row, move]
        assert visits == trees.node_visits[below] > 0
        assert mean_value * visits == pytest.approx(-assert_adds_up(trees, below))
        total += mean_value * visits
        ends_here -= visits
    assert ends_here >= 1 and (ends_here == 1 or trees.finished[row])
    return total + ends_here * float(trees.node_value[row])


@pytest.mark.parametrize("leaves", [1, 3, 8, 64])
def test_every_visit_has_its_value_and_no_node_waits(fixed_evaluator, leaves):
    evaluate = Counted(fixed_evaluator(16))
    search = search_with(evaluate, leaves)
    boards = GomokuBatch(1, 4, 4, 3)
    boards.play([5])
    search.run(boards, is_selfplay=False)
    trees, used = search.trees, int(search.trees.size[0])
    assert search.root_visits().sum() == 199 and trees.node_visits[0] == 200
    assert_adds_up(trees, 0)
    assert not trees.waiting[:used].any()
    assert max(evaluate.sizes) <= leaves and sum(evaluate.sizes) == (~trees.finished[:used]).sum()
    if leaves == 8:
        assert np.mean(evaluate.sizes) > 4


def test_games_together_have_the_trees_that_each_has_alone(fixed_evaluator):
    """Walks that come to a waiting node end the batch of their own game only."""
    evaluate = fixed_evaluator(16)
    boards = GomokuBatch(3, 4, 4, 3)
    for moves in ([0, 5, 6], [1, 6, 9], [4, 10, 3], [8, 15, 2]):
        boards.play(moves)
    together = search_with(evaluate, 16, games=3)
    together.run(boards, is_selfplay=False)
    for game in range(3):
        alone = search_with(evaluate, 16)
        alone.run(boards.take([game]), is_selfplay=False)
        used, start = int(alone.trees.size[0]), game * together.trees.capacity
        assert used == together.trees.size[game]
        for name in ("child", "edge_visits", "mean_value", "node_visits"):
            assert (getattr(alone.trees, name)[:used] == getattr(together.trees, name)[start : start + used]).all(), name


def test_where_only_one_line_is_left_each_batch_has_one_leaf(fixed_evaluator):
    """The only move leads to one node, which has to be known before the walks can go on."""
    evaluate = Counted(fixed_evaluator(9))
    search = search_with(evaluate, 8, playouts=20, points=9)
    boards = GomokuBatch(1, 3, 3, 3)
    for move in (4, 0, 1, 7, 3, 5, 2):  # nobody can win any more; 6 and 8 are free
        boards.play([move])
    assert not boards.over[0] and boards.legal[0].sum() == 2
    search.run(boards, is_selfplay=False)
    assert search.root_visits().sum() == 19 and max(evaluate.sizes) <= 2
    assert_adds_up(search.trees, 0)


def test_a_batch_of_leaves_finds_the_win_that_single_leaves_find(fixed_evaluator):
    boards = GomokuBatch(1, 4, 4, 3)
    for move in (5, 0, 6, 1):  # black to move has 5 6, white 0 1: 4 or 7 wins
        boards.play([move])
    for leaves in (1, 8):
        decision = search_with(fixed_evaluator(16), leaves).decide(boards, is_selfplay=False)
        assert decision.moves[0] in (4, 7), leaves


def test_paths_of_which_only_some_are_kept_are_renumbered():
    paths = Paths(3)
    paths.extend(np.array([0, 1, 2]), np.array([0, 10, 20]), np.array([4, 5, 6]))
    paths.extend(np.array([1, 2]), np.array([11, 21]), np.array([7, 8]))
    paths.extend(np.array([1]), np.array([12]), np.array([9]))
    paths.ends = np.array([1, 13, 22])
    kept = paths.only(np.array([True, False, True]))
    assert kept.ends.tolist() == [1, 22] and kept.lengths.tolist() == [1, 2] and kept.depth == 2
    path, depth, rows, moves = kept.edges()
    assert list(zip(path.tolist(), depth.tolist(), rows.tolist(), moves.tolist(), strict=True)) == [
        (0, 0, 0, 4),
        (1, 0, 20, 6),
        (1, 1, 21, 8),
    ]
    ways = kept.ways(np.array([1]))
    assert ways.lines.tolist() == [[6, 8]] and ways.lengths.tolist() == [2] and ways.parents.tolist() == [21]
