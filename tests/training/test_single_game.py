"""The network of one game, computed fast: the search above it builds the tree that it would build by itself."""

import numpy as np
import pytest

from Board.game_board import Board
from training.single_game import FoldedPolicy


def visits(reference, net, policy_value_fn, board, playouts):
    search = reference("mcts_alphaZero").MCTS(
        policy_value_fn, net.action_fc_test, net.evaluation_fc2_test, is_selfplay=False, c_puct=5, n_playout=playouts
    )
    for _ in range(playouts):
        search._playout(board.copy())
    return {move: child._n_visits for move, child in search._root._children.items()}


def board_after(width, height, moves):
    board = Board(width=width, height=height, n_in_row=3)
    board.init_board()
    for move in moves:
        board.do_move(move)
    return board


@pytest.mark.parametrize("moves", [[], [4, 0, 8], [1, 7, 3, 5]])
def test_moves_and_value_are_the_networks(make_network, moves):
    net, board = make_network(4, 3, 2), board_after(4, 3, moves)
    priors, value = net.policy_value_fn(board, net.action_fc_test, net.evaluation_fc2_test)
    fast_priors, fast_value = FoldedPolicy(net, 4, 3, exact=True)(board)
    right, fast = dict(priors), dict(fast_priors)
    assert right.keys() == fast.keys() and all(abs(right[move] - fast[move]) < 1e-5 for move in right)
    assert isinstance(fast_value, float) and abs(np.ravel(value)[0] - fast_value) < 1e-5


def test_a_search_builds_the_same_tree(reference, make_network):
    net = make_network(4, 3, 2)
    board, fast = board_after(4, 3, [4, 0]), FoldedPolicy(net, 4, 3, exact=True)
    counts = [visits(reference, net, function, board, 80) for function in (net.policy_value_fn, fast)]
    assert counts[0] == counts[1] and max(counts[0].values()) < 80
