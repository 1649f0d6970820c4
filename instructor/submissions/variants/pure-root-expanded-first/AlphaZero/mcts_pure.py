"""Pure MCTS as a recursion; the root is made ready before the playouts begin."""

import random
from collections import deque
from math import sqrt

from Board.game_board import Board


def policy_value_fn(board):
    """The same for all."""
    share = 1 / len(board.availables)
    return ((move, share) for move in list(board.availables)), 0


def copy_of(board):
    """A board in the same position: much faster than copy.deepcopy once was."""
    twin = Board(width=board.width, height=board.height, n_in_row=board.n_in_row)
    twin.states = dict(board.states)
    twin.availables = list(board.availables)
    twin.states_sequence = deque(([*pair] for pair in board.states_sequence), maxlen=8)
    twin.current_player = board.current_player
    twin.last_move = board.last_move
    return twin


class TreeNode:
    """`_Q` is for the player who moved into the node."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._wins = 0.0
        self._u = 0.0
        self._P = prior_p

    @property
    def _Q(self):
        return self._wins / self._n_visits if self._n_visits else 0.0

    def grow(self, pairs):
        self._children = {move: TreeNode(self, prior) for move, prior in pairs}


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._root = TreeNode(None, 1.0)

    def think(self, board):
        """The most visited move."""
        if not self._root._children:
            self._root.grow(self._policy(board)[0])
        for _ in range(self._n_playout):
            self._visit(self._root, copy_of(board))
        return max(self._root._children.items(), key=lambda pair: pair[1]._n_visits)[0]

    def _visit(self, node, board):
        """The result for the player to move at the node; the player before sees its negative."""
        over, winner = board.game_end()
        if over:
            result = 0 if winner < 0 else (1 if winner == board.get_current_player() else -1)
        elif node._children:
            result = self._descend(node, board)
        else:
            node.grow(self._policy(board)[0])
            result = self._throw_dice(board)
        node._n_visits += 1
        node._wins -= result
        return result

    def _descend(self, node, board):
        root_of_sum = sqrt(sum(child._n_visits for child in node._children.values()))
        best, best_score = None, None
        for move, child in node._children.items():
            child._u = self._c_puct * child._P * root_of_sum / (1 + child._n_visits)
            score = child._Q + child._u
            if best is None or score > best_score:
                best, best_score = (move, child), score
        move, child = best
        board.do_move(move)
        return -self._visit(child, board)

    def _throw_dice(self, board):
        me = board.get_current_player()
        while True:
            over, winner = board.game_end()
            if over:
                return 0 if winner < 0 else (1 if winner == me else -1)
            board.do_move(random.choice(board.availables))

    def update_with_move(self, last_move):
        child = self._root._children.get(last_move)
        if child is None:
            child = TreeNode(None, 1.0)
        child._parent = None
        self._root = child


class MCTSPlayer:
    """A player with a search."""

    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        move = self.mcts.think(board)
        self.reset_player()
        return move, None
