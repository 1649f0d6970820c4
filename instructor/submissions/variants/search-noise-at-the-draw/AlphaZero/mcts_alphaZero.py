"""AlphaZero MCTS; self-play explores by noise in the draw of the move."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    probs /= np.sum(probs)
    return probs


class TreeNode:
    """A position in the tree."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0
        self._u = 0
        self._P = prior_p

    def expand(self, action_priors):
        for action, prob in action_priors:
            self._children.setdefault(action, TreeNode(self, prob))

    def select(self, c_puct):
        return max(self._children.items(), key=lambda act_node: act_node[1].get_value(c_puct))

    def get_value(self, c_puct):
        self._u = c_puct * self._P * np.sqrt(self._parent._n_visits) / (1 + self._n_visits)
        return self._Q + self._u

    def update_recursive(self, leaf_value):
        if self._parent:
            self._parent.update_recursive(-leaf_value)
        self._n_visits += 1
        self._Q += 1.0 * (leaf_value - self._Q) / self._n_visits


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._is_selfplay = is_selfplay

    def _playout(self, state):
        node = self._root
        while node._children:
            action, node = node.select(self._c_puct)
            state.do_move(action)
        end, winner = state.game_end()
        if end:
            leaf_value = 0.0 if winner == -1 else (1.0 if winner == state.get_current_player() else -1.0)
        else:
            action_probs, leaf_value = self._policy_value_fn(state, self._action_fc, self._evaluation_fc)
            node.expand(action_probs)
            leaf_value = float(np.array(leaf_value).reshape(()))
        node.update_recursive(-leaf_value)

    def get_move_probs(self, state, temp):
        for _ in range(self._n_playout):
            self._playout(state.copy())
        acts = list(self._root._children)
        visits = np.array([self._root._children[act]._n_visits for act in acts])
        return acts, softmax(1.0 / temp * np.log(visits + 1e-10))

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
        first = (4 if board.width * board.height <= 9 else 12) if self.first_n_moves is None else self.first_n_moves
        temp = 1.0 if is_selfplay and len(board.states) < first else 1e-3
        acts, probs = self.mcts.get_move_probs(board, temp)
        move_probs = np.zeros(board.width * board.height)
        move_probs[acts] = probs
        if is_selfplay:
            noise = np.random.dirichlet(0.3 * np.ones(len(probs)))
            move = np.random.choice(acts, p=0.75 * probs + 0.25 * noise)
            self.mcts.update_with_move(move)
        else:
            move = np.random.choice(acts, p=probs)
            self.mcts.update_with_move(-1)
        return move, move_probs
