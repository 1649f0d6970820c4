"""AlphaZero MCTS with sums in place of means; everything is for the player to move at the node."""

import numpy as np


def softmax(x):
    x = np.asarray(x, dtype=float)
    shifted = np.exp(x - x.max())
    return shifted / shifted.sum()


class TreeNode:
    """A position."""

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._W = 0.0
        self._u = 0.0
        self._P = float(prior_p)

    @property
    def _Q(self):
        return 0.0 if self._n_visits == 0 else self._W / self._n_visits


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._tree = TreeNode(None, 1.0)

    @property
    def _root(self):
        return self._tree

    @_root.setter
    def _root(self, node):
        node._parent = None
        self._tree = node

    def _ask(self, node, board):
        """Expand by the network; the value for the player to move."""
        pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
        for move, prior in pairs:
            node._children[int(move)] = TreeNode(node, prior)
        return float(np.asarray(value).ravel()[0])

    def run(self, board):
        """All playouts; an array of visits for each point of the board."""
        root = self._root
        if not root._children:
            self._ask(root, board)
        if self._is_selfplay:
            children = list(root._children.values())
            for child, eta in zip(children, np.random.dirichlet([0.3] * len(children))):
                child._P = 0.75 * child._P + 0.25 * eta
        for _ in range(self._n_playout):
            self._playout(board.copy())
        visits = np.zeros(board.width * board.height)
        for move, child in root._children.items():
            visits[move] = child._n_visits
        return visits

    def _playout(self, board):
        path = [self._root]
        while path[-1]._children:
            parent = path[-1]
            total = np.sqrt(max(1, sum(child._n_visits for child in parent._children.values())))
            best, best_move, best_score = None, None, -np.inf
            for move, child in parent._children.items():
                child._u = self._c_puct * child._P * total / (1 + child._n_visits)
                if child._u - child._Q > best_score:
                    best, best_move, best_score = child, move, child._u - child._Q
            board.do_move(best_move)
            path.append(best)
        over, winner = board.game_end()
        value = self._ask(path[-1], board) if not over else (-1.0 if winner != -1 else 0.0)
        for node in reversed(path):
            node._n_visits += 1
            node._W += value
            value = -value

    def update_with_move(self, last_move):
        kept = self._root._children.get(last_move)
        self._root = kept if kept is not None else TreeNode(None, 1.0)


class MCTSPlayer:
    """A player."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        first = self.first_n_moves
        if first is None:
            first = 4 if board.width == 3 else 12
        self.mcts._is_selfplay = is_selfplay
        if not is_selfplay:
            self.reset_player()
        visits = self.mcts.run(board)
        legal = sorted(board.availables)
        temperature = 1.0 if is_selfplay and len(board.states) < first else 1e-3
        probs = np.zeros(len(visits))
        probs[legal] = softmax(np.log(visits[legal] + 1e-10) / temperature)
        move = int(np.random.choice(len(probs), p=probs))
        if is_selfplay:
            self.mcts.update_with_move(move)
        return move, probs
