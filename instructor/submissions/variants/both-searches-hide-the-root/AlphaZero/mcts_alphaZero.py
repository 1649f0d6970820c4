"""AlphaZero MCTS over a tree that is an object of its own."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p


class Tree:
    """The statistics of a search, without any rules."""

    def __init__(self, c_puct):
        self.root = TreeNode(None, 1.0)
        self.c_puct = c_puct

    def descend(self, board):
        """Play the selected moves on the board; the leaf where they end."""
        node = self.root
        while node._children:
            for child in node._children.values():
                child._u = self.c_puct * child._P * np.sqrt(node._n_visits) / (1 + child._n_visits)
            move, node = max(node._children.items(), key=lambda item: item[1]._Q + item[1]._u)
            board.do_move(move)
        return node

    def grow(self, leaf, priors):
        for move, prior in priors:
            leaf._children[move] = TreeNode(leaf, prior)

    def learn(self, node, value):
        """The value is for the player who moved into the node."""
        while node is not None:
            node._n_visits += 1
            node._Q += (value - node._Q) / node._n_visits
            node, value = node._parent, -value

    def add_noise(self):
        noise = np.random.dirichlet([0.3] * len(self.root._children))
        for child, share in zip(self.root._children.values(), noise):
            child._P = 0.75 * child._P + 0.25 * share

    def advance(self, move):
        self.root = self.root._children.get(move) or TreeNode(None, 1.0)
        self.root._parent = None


class MCTS:
    """The rules and the network; what they find is kept in the tree."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self.tree = Tree(c_puct)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout

    @property
    def _root(self):
        return self.tree.root

    def playout(self, board):
        leaf = self.tree.descend(board)
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else 1.0
        else:
            priors, judged = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            self.tree.grow(leaf, priors)
            value = -float(np.ravel(judged)[0])
        self.tree.learn(leaf, value)

    def search(self, board):
        """Visits of each point of the board."""
        done = 0
        if self._is_selfplay:
            if not self._root._children:
                self.playout(board.copy())
                done = 1
            self.tree.add_noise()
        for _ in range(self._n_playout - done):
            self.playout(board.copy())
        visits = np.zeros(board.width * board.height)
        for move, child in self._root._children.items():
            visits[move] = child._n_visits
        return visits

    def update_with_move(self, last_move):
        self.tree.advance(last_move)


class MCTSPlayer:
    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        self.mcts._is_selfplay = is_selfplay
        if not is_selfplay:
            self.mcts.update_with_move(-1)
        visits = self.mcts.search(board)
        early = self.first_n_moves
        if early is None:
            early = 4 if len(visits) <= 9 else 12
        moves = list(board.availables)
        temperature = 1.0 if is_selfplay and len(board.states) < early else 1e-3
        chances = softmax(np.log(visits[moves] + 1e-10) / temperature)
        move = int(np.random.choice(moves, p=chances))
        probs = np.zeros(len(visits))
        probs[moves] = visits[moves] / visits.sum() if is_selfplay else chances
        self.mcts.update_with_move(move if is_selfplay else -1)
        return move, probs
