"""AlphaZero MCTS: every expansion is noisy, and a kept root gets noise of its own."""

import numpy as np


def softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max())
    return e / e.sum()


def mixed(priors):
    """0.75 of the priors, 0.25 of Dirichlet noise."""
    return 0.75 * np.asarray(priors, dtype=float) + 0.25 * np.random.dirichlet([0.3] * len(priors))


class TreeNode:
    """A position; _Q for the player who moved into it."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p

    def expand(self, moves, priors):
        for move, prior in zip(moves, priors):
            self._children[move] = TreeNode(self, prior)

    def select(self, c_puct):
        """By max over get_value."""
        return max(self._children.items(), key=lambda item: item[1].get_value(c_puct))

    def get_value(self, c_puct):
        self._u = c_puct * self._P * np.sqrt(self._parent._n_visits) / (self._n_visits + 1)
        return self._Q + self._u


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc, self._evaluation_fc = action_fc, evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct, self._n_playout = c_puct, n_playout

    def _playout(self, board):
        node = self._root
        while node._children:
            move, node = node.select(self._c_puct)
            board.do_move(move)
        end, winner = board.game_end()
        if end:
            gain = 0.0 if winner == -1 else 1.0
        else:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            moves, priors = zip(*pairs)
            node.expand(moves, mixed(priors) if self._is_selfplay else priors)
            gain = -float(np.asarray(value).reshape(-1)[0])
        while node is not None:
            node._n_visits += 1
            node._Q += (gain - node._Q) / node._n_visits
            gain, node = -gain, node._parent

    def search(self, board):
        if self._is_selfplay and self._root._children:
            children = self._root._children.values()
            for child, prior in zip(children, mixed([child._P for child in children])):
                child._P = prior
        for _ in range(self._n_playout):
            self._playout(board.copy())
        return list(self._root._children), np.array([child._n_visits for child in self._root._children.values()])

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move) or TreeNode(None, 1.0)
        self._root._parent = None


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
        moves, visits = self.mcts.search(board)
        temperature = 1.0 if is_selfplay and len(board.states) < first else 1e-3
        chances = softmax(np.log(visits + 1e-10) / temperature)
        move = int(np.random.choice(moves, p=chances))
        self.mcts.update_with_move(move if is_selfplay else -1)
        probs = np.zeros(board.width * board.height)
        probs[moves] = chances
        return move, probs
