"""AlphaZero MCTS: priors and values from the network."""

import copy

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    probs /= np.sum(probs)
    return probs


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

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._is_selfplay = is_selfplay

    def _playout(self, board):
        node = self._root
        while not node.is_leaf():
            action, node = node.select(self._c_puct)
            board.do_move(action)
        action_probs, leaf_value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
        leaf_value = leaf_value[0][0]
        end, winner = board.game_end()
        if not end:
            node.expand(action_probs)
        elif winner == -1:
            leaf_value = 0.0
        else:
            leaf_value = 1.0 if winner == board.get_current_player() else -1.0
        node.update_recursive(-leaf_value)

    def get_move_visits(self, board):
        for n in range(self._n_playout):
            board_copy = copy.deepcopy(board)
            self._playout(board_copy)
            if n == 0 and self._is_selfplay:
                self._explore()
        act_visits = [(act, node._n_visits) for act, node in self._root._children.items()]
        return zip(*act_visits)

    def _explore(self):
        nodes = list(self._root._children.values())
        noise = np.random.dirichlet(0.3 * np.ones(len(nodes)))
        for node, eta in zip(nodes, noise):
            node._P = 0.75 * node._P + 0.25 * eta

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)

    def __str__(self):
        return "MCTS"


class MCTSPlayer(object):
    """AI player based on MCTS with a network."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self._is_selfplay = is_selfplay
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = 12
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        move_probs = np.zeros(board.width * board.height)
        if len(board.availables) > 0:
            if not is_selfplay:
                self.mcts.update_with_move(board.last_move)
            acts, visits = self.mcts.get_move_visits(board)
            if is_selfplay and len(board.states) < self.first_n_moves:
                temp = 1.0
            else:
                temp = 1e-3
            probs = softmax(1.0 / temp * np.log(np.array(visits) + 1e-10))
            move = np.random.choice(acts, p=probs)
            self.mcts.update_with_move(move)
            if is_selfplay:
                probs = softmax(np.log(np.array(visits) + 1e-10))
            move_probs[list(acts)] = probs
            return move, move_probs
        else:
            print("WARNING: the board is full")

    def __str__(self):
        return "MCTS {}".format(self.player)
