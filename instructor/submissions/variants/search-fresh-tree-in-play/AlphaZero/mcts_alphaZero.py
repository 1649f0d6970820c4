"""Monte Carlo tree search guided by a policy-value network (handout section 5.4).

After Silver et al. 2017, "Mastering the game of Go without human knowledge", Methods. A playout walks down from the root,
always to the child with the largest

    Q + c_puct * P * sqrt(N_parent) / (1 + n)

until it reaches a leaf; the network gives the leaf's moves their priors P and the leaf its value v.

Whose point of view a value takes. The network's v is for the side to move at the leaf. A node's Q is for the player who moved
INTO the node, since that player is who chooses it. Between a node and its parent the mover changes, so the sign turns at
every level on the way up:

    root        black to move                    not anyone's choice
     |  black plays a
    node a      white to move   Q for black      +0.6   <- good for black
     |  white plays b
    node b      black to move   Q for white      -0.6   <- bad for white
                 network: v = +0.6 for black, so b is updated with -v = -0.6, a with +0.6

A finished game is worth its result and the network is not asked: whoever is to move there has lost, unless it is a draw.
"""

import numpy as np

DIRICHLET_ALPHA = 0.3
DIRICHLET_EPSILON = 0.25


def softmax(x):
    """exp(x) / sum(exp(x)) over a 1-d array, safe for large entries (provided)."""
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    """A position in the search tree, reached from its parent by one move.

    Attributes:
        _parent: TreeNode, None for the root.
        _children: dict move -> TreeNode, empty until the node is expanded.
        _n_visits: how many playouts have passed through this node.
        _Q: mean value of those playouts in [-1, 1], for the player who moved INTO this node.
        _u: the exploration bonus when it was last computed.
        _P: prior probability of the move that leads here.
    """

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p

    def expand(self, action_priors):
        """Add a child for every (move, prior) that is not there yet."""
        for move, prior in action_priors:
            if move not in self._children:
                self._children[move] = TreeNode(self, float(prior))

    def select(self, c_puct):
        """The child with the largest `get_value(c_puct)`.

        Returns:
            (move, TreeNode)
        """
        return max(self._children.items(), key=lambda item: item[1].get_value(c_puct))

    def get_value(self, c_puct):
        """Selection value of this node: Q + c_puct * P * sqrt(N_parent) / (1 + n), n the visits of this node."""
        self._u = c_puct * self._P * self._parent._n_visits**0.5 / (1 + self._n_visits)
        return self._Q + self._u

    def update(self, leaf_value):
        """Count one visit and take `leaf_value` into the mean Q.

        Args:
            leaf_value: in [-1, 1], for the player who moved into this node.
        """
        self._n_visits += 1
        self._Q += (leaf_value - self._Q) / self._n_visits

    def update_recursive(self, leaf_value):
        """`update` for this node and all its ancestors; the value changes its sign from each node to its parent."""
        node = self
        while node is not None:
            node.update(leaf_value)
            leaf_value = -leaf_value
            node = node._parent

    def is_leaf(self):
        """Whether the node has not been expanded."""
        return self._children == {}

    def is_root(self):
        """Whether the node has no parent."""
        return self._parent is None


