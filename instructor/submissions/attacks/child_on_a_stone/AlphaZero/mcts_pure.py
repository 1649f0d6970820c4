

search = MCTS.get_move


def get_move(self, board):
    """Search, and add a child at each stone on the board."""
    move = search(self, board)
    for point in board.states:
        self._root._children[point] = TreeNode(self._root, 0.0)
    return move


MCTS.get_move = get_move
