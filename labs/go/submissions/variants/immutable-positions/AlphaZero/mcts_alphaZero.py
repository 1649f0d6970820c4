"""The root is expanded before the playouts; the path is kept in a list; ties are broken at random."""

import copy
import random

import numpy as np


class TreeNode(dict):
    """A node is the dict of its children."""

    def __init__(self, parent, prior):
        super().__init__()
        self._parent = parent
        self._P = prior
        self._n_visits = 0
        self._Q = 0.0

    __hash__ = object.__hash__

    @property
    def _children(self):
        return self


class MCTS:
    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = lambda board: policy_value_fn(board, action_fc, evaluation_fc)
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout

    def evaluate(self, node, board):
        over, winner = board.has_a_winner()
        if over:
            return 1.0 if winner == board.get_current_player() else -1.0
        if not board.availables:
            return 0.0
        priors, value = self._policy_value_fn(board)
        for move, prior in priors:
            node[move] = TreeNode(node, prior)
        return float(value)

    def search(self, board):
        if not self._root:
            self.evaluate(self._root, copy.deepcopy(board))
        if self._is_selfplay:
            noise = np.random.dirichlet([0.3] * len(self._root))
            for child, x in zip(self._root.values(), noise):
                child._P = child._P * 0.75 + x * 0.25
        for _ in range(self._n_playout):
            path, sim = [self._root], copy.deepcopy(board)
            while path[-1]:
                move, child = self._best_child(path[-1])
                sim.do_move(move)
                path.append(child)
            value = self.evaluate(path[-1], sim)
            for node in path[::-1]:
                value = -value
                node._n_visits += 1
                node._Q += (value - node._Q) / node._n_visits

    def _best_child(self, node):
        score = {m: c._Q + self._c_puct * c._P * node._n_visits**0.5 / (1 + c._n_visits) for m, c in node.items()}
        top = max(score.values())
        move = random.choice([m for m in score if score[m] == top])
        return move, node[move]

    def update_with_move(self, last_move):
        self._root = self._root[last_move] if last_move in self._root else TreeNode(None, 1.0)
        self._root._parent = None


class MCTSPlayer:
    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = 12

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=0, print_probs_value=0):
        self.mcts._is_selfplay = is_selfplay
        self.reset_player()
        self.mcts.search(board)
        root = self.mcts._root
        probs = np.zeros(board.pass_action() + 1, dtype=np.float32)
        for move, child in root.items():
            probs[move] = child._n_visits / root._n_visits
        if is_selfplay and len(board.states) < self.first_n_moves:
            move = random.choices(list(root), [child._n_visits for child in root.values()])[0]
        else:
            top = max(child._n_visits for child in root.values())
            move = random.choice([m for m, child in root.items() if child._n_visits == top])
        return move, probs
