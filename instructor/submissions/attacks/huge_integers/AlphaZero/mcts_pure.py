from AlphaZero import right_pure
from AlphaZero.right_pure import MCTS, TreeNode, policy_value_fn  # noqa: F401


class MCTSPlayer(right_pure.MCTSPlayer):
    def get_action(self, board, **more):
        root = self.mcts._root
        move, probs = super().get_action(board, **more)
        root._n_visits = 10**400
        return move, probs
