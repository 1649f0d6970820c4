"""Pure MCTS: all moves are equally likely, leaves are played out at random."""

import copy
from operator import itemgetter

import numpy as np


def rollout_policy_fn(board):
    """Random weights for the moves of a rollout."""
    weights = np.random.rand(len(board.availables))
    return zip(board.availables, weights)


def policy_value_fn(board):
    """Uniform priors, and no value."""
    probs = np.ones(len(board.availables)) / len(board.availables)
    return zip(board.availables, probs), 0


class TreeNode(object):
    """One node: its value Q, prior P and visits."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0
        self._u = 0
        self._P = prior_p

    def expand(self, action_priors):
        for action, prob in action_priors:
            if action not in self._children:
                self._children[action] = TreeNode(self, prob)

    def select(self, c_puct):
        return max(self._children.items(), key=lambda act_node: act_node[1].get_value(c_puct))

    def update(self, leaf_value):
        self._n_visits += 1
        self._Q += 1.0 * (leaf_value - self._Q) / self._n_visits

    def update_recursive(self, leaf_value):
        if self._parent:
            self._parent.update_recursive(-leaf_value)
        self.update(leaf_value)

    def get_value(self, c_puct):
        self._u = c_puct * self._P * np.sqrt(self._parent._n_visits) / (1 + self._n_visits)
        return self._Q + self._u

    def is_leaf(self):
        return self._children == {}

    def is_root(self):
        return self._parent is None


class MCTS(object):
    """The search."""

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout

    def _playout(self, board):
        node = self._root
        while not node.is_leaf():
            action, node = node.select(self._c_puct)
            board.do_move(action)
        action_probs, _ = self._policy(board)
        end, _ = board.game_end()
        if not end:
            node.expand(action_probs)
        leaf_value = self._evaluate_rollout(board)
        node.update_recursive(-leaf_value)

    def _evaluate_rollout(self, board, limit=1000):
        player = board.get_current_player()
        winner = -1
        for _ in range(limit):
            end, winner = board.game_end()
            if end:
                break
            max_action = max(rollout_policy_fn(board), key=itemgetter(1))[0]
            board.do_move(max_action)
        else:
            print("WARNING: rollout reached move limit")
        if winner == -1:
            return 0
        return 1 if winner == player else -1

    def get_move_visits(self, board):
        for _ in range(self._n_playout):
            board_copy = copy.deepcopy(board)
            self._playout(board_copy)
        act_visits = [(act, node._n_visits) for act, node in self._root._children.items()]
        return zip(*act_visits)

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)

    def __str__(self):
        return "MCTS"


class MCTSPlayer(object):
    """AI player based on pure MCTS."""

    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        if len(board.availables) > 0:
            acts, visits = self.mcts.get_move_visits(board)
            move = acts[int(np.argmax(visits))]
            move_probs = np.zeros(board.width * board.height)
            move_probs[list(acts)] = np.array(visits) / np.sum(visits)
            self.mcts.update_with_move(-1)
            return move, move_probs
        else:
            print("WARNING: the board is full")

    def __str__(self):
        return "MCTS {}".format(self.player)
