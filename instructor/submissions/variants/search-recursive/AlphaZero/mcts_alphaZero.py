"""AlphaZero MCTS as a recursion; the root's priors are always those of the network, with noise in self-play."""

from math import sqrt

import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


class TreeNode:
    """A position; _Q for the player who moved into it."""

    def __init__(self, parent, prior_p):
        self._parent, self._P = parent, prior_p
        self._children, self._n_visits, self._Q, self._u = {}, 0, 0.0, 0.0


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._is_selfplay, self._c_puct, self._n_playout = is_selfplay, c_puct, n_playout
        self._root = TreeNode(None, 1.0)

    def evaluate(self, board):
        pairs, value = self._policy_value_fn(board, actin_fc=self._action_fc, evaluation_fc=self._evaluation_fc)
        return dict(pairs), float(np.reshape(value, ()))

    def visit(self, node, board):
        """One playout from here; the value for the player to move."""
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else -1.0
        elif not node._children:
            priors, value = self.evaluate(board)
            for move, prior in priors.items():
                node._children[move] = TreeNode(node, prior)
        else:
            best_score = -float("inf")
            for move, child in node._children.items():
                child._u = self._c_puct * child._P * sqrt(node._n_visits) / (1 + child._n_visits)
                if child._Q + child._u > best_score:
                    best_score, best_move = child._Q + child._u, move
            board.do_move(best_move)
            value = -self.visit(node._children[best_move], board)
        node._n_visits += 1
        node._Q -= (value + node._Q) / node._n_visits
        return value

    def run(self, board):
        left = self._n_playout
        if not self._root._children:
            self.visit(self._root, board.copy())
            left -= 1
        if self._is_selfplay:
            priors, _ = self.evaluate(board)
            eta = np.random.dirichlet([0.3] * len(priors))
            for (move, prior), noise in zip(priors.items(), eta):
                self._root._children[move]._P = 0.75 * prior + 0.25 * noise
        for _ in range(left):
            self.visit(self._root, board.copy())

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
        self.first_n_moves, self.player = None, None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.mcts._is_selfplay = is_selfplay
        if not is_selfplay:
            self.reset_player()
        self.mcts.run(board)
        moves = list(self.mcts._root._children)
        visits = np.array([self.mcts._root._children[move]._n_visits for move in moves], dtype=float)
        first = (4 if board.width == 3 else 12) if self.first_n_moves is None else self.first_n_moves
        early = is_selfplay and len(board.states) < first
        chances = softmax(np.log(visits + 1e-10) * (1 if early else 1000))
        move = moves[np.random.choice(len(moves), p=chances)]
        if is_selfplay:
            self.mcts.update_with_move(move)
        probs = np.zeros(board.width * board.height)
        probs[moves] = chances
        return move, probs
