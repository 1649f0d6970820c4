"""Pure MCTS: each search is one long function over a tree of its own."""

import random


def policy_value_fn(board):
    moves = board.availables
    return [(move, 1 / len(moves)) for move in moves], 0


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

    def get_move(self, board):
        """Grow a new tree, then store it."""
        root = TreeNode(None, 1.0)
        for _ in range(self._n_playout):
            state = board.copy()
            node = root
            while node._children:
                for child in node._children.values():
                    child._u = self._c_puct * child._P * node._n_visits**0.5 / (1 + child._n_visits)
                move, node = max(node._children.items(), key=lambda item: item[1]._Q + item[1]._u)
                state.do_move(move)
            if not state.game_end()[0]:
                for move, prior in self._policy(state)[0]:
                    node._children[move] = TreeNode(node, prior)
            opponent = 3 - state.get_current_player()
            while not state.game_end()[0]:
                state.do_move(random.choice(state.availables))
            winner = state.game_end()[1]
            value = 0 if winner == -1 else 1 if winner == opponent else -1
            while node is not None:
                node._n_visits += 1
                node._Q += (value - node._Q) / node._n_visits
                node, value = node._parent, -value
        self._root = root
        return max(root._children, key=lambda move: root._children[move]._n_visits)

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
        move = self.mcts.get_move(board)
        self.mcts.update_with_move(-1)
        return move, None
