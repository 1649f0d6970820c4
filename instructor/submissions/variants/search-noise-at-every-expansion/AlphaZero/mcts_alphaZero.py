"""AlphaZero MCTS: noise wherever a node is expanded, values as they come from the network."""

import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


class TreeNode:
    """A position; Q is for the player who moved into it."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0
        self._u = 0
        self._P = prior_p

    def expand(self, pairs, noisy):
        pairs = list(pairs)
        if noisy and pairs:
            eta = np.random.dirichlet([0.3] * len(pairs))
            pairs = [(move, 0.75 * p + 0.25 * e) for (move, p), e in zip(pairs, eta)]
        for move, p in pairs:
            self._children[move] = TreeNode(self, p)

    def value(self, c_puct):
        self._u = c_puct * self._P * np.sqrt(self._parent._n_visits) / (1 + self._n_visits)
        return self._Q + self._u

    def backup(self, value):
        """`value` is for the player who moved into this node."""
        node = self
        while node is not None:
            node._n_visits += 1
            node._Q = node._Q + (value - node._Q) / node._n_visits
            value *= -1
            node = node._parent


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout

    def playout(self, board):
        node = self._root
        while node._children:
            move, node = max(node._children.items(), key=lambda pair: pair[1].value(self._c_puct))
            board.do_move(move)
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else -1.0  # whoever is to move has just lost
        else:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            node.expand(pairs, self._is_selfplay)
        value *= -1
        node.backup(value)

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)


class MCTSPlayer:
    """A player with a network."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        first = self.first_n_moves
        if first is None:
            first = 4 if board.width * board.height == 9 else 12
        self.mcts._is_selfplay = is_selfplay
        for _ in range(self.mcts._n_playout):
            self.mcts.playout(board.copy())
        moves = list(self.mcts._root._children)
        visits = np.array([self.mcts._root._children[move]._n_visits for move in moves])
        hot = is_selfplay and len(board.states) < first
        p = softmax(np.log(visits + 1e-10) / (1.0 if hot else 1e-3))
        move = moves[np.random.choice(len(moves), p=p)]
        probs = np.zeros(board.width * board.height)
        probs[moves] = p
        self.mcts.update_with_move(move if is_selfplay else -1)
        return move, probs
