

# ------------------------------------------------------------------------------------------ around what was pasted

import numpy as np


class MCTS:
    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._c_puct, self._n_playout, self._is_selfplay = c_puct, n_playout, is_selfplay
        self._root = Node(1.0)

    def run(self, board):
        def evaluate(leaf):
            priors, value = self._policy_value_fn(leaf, self._action_fc, self._evaluation_fc)
            return priors, float(np.asarray(value).reshape(-1)[0])

        self._root = search(board, evaluate, self._n_playout, self._c_puct)

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move) or Node(1.0)


class MCTSPlayer:
    first_n_moves = 4

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.mcts.run(board)
        moves = list(self.mcts._root._children)
        visits = np.array([child._n_visits for child in self.mcts._root._children.values()])
        temperature = 1.0 if is_selfplay and len(board.states) < self.first_n_moves else 1e-3
        logs = np.log(visits + 1e-10) / temperature
        shares = np.exp(logs - logs.max())
        probs = np.zeros(board.width * board.height)
        probs[moves] = shares / shares.sum()
        return int(np.random.choice(moves, p=probs[moves])), probs
