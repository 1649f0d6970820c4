"""AlphaZero MCTS; the tree lives in parallel lists, a node is a number, and views show nodes as the handout names them."""

import numpy as np


def softmax(x):
    probs = np.exp(x - np.max(x))
    return probs / np.sum(probs)


class TreeNode:
    """A view of one row."""

    __slots__ = ("_search", "_row")

    def __init__(self, search, row):
        self._search, self._row = search, row

    @property
    def _parent(self):
        row = self._search.parent[self._row]
        return None if row < 0 else TreeNode(self._search, row)

    @property
    def _children(self):
        return {move: TreeNode(self._search, row) for move, row in self._search.children[self._row].items()}

    @property
    def _n_visits(self):
        return self._search.visits[self._row]

    @property
    def _Q(self):
        return self._search.mean(self._row)

    @property
    def _P(self):
        return self._search.prior[self._row]


class MCTS:
    def __init__(self, policy_value_fn, action_fc, evaluation_fc, is_selfplay, c_puct=5, n_playout=400):
        self._policy_value_fn = policy_value_fn
        self._action_fc = action_fc
        self._evaluation_fc = evaluation_fc
        self._is_selfplay = is_selfplay
        self._c_puct = c_puct
        self._n_playout = n_playout
        self._clear()

    def _clear(self):
        self.parent, self.children, self.visits, self.total, self.prior = [-1], [{}], [0], [0.0], [1.0]
        self.top = 0

    @property
    def _root(self):
        return TreeNode(self, self.top)

    def mean(self, row):
        return self.total[row] / self.visits[row] if self.visits[row] else 0.0

    def _playout(self, board):
        row, path = self.top, [self.top]
        while self.children[row]:
            scale = self._c_puct * np.sqrt(self.visits[row])
            best, chosen = -np.inf, None
            for move, child in self.children[row].items():
                value = self.mean(child) + scale * self.prior[child] / (1 + self.visits[child])
                if value > best:
                    best, chosen = value, (move, child)
            move, row = chosen
            board.do_move(move)
            path.append(row)
        over, winner = board.game_end()
        if over:
            value = 0.0 if winner == -1 else -1.0
        else:
            priors, value = self._policy_value_fn(board, self._action_fc, self._evaluation_fc)
            value = float(np.ravel(value)[0])
            for move, prior in priors:
                self.children[row][move] = len(self.parent)
                self.parent.append(row)
                self.children.append({})
                self.visits.append(0)
                self.total.append(0.0)
                self.prior.append(float(prior))
        for row in reversed(path):
            value = -value
            self.visits[row] += 1
            self.total[row] += value

    def search(self, board):
        """Visits of each point of the board."""
        done = 0
        if self._is_selfplay:
            if not self.children[self.top]:
                self._playout(board.copy())
                done = 1
            rows = list(self.children[self.top].values())
            for row, share in zip(rows, np.random.dirichlet([0.3] * len(rows))):
                self.prior[row] = 0.75 * self.prior[row] + 0.25 * share
        for _ in range(self._n_playout - done):
            self._playout(board.copy())
        visits = np.zeros(board.width * board.height)
        for move, row in self.children[self.top].items():
            visits[move] = self.visits[row]
        return visits

    def update_with_move(self, last_move):
        if last_move in self.children[self.top]:
            self.top = self.children[self.top][last_move]
            self.parent[self.top] = -1
        else:
            self._clear()


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
