"""What both searches have in common: nodes, the walk down, the way back up."""

from math import sqrt


class TreeNode:
    """`_Q` is the mean value for the player who moved into the node."""

    def __init__(self, parent=None, prior_p=1.0):
        self._parent = parent
        self._children = {}
        self._n_visits = 0
        self._Q = 0.0
        self._u = 0.0
        self._P = prior_p


class Tree:
    """A tree with its root; the searches add how a leaf is judged."""

    def __init__(self, c_puct, n_playout):
        self._root = TreeNode()
        self._c_puct = c_puct
        self._n_playout = n_playout

    def judge(self, leaf, board):
        """Expand the leaf; the value for the player to move. The game is not over there."""
        raise NotImplementedError

    def playouts(self, board, count):
        for _ in range(count):
            scratch = board.copy()
            leaf = self._walk(scratch)
            over, winner = scratch.game_end()
            # Only the last mover can have won.
            gain = (0.0 if winner == -1 else 1.0) if over else -self.judge(leaf, scratch)
            self._learn(leaf, gain)

    def most_visited(self):
        return max(self._root._children, key=lambda move: self._root._children[move]._n_visits)

    def update_with_move(self, last_move):
        if last_move in self._root._children:
            self._root = self._root._children[last_move]
            self._root._parent = None
        else:
            self._root.__init__()

    def _walk(self, board):
        node = self._root
        while node._children:
            root_of_n = sqrt(node._n_visits)
            best_move = best = None
            for move, child in node._children.items():
                child._u = self._c_puct * child._P * root_of_n / (1 + child._n_visits)
                if best is None or child._Q + child._u > best._Q + best._u:
                    best_move, best = move, child
            board.do_move(best_move)
            node = best
        return node

    @staticmethod
    def _learn(node, gain):
        while node is not None:
            node._n_visits += 1
            node._Q += (gain - node._Q) / node._n_visits
            node, gain = node._parent, -gain
