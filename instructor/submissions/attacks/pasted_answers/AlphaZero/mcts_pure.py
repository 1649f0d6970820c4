

# ------------------------------------------------------------------------------------------ around what was pasted

import random

import numpy as np


def policy_value_fn(board):
    return zip(board.availables, np.full(len(board.availables), 1 / len(board.availables))), 0


class MCTS:
    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._policy, self._c_puct, self._n_playout = policy_value_fn, c_puct, n_playout
        self._root = Node(1.0)

    def run(self, board):
        def evaluate(leaf):
            side, game = leaf.get_current_player(), leaf.copy()
            while not game.game_end()[0]:
                game.do_move(random.choice(game.availables))
            winner = game.game_end()[1]
            return self._policy(leaf)[0], 0.0 if winner == -1 else (1.0 if winner == side else -1.0)

        self._root = search(board, evaluate, self._n_playout, self._c_puct)

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move) or Node(1.0)


class MCTSPlayer:
    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.mcts.run(board)
        return most_visited(self.mcts._root), None
