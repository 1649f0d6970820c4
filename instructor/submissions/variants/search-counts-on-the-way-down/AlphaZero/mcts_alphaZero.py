"""AlphaZero MCTS; a playout leaves its visits on the way down and its value on the way up."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._total = 0.0
        self._P = prior_p

    @property
    def _Q(self):
        return self._total / max(1, self._n_visits)

    def best(self, c_puct):
        """This node's visit of the present playout is counted already, those of its children are not."""
        scale = c_puct * np.sqrt(self._n_visits)
        return max(self._children.items(), key=lambda item: item[1]._Q + scale * item[1]._P / (1 + item[1]._n_visits))


class MCTS:
    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._is_selfplay, self._c_puct, self._n_playout = is_selfplay, c_puct, n_playout
        self._root = TreeNode(None, 1.0)

    def _playout(self, board):
        node = self._root
        node._n_visits += 1
        while node._children:
            move, node = node.best(self._c_puct)
            node._n_visits += 1
            board.do_move(move)
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else 1.0
        else:
            priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = -float(np.ravel(value)[0])
            node._children = {move: TreeNode(node, float(prior)) for move, prior in priors}
        while node is not None:
            node._total += value
            node, value = node._parent, -value

    def search(self, board, is_selfplay):
        playouts = self._n_playout
        if is_selfplay:
            if not self._root._children:
                self._playout(board.copy())
                playouts -= 1
            children = self._root._children.values()
            for child, eta in zip(children, np.random.dirichlet([0.3] * len(children))):
                child._P = 0.75 * child._P + 0.25 * eta
        for _ in range(playouts):
            self._playout(board.copy())
        return list(self._root._children), [child._n_visits for child in self._root._children.values()]

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move) or TreeNode(None, 1.0)
        self._root._parent = None


class MCTSPlayer:
    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        moves, visits = self.mcts.search(board, is_selfplay)
        early = self.first_n_moves
        if early is None:
            early = 4 if board.width * board.height <= 9 else 12
        temperature = 1.0 if is_selfplay and len(board.states) < early else 1e-3
        log_visits = np.log(np.array(visits) + 1e-10)
        chances = softmax(log_visits / temperature)
        move = int(np.random.choice(moves, p=chances))
        probs = np.zeros(board.width * board.height)
        probs[moves] = softmax(log_visits) if is_selfplay else chances
        self.mcts.update_with_move(move if is_selfplay else -1)
        return move, probs
