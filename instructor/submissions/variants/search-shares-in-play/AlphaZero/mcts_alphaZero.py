"""AlphaZero MCTS that always says how the visits were shared."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    """A position; _Q for the player who moved into it, None before the first visit."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = None
        self._u = 0
        self._P = prior_p

    def get_value(self, c_puct):
        self._u = c_puct * self._P * self._parent._n_visits**0.5 / (1 + self._n_visits)
        return (self._Q or 0.0) + self._u

    def update(self, leaf_value):
        self._Q = (self._n_visits * (self._Q or 0.0) + leaf_value) / (self._n_visits + 1)
        self._n_visits += 1


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, None)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout

    def _playout(self, board):
        node, path = self._root, [self._root]
        while node._children:
            move = max(node._children, key=lambda m: node._children[m].get_value(self._c_puct))
            node = node._children[move]
            path.append(node)
            board.do_move(move)
        end, winner = board.game_end()
        if not end:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = float(np.squeeze(value))
            for move, prior in pairs:
                node._children[move] = TreeNode(node, prior)
        else:
            value = 0 if winner == -1 else -1
        for node in reversed(path):
            value = -value
            node.update(value)

    def get_visits(self, board):
        for number in range(self._n_playout):
            if self._is_selfplay and self._root._children and (number == 0 or self._root._n_visits == 1):
                noise = np.random.dirichlet([0.3] * len(self._root._children))
                for eta, child in zip(noise, self._root._children.values()):
                    child._P = 0.25 * eta + 0.75 * child._P
            self._playout(board.copy())
        return {move: child._n_visits for move, child in self._root._children.items()}

    def update_with_move(self, last_move):
        self._root = self._root._children.pop(last_move, None) or TreeNode(None, None)
        self._root._parent = None


class MCTSPlayer:
    """A player with a network."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.is_selfplay = is_selfplay
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay, print_probs_value):
        visits = self.mcts.get_visits(board)
        probs = np.zeros(board.width * board.height)
        for move, n in visits.items():
            probs[move] = n / sum(visits.values())
        first = self.first_n_moves
        if first is None:
            first = 4 if board.width * board.height == 9 else 12
        if is_selfplay and len(board.states) < first:
            move = int(np.random.choice(len(probs), p=probs))
        else:
            move = int(np.argmax(probs))
        self.mcts.update_with_move(move if is_selfplay else -1)
        return move, probs
