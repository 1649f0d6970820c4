"""AlphaZero MCTS over the common tree."""

import numpy as np

from AlphaZero.tree import Tree, TreeNode


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class MCTS(Tree):
    """Leaves are judged by the network."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        super().__init__(c_puct, n_playout)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay

    def judge(self, leaf, board):
        priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
        leaf._children = {move: TreeNode(leaf, prior) for move, prior in priors}
        return float(np.ravel(value)[0])

    def visits(self, board, is_selfplay):
        """Visits by point of the board, after all playouts."""
        if is_selfplay:
            done = 0
            if not self._root._children:
                self.playouts(board, 1)
                done = 1
            priors = np.array([child._P for child in self._root._children.values()], dtype=float)
            noisy = 0.75 * priors + 0.25 * np.random.dirichlet(np.full(len(priors), 0.3))
            for child, prior in zip(self._root._children.values(), noisy):
                child._P = prior
            self.playouts(board, self._n_playout - done)
        else:
            self.playouts(board, self._n_playout)
        counts = np.zeros(board.width * board.height)
        for move, child in self._root._children.items():
            counts[move] = child._n_visits
        return counts


class MCTSPlayer:
    """A player with a network."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        if not is_selfplay:
            self.reset_player()
        counts = self.mcts.visits(board, is_selfplay)
        first = self.first_n_moves
        if first is None:
            first = 4 if len(counts) <= 9 else 12
        temperature = 1.0 if is_selfplay and board.width * board.height - len(board.availables) < first else 1e-3
        legal = list(board.availables)
        probs = np.zeros(len(counts))
        probs[legal] = softmax(np.log(counts[legal] + 1e-10) / temperature)
        move = int(np.random.choice(legal, p=probs[legal]))
        self.mcts.update_with_move(move if is_selfplay else -1)
        return move, probs
