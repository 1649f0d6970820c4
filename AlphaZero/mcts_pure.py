"""Monte Carlo tree search with random rollouts (Kocsis and Szepesvari 2006; handout section 5.1).

A leaf of the tree is judged by playing the game from there to its end with random moves. What a node's Q means, and where
its sign turns, is explained in `mcts_alphaZero.py` and is the same here.
"""

import random

import numpy as np


def policy_value_fn(board):
    """The same probability for every legal move, and value 0 (provided).

    Args:
        board: a Board that is not over.

    Returns:
        (iterable of (move, probability), 0)
    """
    legal_moves = list(board.availables)
    probs = np.ones(len(legal_moves)) / len(legal_moves)
    return zip(legal_moves, probs), 0


class TreeNode:
    """A position in the search tree, reached from its parent by one move.

    Attributes:
        _parent: TreeNode, None for the root.
        _children: dict move -> TreeNode, empty until the node is expanded.
        _n_visits: how many playouts have passed through this node.
        _Q: mean result of those playouts in [-1, 1], seen by the player who moved INTO this node.
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
        raise NotImplementedError("AlphaZero/mcts_pure.py: TreeNode.expand: see handout section 5.1")

    def select(self, c_puct):
        """The child with the largest `get_value(c_puct)`.

        Returns:
            (move, TreeNode)
        """
        raise NotImplementedError("AlphaZero/mcts_pure.py: TreeNode.select: see handout section 5.1")

    def get_value(self, c_puct):
        """Selection value of this node: Q + c_puct * P * sqrt(N_parent) / (1 + n), n the visits of this node."""
        raise NotImplementedError("AlphaZero/mcts_pure.py: TreeNode.get_value: see handout section 5.1")

    def update(self, leaf_value):
        """Count one visit and take `leaf_value` into the mean Q.

        Args:
            leaf_value: in [-1, 1], seen by the player who moved into this node.
        """
        raise NotImplementedError("AlphaZero/mcts_pure.py: TreeNode.update: see handout section 5.1")

    def update_recursive(self, leaf_value):
        """`update` for this node and all its ancestors; the value changes its sign from each node to its parent."""
        raise NotImplementedError("AlphaZero/mcts_pure.py: TreeNode.update_recursive: see handout section 5.1")

    def is_leaf(self):
        """Whether the node has not been expanded."""
        return self._children == {}

    def is_root(self):
        """Whether the node has no parent."""
        return self._parent is None


class MCTS:
    """The search.

    Args:
        policy_value_fn: board -> (iterable of (move, prior), value); only the priors are used.
        c_puct: weight of the exploration bonus.
        n_playout: playouts for each move.
    """

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout

    def _playout(self, board):
        """One playout from the root: select down to a leaf, expand it unless the game is over there, roll out, back up.

        Args:
            board: a copy of the position at the root; it is played on.
        """
        raise NotImplementedError("AlphaZero/mcts_pure.py: MCTS._playout: see handout section 5.1")

    def _evaluate_rollout(self, board):
        """Play random moves to the end of the game.

        Args:
            board: the position at the leaf; it is played on. The game may be over already.

        Returns:
            1, 0 or -1: the result seen by the side to move at the leaf.
        """
        raise NotImplementedError("AlphaZero/mcts_pure.py: MCTS._evaluate_rollout: see handout section 5.1")

    def get_move(self, board):
        """The most visited move after `n_playout` playouts, each on a copy of `board`."""
        raise NotImplementedError("AlphaZero/mcts_pure.py: MCTS.get_move: see handout section 5.1")

    def update_with_move(self, last_move):
        """Go one move down and keep the subtree: the child becomes the root and forgets its parent.

        Args:
            last_move: the move played; -1, or a move that is no child of the root, gives a new empty root.
        """
        raise NotImplementedError("AlphaZero/mcts_pure.py: MCTS.update_with_move: see handout section 5.1")


class MCTSPlayer:
    """A player that searches afresh for every move.

    Args:
        c_puct: weight of the exploration bonus.
        n_playout: playouts for each move.
    """

    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        """Be player `p` (1 or 2)."""
        self.player = p

    def reset_player(self):
        """Forget the tree."""
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        """The move to play.

        Args:
            board: a position with at least one empty point; it is left as it was.
            is_selfplay, print_probs_value: without meaning here; all players are called alike.

        Returns:
            (the most visited move, None)
        """
        raise NotImplementedError("AlphaZero/mcts_pure.py: MCTSPlayer.get_action: see handout section 5.1")

    def __str__(self):
        return f"pure MCTS {self.player}"
