"""AlphaZero MCTS that forgets its tree after each move."""

import math

import numpy as np


def softmax(x):
    powers = np.exp(x - np.amax(x))
    return powers / powers.sum()


class TreeNode:
    """A position; _Q for the player who moved into it."""

    def __init__(self, parent, prior_p):
        self._parent, self._children = parent, {}
        self._n_visits, self._Q, self._u, self._P = 0, 0.0, 0.0, prior_p

    def score(self, c_puct, parent_visits):
        self._u = c_puct * self._P * math.sqrt(parent_visits) / (self._n_visits + 1)
        return self._u + self._Q


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._c_puct, self._n_playout, self._is_selfplay = c_puct, n_playout, is_selfplay

    def _simulate(self, node, board):
        """The value for the player to move at the node."""
        ended, winner = board.game_end()
        if ended:
            value = {-1: 0.0, board.get_current_player(): 1.0}.get(winner, -1.0)
        elif node._children:
            move, child = max(node._children.items(), key=lambda item: item[1].score(self._c_puct, node._n_visits))
            board.do_move(move)
            value = -self._simulate(child, board)
        else:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = float(np.squeeze(value))
            for move, prior in pairs:
                node._children[move] = TreeNode(node, prior)
        node._n_visits += 1
        node._Q += (-value - node._Q) / node._n_visits
        return value

    def search(self, board, noise):
        for number in range(self._n_playout):
            if number == 1 and noise:
                etas = np.random.dirichlet([0.3] * len(self._root._children))
                for child, eta in zip(self._root._children.values(), etas):
                    child._P = child._P * 0.75 + eta * 0.25
            self._simulate(self._root, board.copy())

    def update_with_move(self, last_move):
        self._root = self._root._children[last_move] if last_move in self._root._children else TreeNode(None, 1.0)
        self._root._parent = None


class MCTSPlayer:
    """A player with a network."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves, self.player = None, None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.reset_player()
        self.mcts.search(board, noise=is_selfplay)
        visits = np.zeros(board.width * board.height)
        for move, child in self.mcts._root._children.items():
            visits[move] = child._n_visits
        if self.first_n_moves is None:
            self.first_n_moves = 4 if board.width == board.height == 3 else 12
        early = is_selfplay and len(board.states) < self.first_n_moves
        probs = softmax(np.log(visits + 1e-10) / (1 if early else 1e-3))
        probs[[move for move in range(len(probs)) if move not in board.availables]] = 0
        probs /= probs.sum()
        return int(np.random.choice(len(probs), p=probs)), probs
