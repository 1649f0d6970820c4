"""Monte Carlo tree search guided by a policy-value network (handout section 5.4).

After Silver et al. 2017, "Mastering the game of Go without human knowledge", Methods. A playout walks down from the root,
always to the child with the largest

    Q + c_puct * P * sqrt(N_parent) / (1 + n)

until it reaches a leaf; the network gives the leaf's moves their priors P and the leaf its value v.

Whose view a value has. The network's v is seen by the side to move at the leaf. A node's Q is seen by the player who moved
INTO the node, since that player is who chooses it. Between a node and its parent the mover changes, so the sign turns at
every level on the way up:

    root        black to move                    not anyone's choice
     |  black plays a
    node a      white to move   Q seen by black      +0.6   <- good for black
     |  white plays b
    node b      black to move   Q seen by white      -0.6   <- bad for white
                 network: v = +0.6 for black, so b is updated with -v = -0.6, a with +0.6

A finished game is worth its result, whatever the network would say: whoever is to move there has lost, unless it is a draw.
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
        _Q: mean value of those playouts in [-1, 1], seen by the player who moved INTO this node.
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
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: TreeNode.expand: see handout section 5.4")

    def select(self, c_puct):
        """The child with the largest `get_value(c_puct)`.

        Returns:
            (move, TreeNode)
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: TreeNode.select: see handout section 5.4")

    def get_value(self, c_puct):
        """Selection value of this node: Q + c_puct * P * sqrt(N_parent) / (1 + n), n the visits of this node."""
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: TreeNode.get_value: see handout section 5.4")

    def update(self, leaf_value):
        """Count one visit and take `leaf_value` into the mean Q.

        Args:
            leaf_value: in [-1, 1], seen by the player who moved into this node.
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: TreeNode.update: see handout section 5.4")

    def update_recursive(self, leaf_value):
        """`update` for this node and all its ancestors; the value changes its sign from each node to its parent."""
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: TreeNode.update_recursive: see handout section 5.4")

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
            seen by the side to move, a float or a (1, 1) array.
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
        """One playout from the root: select down to a leaf, evaluate and expand it, back its value up.

        A leaf where the game is over is worth 1, 0 or -1 by the rules and is not expanded.

        Args:
            board: a copy of the position at the root; it is played on.
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: MCTS._playout: see handout section 5.4")

    def _add_noise(self):
        """Mix Dirichlet noise into the priors of the root's children: P = 0.75 p + 0.25 eta, eta ~ Dirichlet(0.3)."""
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: MCTS._add_noise: see handout section 5.4")

    def get_move_visits(self, board):
        """Run `n_playout` playouts, each on a copy of `board`.

        In self-play the root's priors get fresh noise before the search goes on from them.

        Returns:
            (moves, visits of each), as lists in the same order
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: MCTS.get_move_visits: see handout section 5.4")

    def update_with_move(self, last_move):
        """Go one move down and keep the subtree: the child becomes the root and forgets its parent.

        Args:
            last_move: the move played; -1, or a move that is no child of the root, gives a new empty root.
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: MCTS.update_with_move: see handout section 5.4")


class MCTSPlayer:
    """A player that searches with a network.

    Args:
        policy_value_function, action_fc, evaluation_fc, c_puct, n_playout, is_selfplay: see MCTS.

    Attributes:
        first_n_moves: in self-play, moves of a game that are drawn at temperature 1; None means 4 on a 3x3 board and 12 on
            larger ones.
        _moves: the moves on the board at the last call of get_action, in order; the tree's root is that position.
    """

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self._is_selfplay = is_selfplay
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None
        self._moves = []

    def set_player_ind(self, p):
        """Be player `p` (1 or 2)."""
        self.player = p

    def reset_player(self):
        """Forget the tree."""
        self.mcts.update_with_move(-1)

    def _follow_game(self, board):
        """Move the root to the position on the board, one step for each move played since the last call, whoever played it.

        A board that does not continue that game (a new game, a move taken back) gets a new tree.
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: MCTSPlayer._follow_game: see handout section 5.4")

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        """The move to play, and the share of the visits that each move got.

        The tree is kept from move to move, in self-play and in play. The move is drawn from
        softmax(log(visits + 1e-10) / temperature). The temperature is 1e-3, and 1 for the first `first_n_moves` moves of a
        game of self-play.

        Args:
            board: a position with at least one empty point; it is left as it was.
            is_selfplay: whether the player plays against itself, as the constructor was told.
            print_probs_value: whether to print the search's probabilities and the network's value.

        Returns:
            (move, probs): probs is an array [width * height] that sums to 1, 0 on taken points. In self-play it holds the
            shares of the visits, whatever the temperature, since they are what the network learns; in play the
            probabilities that the move was drawn from.
        """
        raise NotImplementedError("AlphaZero/mcts_alphaZero.py: MCTSPlayer.get_action: see handout section 5.4")

    def __str__(self):
        return f"AlphaZero {self.player}"
