"""AlphaZero MCTS whose nodes know the network's prior apart from the one that is searched with."""

import warnings

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    """A position; `clean` is the network's prior, `_P` the one of the search."""

    def __init__(self, parent, prior_p, move=-1):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p
        self.clean = prior_p
        self.move = move

    def best(self, c_puct):
        """The child of the largest value, from arrays of all children; the last of equals."""
        children = list(self._children.values())
        n = np.array([child._n_visits for child in children])
        q = np.array([child._Q for child in children])
        p = np.array([child._P for child in children])
        values = q + c_puct * p * np.sqrt(n.sum()) / (1 + n)
        return children[len(values) - 1 - int(np.argmax(values[::-1]))]


class MCTS:
    """The search."""

    def __init__(
        self,
        policy_value_fn,
        action_fc,
        evaluation_fc,
        is_selfplay,
        c_puct=5,
        n_playout=400,
        dirichlet_alpha=0.3,
        noise_share=0.25,
    ):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout
        self.dirichlet_alpha = dirichlet_alpha
        self.noise_share = noise_share

    def _leaf(self, board):
        node = self._root
        while node._children:
            node = node.best(self._c_puct)
            board.do_move(node.move)
        return node

    def _playout(self, board):
        node = self._leaf(board)
        if board.game_end()[0]:
            value = -abs(board.has_a_winner()[0])  # for the side to move, who cannot have won
        else:
            pairs, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = np.asarray(value).item()
            node._children = {move: TreeNode(node, p, move) for move, p in pairs}
        while node:
            value = -value
            node._n_visits += 1
            node._Q = ((node._n_visits - 1) * node._Q + value) / node._n_visits
            node = node._parent

    def mix(self, share):
        """Set the priors of the root's children: so much noise, the rest from the network."""
        children = list(self._root._children.values())
        eta = np.random.dirichlet(np.full(len(children), self.dirichlet_alpha))
        for child, e in zip(children, eta):
            child._P = (1 - share) * child.clean + share * e

    def run(self, board, noisy):
        budget = self._n_playout
        if not self._root._children:
            self._playout(board.copy())
            budget -= 1
        self.mix(self.noise_share if noisy else 0.0)
        for _ in range(budget):
            self._playout(board.copy())

    def update_with_move(self, last_move):
        child = self._root._children.get(last_move)
        if child is None:
            self._root = TreeNode(None, 1.0)
        else:
            child._parent = None
            self._root = child


class MCTSPlayer:
    """A player with a network."""

    def __init__(
        self,
        policy_value_function,
        action_fc,
        evaluation_fc,
        c_puct=5,
        n_playout=400,
        is_selfplay=0,
        temperature=1.0,
        low_temperature=1e-3,
    ):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.temperature = temperature
        self.low_temperature = low_temperature
        self.player = None
        self.last_board = []

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)
        self.last_board = []

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        if not board.availables:
            warnings.warn("the board is full")
            return -1, None
        played = list(board.states)
        if played[: len(self.last_board)] != self.last_board:
            self.reset_player()
        for move in played[len(self.last_board) :]:
            self.mcts.update_with_move(move)
        self.last_board = played
        self.mcts.run(board, bool(is_selfplay))
        visits = np.zeros(board.width * board.height)
        for move, child in self.mcts._root._children.items():
            visits[move] = child._n_visits
        if self.first_n_moves is None:
            self.first_n_moves = 4 if len(visits) <= 9 else 12
        early = is_selfplay and len(played) < self.first_n_moves
        logs = np.log(visits[board.availables] + 1e-10)
        chances = softmax(logs / (self.temperature if early else self.low_temperature))
        move = int(np.random.choice(board.availables, p=chances))
        if is_selfplay:
            return move, visits / visits.sum()
        probs = np.zeros(len(visits))
        probs[board.availables] = chances
        return move, probs
