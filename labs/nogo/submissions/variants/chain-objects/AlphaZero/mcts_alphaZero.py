"""Visits and means in the nodes; the counts of a search are divided by their sum at the end."""

import math

import numpy as np


class TreeNode:
    def __init__(self, parent, prior):
        self._parent, self._P = parent, prior
        self._children = {}
        self._n_visits, self._Q = 0, 0

    def pick(self, c_puct):
        best_value, best_move = -math.inf, None
        scale = c_puct * math.sqrt(self._n_visits)
        for move, child in self._children.items():
            value = child._Q + scale * child._P / (1 + child._n_visits)
            if value > best_value:
                best_value, best_move = value, move
        return best_move, self._children[best_move]


class MCTS:
    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._is_selfplay, self._c_puct, self._n_playout = is_selfplay, c_puct, n_playout

    def _playout(self, board):
        node = self._root
        while node._children:
            move, node = node.pick(self._c_puct)
            board.do_move(move)
        over, winner = board.game_end()
        if over:
            result = {board.current_player: 1.0, -1: 0.0}.get(winner, -1.0)
        else:
            priors, result = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            node._children = {int(move): TreeNode(node, float(prior)) for move, prior in priors}
            result = float(np.array(result).item())
            if node is self._root and self._is_selfplay:
                noise = np.random.dirichlet(np.full(len(node._children), 0.3))
                for extra, child in zip(noise, node._children.values()):
                    child._P = 0.75 * child._P + 0.25 * extra
        while node is not None:
            result = -result
            node._n_visits += 1
            node._Q += (result - node._Q) / node._n_visits
            node = node._parent

    def search(self, board):
        for _ in range(self._n_playout):
            self._playout(board.copy())

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)


class MCTSPlayer:
    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = 12
        self._played = 0

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)
        self._played = 0

    def get_action(self, board, is_selfplay=0, print_probs_value=0):
        self.mcts._is_selfplay = is_selfplay
        self.mcts.update_with_move(-1)
        self.mcts.search(board)
        probs = [0.0] * (board.width * board.height)
        total = sum(child._n_visits for child in self.mcts._root._children.values())
        for move, child in self.mcts._root._children.items():
            probs[move] = child._n_visits / total
        if is_selfplay and self._played < self.first_n_moves:
            move = np.random.choice(len(probs), p=probs)
        else:
            move = np.argmax(probs)
        self._played += 1
        return move, np.array(probs)
