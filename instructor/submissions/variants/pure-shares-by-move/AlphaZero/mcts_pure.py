"""Pure MCTS, with statistics of its trees."""

import random
import sys

import numpy as np


def policy_value_fn(board):
    n = len(board.availables)
    return [(move, 1.0 / n) for move in board.availables], 0


class TreeNode:
    """A node that knows its depth."""

    def __init__(self, parent, prior_p, depth=0):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p
        self.depth = depth

    def expand(self, action_priors):
        self._children.update((a, TreeNode(self, p, self.depth + 1)) for a, p in action_priors if a not in self._children)

    def get_value(self, c_puct):
        # The square root never vanishes.
        self._u = c_puct * self._P * np.sqrt(self._parent._n_visits + 1e-8) / (1 + self._n_visits)
        return self._Q + self._u

    def backup(self, value):
        self._Q = (self._Q * self._n_visits + value) / (self._n_visits + 1)
        self._n_visits += 1
        if self._parent is not None:
            self._parent.backup(-value)


class MCTS:
    """The search."""

    __slots__ = ("_c_puct", "_n_playout", "_policy", "_rollouts", "_root", "_verbose", "deepest")

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400, rollouts=1, verbose=False):
        self._root = TreeNode(None, 1.0)
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._rollouts = rollouts
        self._verbose = verbose
        self.deepest = 0

    def playout(self, board):
        node = self._root
        while node._children:
            move = max(node._children, key=lambda m: node._children[m].get_value(self._c_puct))
            node = node._children[move]
            board.do_move(move)
        self.deepest = max(self.deepest, node.depth)
        if not board.game_end()[0]:
            node.expand(self._policy(board)[0])
        node.backup(-sum(self.rollout(board.copy()) for _ in range(self._rollouts)) / self._rollouts)

    def rollout(self, board):
        me = board.get_current_player()
        moves = list(board.availables)
        random.shuffle(moves)
        while not board.game_end()[0]:
            board.do_move(moves.pop())
        winner = board.game_end()[1]
        return 0 if winner == -1 else 1 if winner == me else -1

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move, TreeNode(None, 1.0))
        self._root._parent = None


class MCTSPlayer:
    """A player that says how sure it is."""

    def __init__(self, c_puct=5, n_playout=400, temperature=1e-3, verbose=False):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout, verbose=verbose)
        self.temperature = temperature
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.reset_player()
        for _ in range(self.mcts._n_playout):
            self.mcts.playout(board.copy())
        visits = {move: child._n_visits for move, child in self.mcts._root._children.items()}
        logs = np.log(np.array(list(visits.values())) + 1e-10) / self.temperature
        chances = np.exp(logs - logs.max())
        move = int(np.random.choice(list(visits), p=chances / chances.sum()))
        print("deepest", self.mcts.deepest, file=sys.stderr)
        return move, {m: n / sum(visits.values()) for m, n in visits.items()}