class MCTS:
    """The search.

    Args:
        policy_value_fn: (board, action_fc, evaluation_fc) -> (iterable of (move, prior), value); the value in [-1, 1] is
            for the side to move, a float or a (1, 1) array.
        action_fc, evaluation_fc: handles that are passed on to policy_value_fn.
        is_selfplay: whether noise is mixed into the priors of the root's moves.
        c_puct: weight of the exploration bonus.
        n_playout: playouts for each move.
    """

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._is_selfplay = is_selfplay

    def _playout(self, board):
        """One playout from the root: select down to a leaf, let the network judge and expand it, back its value up.

        A leaf where the game is over is worth 1, 0 or -1 by the rules and is not expanded.

        Args:
            board: a copy of the position at the root; it is played on.
        """
        node = self._root
        while not node.is_leaf():
            move, node = node.select(self._c_puct)
            board.do_move(move)
        ended, winner = board.game_end()
        if ended:
            if winner == -1:
                value = 0.0
            else:
                value = 1.0 if winner == board.get_current_player() else -1.0
        else:
            action_priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            node.expand(action_priors)
            # A plain number: as an array it would make every Q of the tree an array, and each step slower.
            value = float(np.reshape(value, -1)[0])
        node.update_recursive(-value)

    def _add_noise(self):
        """Mix Dirichlet noise into the priors of the root's children: P = 0.75 p + 0.25 eta, eta ~ Dirichlet(0.3)."""
        children = self._root._children.values()
        noise = np.random.dirichlet(np.full(len(children), DIRICHLET_ALPHA))
        for child, eta in zip(children, noise):
            child._P = (1 - DIRICHLET_EPSILON) * child._P + DIRICHLET_EPSILON * float(eta)

    def get_move_visits(self, board):
        """Run `n_playout` playouts, each on a copy of `board`.

        In self-play the root's priors get fresh noise before the search goes on from them.

        Returns:
            (moves, visits of each), as lists in the same order
        """
        playouts = self._n_playout
        if self._is_selfplay:
            if self._root.is_leaf():
                self._playout(board.copy())
                playouts -= 1
            self._add_noise()
        for _ in range(playouts):
            self._playout(board.copy())
        moves = list(self._root._children)
        return moves, [self._root._children[move]._n_visits for move in moves]

    def update_with_move(self, last_move):
        """Go one move down and keep the subtree: the child becomes the root and forgets its parent.

        Args:
            last_move: the move played; -1, or a move that is not a child of the root, gives a new empty root.
        """
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)


class MCTSPlayer:
    """A player that searches with a network.

    Args:
        policy_value_function, action_fc, evaluation_fc, c_puct, n_playout, is_selfplay: see MCTS.

    Attributes:
        first_n_moves: in self-play, moves of a game that are drawn at temperature 1; None means 4 on a 3x3 board and 12 on
            larger ones.
    """

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self._is_selfplay = is_selfplay
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        """Be player `p` (1 or 2)."""
        self.player = p

    def reset_player(self):
        """Forget the tree."""
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        """The move to play and how probable each move was.

        In self-play the tree is kept from move to move; the move is drawn from softmax(log(visits + 1e-10) / temperature)
        with temperature 1 for the first `first_n_moves` moves of the game and 1e-3 afterwards. Otherwise the search is
        fresh and the temperature is 1e-3.

        Args:
            board: a position with at least one empty point; it is left as it was.
            is_selfplay: whether the player plays against itself, as the constructor was told.
            print_probs_value: whether to print the search's probabilities and the network's value.

        Returns:
            (move, probs): probs is an array [width * height] that sums to 1, 0 on taken points.
        """
        if not board.availables:
            raise ValueError("expected a position with an empty point; the board is full")
        first_n_moves = self.first_n_moves
        if first_n_moves is None:
            first_n_moves = 4 if board.width * board.height <= 9 else 12
        self.mcts._is_selfplay = is_selfplay
        if not is_selfplay:
            old = self.mcts
            self.mcts = MCTS(old._policy_value_fn, old._action_fc, old._evaluation_fc, False, old._c_puct, old._n_playout)
        moves, visits = self.mcts.get_move_visits(board)
        temperature = 1.0 if is_selfplay and len(board.states) < first_n_moves else 1e-3
        move_probs = softmax(np.log(np.array(visits) + 1e-10) / temperature)
        probs = np.zeros(board.width * board.height)
        probs[moves] = move_probs
        move = int(np.random.choice(moves, p=move_probs))
        if is_selfplay:
            self.mcts.update_with_move(move)
        if print_probs_value:
            _, value = self.mcts._policy_value_fn(board, self.mcts._action_fc, self.mcts._evaluation_fc)
            print(f"value for the side to move: {float(np.reshape(value, -1)[0]):+.3f}")
            print(np.round(probs.reshape(board.height, board.width)[::-1], 3))
        return move, probs

    def __str__(self):
        return f"AlphaZero {self.player}"
