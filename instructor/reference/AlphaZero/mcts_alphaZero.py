"""Monte Carlo tree search guided by a policy-value network (handout section 5.4).

The search follows Silver et al. 2017, "Mastering the game of Go without human knowledge", Figure 2 and Methods. The tree is the
same as in `mcts_pure.py`, whose docstring says whose point of view a value takes. The network replaces the rollout: it gives the
value v of the leaf, for the side to move there, and the priors P of the moves at the leaf.

A finished game has the value of its result, whatever the network would say: the side to move has lost, unless it is a draw.
"""

import numpy as np

from AlphaZero.mcts_pure import TreeNode

DIRICHLET_ALPHA = 0.3
DIRICHLET_EPSILON = 0.25


def softmax(x):
    """Compute exp(x) / sum(exp(x)) over a 1-d array without overflow for large entries (provided)."""
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class MCTS:
    """Monte Carlo tree search with a network.

    Args:
        policy_value_fn: a function (board, action_fc, evaluation_fc) -> (iterable of (move, prior), value); the value is a
            float or a (1, 1) array in [-1, 1], for the side to move.
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
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._is_selfplay = is_selfplay

    def _playout(self, board):
        """Run one playout from the root in four steps: select, evaluate, expand, backup.

        Args:
            board: a copy of the position at the root; moves are played on it.
        """
        ### BEGIN SOLUTION 5.4
        leaf = self._root.select_leaf(board, self._c_puct)
        action_priors, value = self._evaluate(board)
        leaf.expand(action_priors)
        # Backup. The value is for the side to move at the leaf, and it was the opponent who moved into the leaf.
        leaf.update_recursive(-value)
        ### END SOLUTION

    def _evaluate(self, board):
        """Evaluate a position: by the rules if the game is over there, otherwise by the network.

        Returns:
            (iterable of (move, prior), value): if the game is over, there are no moves, so the node remains a leaf; the value
            is a float in [-1, 1], for the side to move.
        """
        ### BEGIN SOLUTION 5.4
        ended, winner = board.game_end()
        if ended:
            if winner == -1:
                return [], 0.0
            return [], 1.0 if winner == board.get_current_player() else -1.0
        action_priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
        # If the value stayed an array, every Q in the tree would become an array and slow down each step.
        return action_priors, float(np.reshape(value, -1)[0])
        ### END SOLUTION

    def _add_noise(self):
        """Mix Dirichlet noise into the priors of the root's children: P = 0.75 p + 0.25 eta, eta ~ Dirichlet(0.3)."""
        ### BEGIN SOLUTION 5.4
        children = self._root._children.values()
        noise = np.random.dirichlet(np.full(len(children), DIRICHLET_ALPHA))
        for child, eta in zip(children, noise):
            child._P = (1 - DIRICHLET_EPSILON) * child._P + DIRICHLET_EPSILON * float(eta)
        ### END SOLUTION

    def get_move_visits(self, board):
        """Run `n_playout` playouts, each on a copy of `board`; visits that the root has kept are not among them.

        In self-play, mix new noise into the root's priors before the search uses them; a root without children is expanded first.

        Returns:
            (moves, visit counts), two lists in the same order
        """
        ### BEGIN SOLUTION 5.4
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
        ### END SOLUTION

    def update_with_move(self, last_move):
        """Move the root down by one move and keep the subtree: the child becomes the root and forgets its parent.

        Args:
            last_move: the move that was played; -1, or a move for which the root has no child, gives a new empty root.
        """
        ### BEGIN SOLUTION 5.4
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root = TreeNode(None, 1.0)
        ### END SOLUTION


class MCTSPlayer:
    """A player that searches with the help of a network.

    Args:
        policy_value_function, action_fc, evaluation_fc, c_puct, n_playout, is_selfplay: see MCTS.

    Attributes:
        first_n_moves: number of moves of both players together, at the start of a self-play game, that are drawn at
            temperature 1; None means 4 on a 3x3 board and 12 on a larger one.
        _moves: the moves on the board at the last call of get_action, in order; the root of the tree is the position after
            them.
    """

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self._is_selfplay = is_selfplay
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None
        self._moves = []

    def set_player_ind(self, p):
        """Set which player this is, 1 or 2."""
        self.player = p

    def reset_player(self):
        """Forget the tree."""
        self.mcts.update_with_move(-1)

    def _follow_game(self, board):
        """Move the root to the position on the board, one step for each move since the last call, no matter who played it.

        The keys of `board.states` are the moves in the order of play. If the board does not continue the game of the last
        call (a new game, a move taken back), start a new tree.
        """
        ### BEGIN SOLUTION 5.4
        moves = list(board.states)
        known = len(self._moves)
        if moves[:known] == self._moves:
            for move in moves[known:]:
                self.mcts.update_with_move(move)
        else:
            self.mcts.update_with_move(-1)
        self._moves = moves
        ### END SOLUTION

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        """Search, then draw a move from softmax(log(visits + 1e-10) / temperature).

        The temperature is 1 for the first `first_n_moves` moves of a self-play game, and 1e-3 otherwise. In self-play the
        tree is kept from move to move. Against an opponent we recommend it too, but a new tree for each move is just as correct.

        Args:
            board: a position with at least one empty point; it is not changed.
            is_selfplay: whether the player plays against itself. This argument counts, not that of the constructor; our
                programs pass the same value to both.
            print_probs_value: whether to print the search's probabilities and the network's value.

        Returns:
            (move, probs): probs is an array [width * height] that sums to 1 and is 0 on taken points. In self-play it holds
            each move's share of the visits, whatever the temperature, because that is what the network learns. Against an
            opponent it holds the probabilities that the move was drawn from.
        """
        ### BEGIN SOLUTION 5.4
        if not board.availables:
            raise ValueError("expected a position with an empty point; the board is full")
        first_n_moves = self.first_n_moves
        if first_n_moves is None:
            first_n_moves = 4 if board.width * board.height <= 9 else 12
        self.mcts._is_selfplay = is_selfplay
        self._follow_game(board)
        moves, visits = self.mcts.get_move_visits(board)
        log_visits = np.log(np.array(visits) + 1e-10)
        temperature = 1.0 if is_selfplay and len(board.states) < first_n_moves else 1e-3
        chances = softmax(log_visits / temperature)
        move = int(np.random.choice(moves, p=chances))
        probs = np.zeros(board.width * board.height)
        probs[moves] = softmax(log_visits) if is_selfplay else chances
        if print_probs_value:
            _, value = self.mcts._policy_value_fn(board, self.mcts._action_fc, self.mcts._evaluation_fc)
            print(f"value for the side to move: {float(np.reshape(value, -1)[0]):+.3f}")
            print(np.round(probs.reshape(board.height, board.width)[::-1], 3))
        return move, probs
        ### END SOLUTION

    def __str__(self):
        return f"AlphaZero {self.player}"
