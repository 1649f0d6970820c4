"""AlphaZero MCTS that copies the board once for each move and takes the moves of each playout back."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    """A position; _Q for the player who moved into it."""

    def __init__(self, parent, prior_p):
        self._parent, self._P = parent, prior_p
        self._children = {}
        self._n_visits, self._Q, self._u = 0, 0.0, 0.0

    def value(self, c_puct):
        self._u = c_puct * self._P * np.sqrt(self._parent._n_visits) / (1 + self._n_visits)
        return self._Q + self._u

    def free(self):
        for child in self._children.values():
            child.free()
        self._children.clear()
        self._parent = None


def take_back(board, before):
    """Undo the last move; `before` is what `remember` returned."""
    move, (board.states_sequence, board.last_move, board.current_player) = board.last_move, before
    del board.states[move]
    board.availables.append(move)


def remember(board):
    return board.states_sequence.copy(), board.last_move, board.current_player


class MCTS:
    """The search."""

    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._root = TreeNode(None, 1.0)
        self._policy_value_fn, self._action_fc, self._evaluation_fc = policy_value_fn, action_fc, evaluation_fc
        self._is_selfplay, self._c_puct, self._n_playout = is_selfplay, c_puct, n_playout

    def playout(self, board):
        """One playout; at its end the board is as it was, but for the order of its empty points."""
        node, played = self._root, []
        while node._children:
            move, node = max(node._children.items(), key=lambda pair: pair[1].value(self._c_puct))
            played.append(remember(board))
            board.do_move(move)
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else 1.0 if winner == board.get_current_player() else -1.0
        else:
            priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = np.squeeze(value, axis=0).item()
            node._children.update((move, TreeNode(node, prior)) for move, prior in priors)
        while node is not None:
            value = -value
            node._n_visits += 1
            node._Q += (value - node._Q) / node._n_visits
            node = node._parent
        while played:
            take_back(board, played.pop())

    def visits(self, board):
        left = self._n_playout
        if self._is_selfplay:
            if not self._root._children:
                self.playout(board)
                left -= 1
            children = self._root._children.values()
            for child, eta in zip(children, np.random.dirichlet([0.3] * len(children))):
                child._P = 0.75 * child._P + 0.25 * eta
        for _ in range(left):
            self.playout(board)
        return {move: child._n_visits for move, child in self._root._children.items()}

    def update_with_move(self, last_move):
        kept = self._root._children.pop(last_move, None) or TreeNode(None, 1.0)
        self._root.free()
        del self._root
        self._root = kept
        self._root._parent = None


class MCTSPlayer:
    """A player with a network."""

    def __init__(self, policy_value_function, action_fc, evaluation_fc, c_puct=5, n_playout=400, is_selfplay=0):
        self.mcts = MCTS(policy_value_function, action_fc, evaluation_fc, is_selfplay, c_puct, n_playout)
        self.first_n_moves = None
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=False):
        learning = is_selfplay is True
        self.mcts._is_selfplay = learning
        if not learning:
            self.reset_player()
        visits = self.mcts.visits(board.copy())
        moves, counts = list(visits), np.array(list(visits.values()))
        first = self.first_n_moves
        if first is None:
            first = 4 if board.width * board.height <= 9 else 12
        temperature = 1.0 if learning and len(board.states) < first else 1e-3
        chances = softmax(np.log(counts + 1e-10) / temperature)
        move = int(np.random.choice(moves, p=chances))
        probs = np.zeros(board.width * board.height)
        probs[moves] = counts / counts.sum() if learning else chances
        if learning:
            self.mcts.update_with_move(move)
        return move, probs
