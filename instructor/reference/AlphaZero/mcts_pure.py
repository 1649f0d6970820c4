"""Monte Carlo tree search with random rollouts (Kocsis and Szepesvari 2006; handout section 5.1).

A playout walks down from the root, always to the child with the largest

    Q + c_puct * P * sqrt(N_parent) / (1 + n)

until it reaches a leaf. The leaf gets a child for each legal move. The value v of the leaf is the result of one game played
from there to the end with random moves.

Whose point of view a value takes. The leaf's v is for the side to move at the leaf. A node's Q is for the player who moved
INTO the node, because that player chooses it. The mover changes between a node and its parent, so the sign changes at every
level on the way up:

    root        black to move                    nobody chooses it
     |  black plays a
    node a      white to move   Q for black      +0.6   <- good for black
     |  white plays b
    node b      black to move   Q for white      -0.6   <- bad for white
                 leaf: v = +0.6 for black, so b is updated with -v = -0.6 and a with +0.6

`mcts_alphaZero.py` searches the same tree and takes v and P from the network.
"""

import random

import numpy as np


def policy_value_fn(board):
    """Return the same probability for every legal move, and the value 0 (provided).

    Args:
        board: a position whose game is not over.

    Returns:
        (iterable of (move, probability), 0)
    """
    legal_moves = list(board.availables)
    probs = np.ones(len(legal_moves)) / len(legal_moves)
    return zip(legal_moves, probs), 0


class TreeNode:
    """A position in the search tree, reached from its parent by one move.

    Attributes:
        _parent: the parent TreeNode; None for the root.
        _children: a dict move -> TreeNode; empty until the node is expanded.
        _n_visits: the number of playouts that have passed through this node.
        _Q: the mean value of those playouts in [-1, 1], for the player who moved INTO this node.
        _u: the exploration bonus as last computed.
        _P: the prior probability of the move that leads to this node.
    """

    def __init__(self, parent, prior_p):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p

    def expand(self, action_priors):
        """Add a child for every (move, prior) pair whose move has no child yet."""
        ### BEGIN SOLUTION 5.1
        for move, prior in action_priors:
            if move not in self._children:
                self._children[move] = type(self)(self, float(prior))
        ### END SOLUTION

    def select(self, c_puct):
        """Choose the child with the largest `get_value(c_puct)`.

        Returns:
            (move, TreeNode)
        """
        ### BEGIN SOLUTION 5.1
        return max(self._children.items(), key=lambda item: item[1].get_value(c_puct))
        ### END SOLUTION

    def select_leaf(self, board, c_puct):
        """Go down from this node, always to the selected child, until a node without children.

        Args:
            board: the position at this node; the moves on the way are played on it.
            c_puct: weight of the exploration bonus.

        Returns:
            The leaf, a TreeNode; `board` is its position.
        """
        ### BEGIN SOLUTION 5.1
        node = self
        while not node.is_leaf():
            move, node = node.select(c_puct)
            board.do_move(move)
        return node
        ### END SOLUTION

    def get_value(self, c_puct):
        """Compute the selection value Q + c_puct * P * sqrt(N_parent) / (1 + n), where n is the visit count of this node."""
        ### BEGIN SOLUTION 5.1
        self._u = c_puct * self._P * self._parent._n_visits**0.5 / (1 + self._n_visits)
        return self._Q + self._u
        ### END SOLUTION

    def update(self, leaf_value):
        """Count one visit and include `leaf_value` in the mean Q.

        Args:
            leaf_value: in [-1, 1], for the player who moved into this node.
        """
        ### BEGIN SOLUTION 5.1
        self._n_visits += 1
        self._Q += (leaf_value - self._Q) / self._n_visits
        ### END SOLUTION

    def update_recursive(self, leaf_value):
        """Back up a value: `update` this node and all its ancestors, changing the sign from each node to its parent.

        Args:
            leaf_value: in [-1, 1], for the player who moved into this node.
        """
        ### BEGIN SOLUTION 5.1
        node = self
        while node is not None:
            node.update(leaf_value)
            leaf_value = -leaf_value
            node = node._parent
        ### END SOLUTION

    def is_leaf(self):
        """Return whether the node has no children."""
        return self._children == {}

    def is_root(self):
        """Return whether the node has no parent."""
        return self._parent is None


class MCTS:
    """Monte Carlo tree search with random rollouts.

    Args:
        policy_value_fn: a function board -> (iterable of (move, prior), value); only the priors are used.
        c_puct: weight of the exploration bonus.
        n_playout: number of playouts for each move.
    """

    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout

    def _playout(self, board):
        """Run one playout from the root in four steps: select, expand, evaluate, backup.

        Args:
            board: a copy of the position at the root; moves are played on it.
        """
        ### BEGIN SOLUTION 5.1
        leaf = self._root.select_leaf(board, self._c_puct)
        self._expand(leaf, board)
        value = self._evaluate_rollout(board)
        # Backup. The value is for the side to move at the leaf, and it was the opponent who moved into the leaf.
        leaf.update_recursive(-value)
        ### END SOLUTION

    def _expand(self, leaf, board):
        """Add a child to the leaf for each legal move, unless the game is over there.

        Args:
            leaf: a TreeNode without children.
            board: the position at the leaf.
        """
        ### BEGIN SOLUTION 5.1
        ended, _ = board.game_end()
        if not ended:
            action_priors, _ = self._policy(board)
            leaf.expand(action_priors)
        ### END SOLUTION

    def _evaluate_rollout(self, board):
        """Play random moves until the game ends.

        Args:
            board: the position at the leaf; moves are played on it. The game may be over already.

        Returns:
            1, 0 or -1: the result, for the side to move at the leaf.
        """
        ### BEGIN SOLUTION 5.1
        player = board.get_current_player()
        ended, winner = board.game_end()
        while not ended:
            board.do_move(random.choice(board.availables))
            ended, winner = board.game_end()
        if winner == -1:
            return 0
        return 1 if winner == player else -1
        ### END SOLUTION

    def get_move(self, board):
        """Run `n_playout` playouts, each on a copy of `board`, and return the most visited move."""
        ### BEGIN SOLUTION 5.1
        for _ in range(self._n_playout):
            self._playout(board.copy())
        return max(self._root._children.items(), key=lambda item: item[1]._n_visits)[0]
        ### END SOLUTION

    def update_with_move(self, last_move):
        """Move the root down by one move and keep the subtree: the child becomes the root and forgets its parent.

        Args:
            last_move: the move that was played; -1, or a move for which the root has no child, gives a new empty root.
        """
        ### BEGIN SOLUTION 5.1
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)
        ### END SOLUTION


class MCTSPlayer:
    """A player that searches in a new tree for every move; the old one may be forgotten before the search or after it.

    Args:
        c_puct: weight of the exploration bonus.
        n_playout: number of playouts for each move.
    """

    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        """Set which player this is, 1 or 2."""
        self.player = p

    def reset_player(self):
        """Forget the tree."""
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        """Choose a move.

        Args:
            board: a position with at least one empty point; it is not changed.
            is_selfplay, print_probs_value: ignored; they are there because every player has the same signature.

        Returns:
            (the most visited move, None)
        """
        ### BEGIN SOLUTION 5.1
        if not board.availables:
            raise ValueError("expected a position with an empty point; the board is full")
        self.mcts.update_with_move(-1)
        move = self.mcts.get_move(board)
        self.mcts.update_with_move(-1)
        return move, None
        ### END SOLUTION

    def __str__(self):
        return f"pure MCTS {self.player}"
