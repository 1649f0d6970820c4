"""AlphaZero MCTS whose tree follows the game on the board, in play as in self-play."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    """`_Q` is for the player who moved into the node."""

    __slots__ = ("_P", "_Q", "_children", "_n_visits", "_parent", "_u")

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._P = prior_p
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0


class MCTS:
    """The search; `line` are the moves of the position that the root stands for."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._root = TreeNode(None, 1.0)
        self.line = []

    def follow(self, board):
        """Go down to the position on the board, or begin anew if it does not come from the one that is known."""
        played = list(board.states)
        known = len(self.line)
        if played[:known] != self.line:
            self.update_with_move(-1)
        else:
            for move in played[known:]:
                self.update_with_move(move)
        self.line = played

    def playout(self, board):
        node = self._root
        while node._children:
            root_of_n = node._n_visits**0.5
            for child in node._children.values():
                child._u = self._c_puct * child._P * root_of_n / (1 + child._n_visits)
            move = max(node._children, key=lambda m, c=node._children: c[m]._Q + c[m]._u)
            node = node._children[move]
            board.do_move(move)
        over, winner = board.game_end()
        if not over:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = np.asarray(value).item()
            node._children = {move: TreeNode(node, p) for move, p in pairs}
        elif winner == -1:
            value = 0.0
        else:
            value = 1.0 if winner == board.current_player else -1.0
        while node:
            value = -value
            node._n_visits += 1
            node._Q += (value - node._Q) / node._n_visits
            node = node._parent

    def mix_noise(self):
        children = self._root._children.values()
        for child, eta in zip(children, np.random.dirichlet(0.3 * np.ones(len(children)))):
            child._P = 0.75 * child._P + 0.25 * eta

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = TreeNode(None, 1.0)  # counts for nobody
        else:
            self._root = TreeNode(None, 1.0)


class MCTSPlayer:
    """A player that remembers the game."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)
        self.mcts.line = []

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        mcts = self.mcts
        if len(board.states) < len(mcts.line):
            self.reset_player()
        mcts.follow(board)
        left = mcts._n_playout
        if is_selfplay:
            if not mcts._root._children:
                mcts.playout(board.copy())
                left -= 1
            mcts.mix_noise()
        for _ in range(left):
            mcts.playout(board.copy())
        moves, nodes = zip(*mcts._root._children.items())
        visits = np.array([node._n_visits for node in nodes], dtype=float)
        first = self.first_n_moves if self.first_n_moves is not None else (4 if board.width * board.height <= 9 else 12)
        probs = np.zeros(board.width * board.height)
        if is_selfplay and len(board.states) < first:
            probs[list(moves)] = visits / visits.sum()  # what softmax(log(visits)) is
        else:
            probs[moves[int(np.argmax(visits))]] = 1.0
        return int(np.random.choice(len(probs), p=probs)), probs
