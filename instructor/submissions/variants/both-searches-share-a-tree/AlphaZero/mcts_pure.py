"""Pure MCTS over the common tree."""

import random

from AlphaZero.tree import Tree, TreeNode


def policy_value_fn(board):
    moves = board.availables
    return [(move, 1 / len(moves)) for move in moves], 0


class MCTS(Tree):
    """Leaves are judged by dice."""

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        super().__init__(c_puct, n_playout)
        self._policy = policy_value_fn

    def judge(self, leaf, board):
        for move, prior in self._policy(board)[0]:
            leaf._children[move] = TreeNode(leaf, prior)
        me = board.get_current_player()
        while not board.game_end()[0]:
            board.do_move(random.choice(board.availables))
        winner = board.game_end()[1]
        return (winner == me) - (winner == 3 - me)


class MCTSPlayer:
    """Searches afresh for each move."""

    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.reset_player()
        self.mcts.playouts(board, self.mcts._n_playout)
        return self.mcts.most_visited(), None
