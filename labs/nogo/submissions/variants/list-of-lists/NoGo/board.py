"""NoGo on rows of cells; legal moves are a property."""

import numpy as np

DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Board(object):
    def __init__(self, width=9, height=9):
        self.width = width
        self.height = height
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        self.cells = [[0] * self.width for _ in range(self.height)]
        self.plies = 0
        self.current_player = self.players[start_player]
        self.last_move = -1
        self._moves = None

    @property
    def states(self):
        return {r * self.width + c: cell for r, row in enumerate(self.cells) for c, cell in enumerate(row) if cell}

    def _liberties(self, row, column, count, visited):
        """Collect the liberties of a chain recursively."""
        visited.add((row, column))
        for dr, dc in DIRECTIONS:
            r, c = row + dr, column + dc
            if r < 0 or c < 0 or r >= self.height or c >= self.width:
                continue
            if self.cells[r][c] == 0:
                count.add((r, c))
            elif self.cells[r][c] == self.cells[row][column] and (r, c) not in visited:
                self._liberties(r, c, count, visited)
        return count

    def _fits(self, row, column):
        self.cells[row][column] = self.current_player
        ok = bool(self._liberties(row, column, set(), set()))
        for dr, dc in DIRECTIONS:
            r, c = row + dr, column + dc
            if ok and 0 <= r < self.height and 0 <= c < self.width and self.cells[r][c] == 3 - self.current_player:
                ok = bool(self._liberties(r, c, set(), set()))
        self.cells[row][column] = 0
        return ok

    @property
    def availables(self):
        if self._moves is None:
            self._moves = []
            for row in range(self.height):
                for column in range(self.width):
                    if self.cells[row][column] == 0 and self._fits(row, column):
                        self._moves.append(row * self.width + column)
        return list(self._moves)

    def do_move(self, move):
        row, column = divmod(move, self.width)
        if move < 0 or row >= self.height or self.cells[row][column] or not self._fits(row, column):
            raise ValueError("illegal move %d" % move)
        self.cells[row][column] = self.current_player
        self.plies += 1
        self.last_move = move
        self.current_player = 3 - self.current_player
        self._moves = None

    def game_end(self):
        return (False, -1) if self.availables else (True, 3 - self.current_player)

    def has_a_winner(self):
        return self.game_end()

    def get_current_player(self):
        return self.current_player

    def current_state(self):
        grid = np.array(self.cells)
        last = np.zeros_like(grid)
        if self.last_move != -1:
            last[divmod(self.last_move, self.width)] = 1
        own, other = grid == self.current_player, grid == 3 - self.current_player
        first = np.full(grid.shape, self.plies % 2 == 0)
        return np.stack([np.flipud(p) for p in (own, other, last, first)]).astype(float)

    def copy(self):
        new = Board(self.width, self.height)
        new.cells = [row[:] for row in self.cells]
        new.plies, new.current_player, new.last_move = self.plies, self.current_player, self.last_move
        return new
