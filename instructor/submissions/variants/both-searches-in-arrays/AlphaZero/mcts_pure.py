"""Pure MCTS over a tree that is a table of its own."""

import random


def policy_value_fn(board):
    moves = board.availables
    return [(move, 1 / len(moves)) for move in moves], 0


class Row:
    """A view of one row of the table."""

    def __init__(self, table, at):
        self.table, self.at = table, at

    _parent = property(lambda self: self.table.node(self.table.above[self.at]))
    _children = property(lambda self: {move: Row(self.table, at) for move, at in self.table.below[self.at].items()})
    _n_visits = property(lambda self: self.table.n[self.at])
    _Q = property(lambda self: self.table.w[self.at] / max(1, self.table.n[self.at]))
    _P = property(lambda self: self.table.p[self.at])


class Table:
    def __init__(self):
        self.above, self.below, self.n, self.w, self.p = [], [], [], [], []
        self.clear()

    def clear(self):
        for column in (self.above, self.below, self.n, self.w, self.p):
            column.clear()
        self.root = self.add(None, 1.0)

    def add(self, above, prior):
        for column, entry in ((self.above, above), (self.below, {}), (self.n, 0), (self.w, 0.0), (self.p, prior)):
            column.append(entry)
        return len(self.n) - 1

    def node(self, at):
        return None if at is None else Row(self, at)

    def best(self, at, c_puct):
        scale = c_puct * self.n[at] ** 0.5
        values = {}
        for move, row in self.below[at].items():
            values[move] = self.w[row] / max(1, self.n[row]) + scale * self.p[row] / (1 + self.n[row])
        return max(values, key=values.get)

    def advance(self, move):
        if move in self.below[self.root]:
            self.root = self.below[self.root][move]
            self.above[self.root] = None
        else:
            self.clear()


class MCTS:
    def __init__(self, policy_value_fn, c_puct=5, n_playout=400):
        self.table = Table()
        self._root = self.table.node(self.table.root)
        self._policy = policy_value_fn
        self._c_puct = c_puct
        self._n_playout = n_playout

    def playout(self, board):
        table, at = self.table, self.table.root
        while table.below[at]:
            move = table.best(at, self._c_puct)
            at = table.below[at][move]
            board.do_move(move)
        if not board.game_end()[0]:
            for move, prior in self._policy(board)[0]:
                table.below[at][move] = table.add(at, prior)
        last_mover = 3 - board.get_current_player()
        while not board.game_end()[0]:
            board.do_move(random.choice(board.availables))
        winner = board.game_end()[1]
        value = 0 if winner == -1 else 1 if winner == last_mover else -1
        while at is not None:
            table.n[at] += 1
            table.w[at] += value
            at, value = table.above[at], -value

    def get_move(self, board):
        for _ in range(self._n_playout):
            self.playout(board.copy())
        children = self._root._children
        return max(children, key=lambda move: children[move]._n_visits)

    def update_with_move(self, last_move):
        self.table.advance(last_move)
        self._root = self.table.node(self.table.root)


class MCTSPlayer:
    def __init__(self, c_puct=5, n_playout=400):
        self.mcts = MCTS(policy_value_fn, c_puct, n_playout)
        self.player = None

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.mcts.update_with_move(-1)

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        move = self.mcts.get_move(board)
        self.mcts.update_with_move(-1)
        return move, None
