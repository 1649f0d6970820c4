"""Monte Carlo tree search guided by a policy-value function (handout section 4).

This is the search of the Gomoku assignment with one action more: action `width * height` is the pass. Replace this file by your
own `mcts_alphaZero.py`, with the files that it imports, and change what has to change; or write it here.

A node's `_Q` is the mean of the results behind it, for the player who moved into the node.
"""

import numpy as np


class TreeNode:
    """A node of the tree.

    Attributes:
        _parent: the node above it; None for the root.
        _children: dict move -> node.
        _n_visits, _Q, _P: visit count, mean value and prior.
    """

    def __init__(self, parent, prior):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._P = prior


class MCTS:
    """The search.

    Args:
        policy_value_fn: a function (board, action_fc, evaluation_fc) -> (iterable of (move, prior), value), the value for
            the side to move.
        action_fc, evaluation_fc: handles that are passed on to policy_value_fn.
        is_selfplay: whether to mix noise into the priors of the root's moves.
        c_puct: weight of the exploration bonus.
        n_playout: number of playouts for each move.
    """

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout

    def _playout(self, board):
        """Run one playout on a copy of the root's position: select a leaf, evaluate and expand it, back the value up."""
        ### BEGIN SOLUTION 4
        node = self._root
        while node._children:
            move, node = self._best_child(node)
            board.do_move(move)
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else 1.0 if winner == board.get_current_player() else -1.0
        else:
            priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            node._children = {move: TreeNode(node, float(prior)) for move, prior in priors}
            value = float(np.reshape(value, -1)[0])
        while node is not None:
            value = -value
            node._n_visits += 1
            node._Q += (value - node._Q) / node._n_visits
            node = node._parent
        ### END SOLUTION

    def _best_child(self, node):
        """Return the (move, child) with the largest Q + c_puct * P * sqrt(N of the parent) / (1 + N)."""
        ### BEGIN SOLUTION 4
        scale = self._c_puct * np.sqrt(node._n_visits)
        return max(node._children.items(), key=lambda pair: pair[1]._Q + scale * pair[1]._P / (1 + pair[1]._n_visits))
        ### END SOLUTION

    def search(self, board):
        """Run all playouts from this position; in self-play, mix noise into the root's priors first."""
        ### BEGIN SOLUTION 4
        for number in range(self._n_playout):
            self._playout(board.copy())
            if number == 0 and self._is_selfplay:
                children = list(self._root._children.values())
                for child, noise in zip(children, np.random.dirichlet([0.3] * len(children))):
                    child._P = 0.75 * child._P + 0.25 * float(noise)
        ### END SOLUTION

    def update_with_move(self, last_move):
        """Go down to a child, which forgets its parent; -1 or a move without a child gives a new tree."""
        ### BEGIN SOLUTION 4
        self._root = self._root._children.get(last_move, TreeNode(None, 1.0))
        self._root._parent = None
        ### END SOLUTION


class MCTSPlayer:
    """A player that searches.

    Args:
        policy_value_function, action_fc, evaluation_fc, c_puct, n_playout, is_selfplay: see MCTS.

    Attributes:
        mcts: the search.
        first_n_moves: number of moves at the start of a self-play game that are drawn at temperature 1.
    """

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = 12

    def set_player_ind(self, p):
        """Set which player this is, 1 or 2 (provided)."""
        self.player = p

    def reset_player(self):
        """Forget the tree (provided)."""
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=0, print_probs_value=0):
        """Search this position with a new tree and choose a move.

        Returns:
            (move, probs): probs [width * height + 1] are the shares of the visits, zero for illegal actions; the last one is the
            pass. In play the move is a most visited one; in self-play the first `first_n_moves` moves are drawn by their shares.
        """
        ### BEGIN SOLUTION 4
        self.mcts.update_with_move(-1)
        self.mcts.search(board)
        probs = np.zeros(board.width * board.height + 1)
        for move, child in self.mcts._root._children.items():
            probs[move] = child._n_visits
        probs /= probs.sum()
        if is_selfplay and len(board.states) < self.first_n_moves:
            return int(np.random.choice(len(probs), p=probs)), probs
        return int(np.argmax(probs)), probs
        ### END SOLUTION
