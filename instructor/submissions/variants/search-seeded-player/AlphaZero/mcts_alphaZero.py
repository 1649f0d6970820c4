"""AlphaZero MCTS that can be repeated: the noise and the draw have a random generator each."""

import numpy as np


def softmax(x):
    powers = np.exp(x - np.max(x))
    return powers / powers.sum()


class TreeNode:
    def __init__(self, parent, prior_p):
        self._parent, self._children = parent, {}
        self._n_visits, self._Q, self._u, self._P = 0, 0.0, 0.0, prior_p

    def best(self, c_puct):
        def score(child):
            child._u = c_puct * child._P * np.sqrt(self._n_visits) / (1 + child._n_visits)
            return child._Q + child._u

        return max(self._children.items(), key=lambda pair: score(pair[1]))


class MCTS:
    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._is_selfplay, self._c_puct, self._n_playout = is_selfplay, c_puct, n_playout
        self._dice = np.random.default_rng(1)

    def _playout(self, board):
        node = self._root
        while node._children:
            move, node = node.best(self._c_puct)
            board.do_move(move)
        ended, winner = board.game_end()
        if not ended:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            node._children = {move: TreeNode(node, prior) for move, prior in pairs}
            value = float(np.ravel(value)[0])
        else:
            value = 0.0 if winner == -1 else 1.0 if winner == board.get_current_player() else -1.0
        while node is not None:
            value = -value
            node._n_visits += 1
            node._Q += (value - node._Q) / node._n_visits
            node = node._parent

    def visits(self, board, selfplay):
        remaining = self._n_playout
        if selfplay:
            if not self._root._children:
                self._playout(board.copy())
                remaining -= 1
            children = list(self._root._children.values())
            for child, eta in zip(children, self._dice.dirichlet([0.3] * len(children)), strict=True):
                child._P = 0.75 * child._P + 0.25 * eta
        for _ in range(remaining):
            self._playout(board.copy())
        return list(self._root._children), [child._n_visits for child in self._root._children.values()]

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move) or TreeNode(None, 1.0)
        self._root._parent = None


class MCTSPlayer:
    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self._dice = np.random.default_rng(2)
        self.first_n_moves, self.player = None, None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        if not is_selfplay:
            self.reset_player()
        moves, visits = self.mcts.visits(board, is_selfplay)
        first_n_moves = self.first_n_moves or (4 if board.width * board.height <= 9 else 12)
        shares = np.array(visits) / sum(visits)
        warm = is_selfplay and len(board.states) < first_n_moves
        chances = softmax(np.log(np.array(visits) + 1e-10) / (1.0 if warm else 1e-3))
        move = int(self._dice.choice(moves, p=chances))
        probs = np.zeros(board.width * board.height)
        probs[moves] = shares if is_selfplay else chances
        self.mcts.update_with_move(move if is_selfplay else -1)
        return move, probs
