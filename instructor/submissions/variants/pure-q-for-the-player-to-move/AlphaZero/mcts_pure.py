"""Pure MCTS in which a node's value belongs to the player who is to move there."""

import math
import random


def policy_value_fn(board):
    """Every legal move is as likely as any other."""
    moves = board.availables
    return [(move, 1.0 / len(moves)) for move in moves], 0


class TreeNode:
    """A position; `_Q` is the mean result for the player to move in it."""

    def __init__(self, parent, prior_p):
        self._parent, self._P = parent, prior_p
        self._children = {}
        self._n_visits, self._Q, self._u = 0, 0.0, 0.0

    def best_child(self, c_puct):
        """What is good for the child's player is bad for the one who chooses."""
        scale = c_puct * math.sqrt(self._n_visits)
        scores = {}
        for move, child in self._children.items():
            child._u = scale * child._P / (1 + child._n_visits)
            scores[move] = child._u - child._Q
        top = max(scores.values())
        move = random.choice([m for m, score in scores.items() if score == top])
        return move, self._children[move]


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy, self._c_puct, self._n_playout = policy_value_fn, c_puct, n_playout

    def simulate(self, board):
        """One game: through the tree, then by dice; each node on the way learns the result for its own player."""
        path = [(self._root, board.get_current_player())]
        while path[-1][0]._children:
            move, node = path[-1][0].best_child(self._c_puct)
            board.do_move(move)
            path.append((node, board.get_current_player()))
        leaf = path[-1][0]
        over, winner = board.game_end()
        if not over:
            for move, prior in self._policy(board)[0]:
                leaf._children[move] = TreeNode(leaf, prior)
        while not over:
            board.do_move(random.choice(board.availables))
            over, winner = board.game_end()
        for node, player in path:
            result = 0 if winner == -1 else (1 if winner == player else -1)
            node._Q = (node._Q * node._n_visits + result) / (node._n_visits + 1)
            node._n_visits += 1

    def update_with_move(self, last_move):
        """Keep the subtree below the move, or begin anew."""
        self._root = self._root._children.get(last_move) or TreeNode(None, 1.0)
        self._root._parent = None


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
        for _ in range(self.mcts._n_playout):
            self.mcts.simulate(board.copy())
        children = self.mcts._root._children
        return max(children, key=lambda move: children[move]._n_visits), None
