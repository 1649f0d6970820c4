"""Pure MCTS that leaves no garbage behind."""

import random
from math import sqrt


def policy_value_fn(board):
    """Uniform priors."""
    return [(move, 1 / len(board.availables)) for move in board.availables], 0


class TreeNode:
    """A position; _Q for the player who moved into it."""

    def __init__(self, parent, prior_p):
        self._parent, self._P = parent, prior_p
        self._children = {}
        self._n_visits, self._Q, self._u = 0, 0.0, 0.0

    def value(self, c_puct):
        self._u = c_puct * self._P * sqrt(self._parent._n_visits) / (1 + self._n_visits)
        return self._Q + self._u

    def free(self):
        """Take the tree below this node apart: parents and children keep each other alive until the collector runs."""
        for child in self._children.values():
            child.free()
        self._children.clear()
        self._parent = None


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy, self._c_puct, self._n_playout = policy_value_fn, c_puct, n_playout

    def playout(self, board):
        node = self._root
        while node._children:
            move, node = max(node._children.items(), key=lambda pair: pair[1].value(self._c_puct))
            board.do_move(move)
        if not board.game_end()[0]:
            random.shuffle(board.availables)  # equal moves are then selected in a random order
            for move, prior in self._policy(board)[0]:
                node._children[move] = TreeNode(node, prior)
        mover = board.get_current_player()
        while not board.game_end()[0]:
            board.do_move(random.choice(board.availables))
        winner = board.game_end()[1]
        result = 0 if winner == -1 else 1 if winner == mover else -1
        while node is not None:
            result = -result
            node._n_visits += 1
            node._Q += (result - node._Q) / node._n_visits
            node = node._parent

    def update_with_move(self, last_move):
        kept = self._root._children.pop(last_move, None) or TreeNode(None, 1.0)
        self._root.free()
        del self._root
        self._root = kept
        self._root._parent = None


class MCTSPlayer:
    """A player that drops its tree after each move."""

    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, **ignored):
        for _ in range(self.mcts._n_playout):
            self.mcts.playout(board.copy())
        children = self.mcts._root._children
        best = max(children, key=lambda move: children[move]._n_visits)
        self.reset_player()
        return best, None
