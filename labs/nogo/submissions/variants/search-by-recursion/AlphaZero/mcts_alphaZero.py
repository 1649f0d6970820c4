"""AlphaZero search by recursion; Q is kept for the player to move at a node."""

import numpy as np
from Board.game_board import Board


class Node:
    def __init__(self, parent=None, prior=1.0):
        self._parent, self._P = parent, prior
        self._children = {}
        self._n_visits, self._Q = 0, 0


class MCTS:
    def __init__(self, fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = Node()
        self.fn, self.handles = fn, (action_fc, evaluation_fc)
        self._is_selfplay, self._c_puct, self._n_playout = is_selfplay, c_puct, n_playout

    def visit(self, node, board: Board):
        """Return the value of the node for the player to move there."""
        if node._children:
            bonus = self._c_puct * node._n_visits**0.5
            best, move = None, None
            for m, child in node._children.items():
                score = -child._Q + bonus * child._P / (1 + child._n_visits)
                if best is None or score > best:
                    best, move = score, m
            board.do_move(move)
            value = -self.visit(node._children[move], board)
        else:
            done, winner = board.game_end()
            if done:
                value = 0 if winner < 0 else 1 if winner == board.get_current_player() else -1
            else:
                pairs, value = self.fn(board, *self.handles)
                value = float(value[0][0])
                for m, p in pairs:
                    node._children[m] = Node(node, float(p))
        node._n_visits += 1
        node._Q += (value - node._Q) / node._n_visits
        return value

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = Node()


class MCTSPlayer:
    def __init__(self, fn, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(fn, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.selfplay = is_selfplay
        self.first_n_moves = 12
        self.moves = 0

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=0, print_probs_value=0):
        if not self.selfplay:
            self.mcts.update_with_move(-1)
        for _ in range(self.mcts._n_playout):
            self.mcts.visit(self.mcts._root, board.copy())
        counts = {m: c._n_visits for m, c in self.mcts._root._children.items()}
        probs = np.zeros(max(board.width * board.height, 1 + max(board.availables)))
        probs[list(counts)] = list(counts.values())
        probs = probs / probs.sum()
        move = max(counts, key=counts.get)
        if self.selfplay:
            move = np.random.choice(list(counts), p=probs[list(counts)])
            self.mcts.update_with_move(move)
        return int(move), probs
