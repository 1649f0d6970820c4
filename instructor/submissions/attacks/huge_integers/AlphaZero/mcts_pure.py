from AlphaZero import right_pure
from AlphaZero.right_pure import MCTSPlayer, TreeNode, policy_value_fn  # noqa: F401


class MCTS(right_pure.MCTS):
    def get_move(self, board):
        move = super().get_move(board)
        self._root._n_visits = 10**400
        return move
