"""Pure MCTS that can be repeated: each tree search has a random generator of its own."""

import random


def policy_value_fn(board):
    return [(move, 1 / len(board.availables)) for move in board.availables], 0


class TreeNode:
    def __init__(self, parent, prior_p):
        self._parent, self._children = parent, {}
        self._n_visits, self._Q, self._u, self._P = 0, 0.0, 0.0, prior_p

    def best(self, c_puct):
        def score(child):
            child._u = c_puct * child._P * self._n_visits**0.5 / (1 + child._n_visits)
            return child._Q + child._u

        return max(self._children.items(), key=lambda pair: score(pair[1]))

    def count(self, value):
        self._n_visits += 1
        self._Q += (value - self._Q) / self._n_visits


class MCTS:
    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy, self._c_puct, self._n_playout = policy_value_fn, c_puct, n_playout
        self._dice = random.Random(20240901)

    def _playout(self, board):
        node = self._root
        while node._children:
            move, node = node.best(self._c_puct)
            board.do_move(move)
        leaf_player = board.get_current_player()
        ended, winner = board.game_end()
        if not ended:
            for move, prior in self._policy(board)[0]:
                node._children[move] = TreeNode(node, prior)
        while not ended:
            board.do_move(self._dice.choice(board.availables))
            ended, winner = board.game_end()
        value = 0.0 if winner == -1 else 1.0 if winner == leaf_player else -1.0
        while node is not None:
            value = -value  # for the player who moved into this node
            node.count(value)
            node = node._parent

    def run(self, board):
        for _ in range(self._n_playout):
            self._playout(board.copy())

    def update_with_move(self, last_move):
        self._root = self._root._children.get(last_move) or TreeNode(None, 1.0)
        self._root._parent = None


class MCTSPlayer:
    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.reset_player()
        self.mcts.run(board)
        children = self.mcts._root._children
        return max(children, key=lambda move: children[move]._n_visits), None
