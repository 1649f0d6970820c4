"""Go on a numpy array."""

import copy

import numpy as np


class Board:
    def __init__(self, width=9, height=9, komi=7.5, superko=False):
        self.width, self.height, self.komi, self.superko = width, height, komi, superko
        self.players = [1, 2]
        self.init_board()

    def init_board(self, start_player=0):
        self.first_player = self.current_player = self.players[start_player]
        self.last_move = -1
        self.grid = np.zeros((self.height, self.width), dtype=int)
        self.seen = {self.grid.tobytes()}
        self.captures = {1: 0, 2: 0}
        self.pass_count = 0
        self.banned = self.banned_before = None
        self.limit = None
        self.actions_done = 0
        self._refresh()

    @property
    def states(self):
        return dict(enumerate(self.grid.ravel().tolist()))

    def _neighbours(self, r, c):
        for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if 0 <= r + dr < self.height and 0 <= c + dc < self.width:
                yield r + dr, c + dc

    def _group(self, grid, start):
        colour, group, edge, stack = grid[start], {start}, set(), [start]
        while stack:
            for p in self._neighbours(*stack.pop()):
                if grid[p] == colour:
                    if p not in group:
                        group.add(p)
                        stack.append(p)
                else:
                    edge.add(p)
        return group, edge

    def _attempt(self, r, c, colour):
        if self.grid[r, c]:
            return None
        grid = self.grid.copy()
        grid[r, c] = colour
        dead = []
        for p in self._neighbours(r, c):
            if grid[p] == 3 - colour:
                group, edge = self._group(grid, p)
                if all(grid[q] for q in edge):
                    dead += group
        dead = set(dead)
        for p in dead:
            grid[p] = 0
        group, edge = self._group(grid, (r, c))
        free = [q for q in edge if grid[q] == 0]
        if not free:
            return None
        ko = next(iter(dead)) if len(dead) == 1 and len(group) == 1 and free == list(dead) else None
        return grid, len(dead), ko

    def _refresh(self):
        self.availables = []
        if self.game_end()[0]:
            return
        for r in range(self.height):
            for c in range(self.width):
                done = self._attempt(r, c, self.current_player)
                if done is None or (r, c) == self.banned or (self.superko and done[0].tobytes() in self.seen):
                    continue
                self.availables.append(r * self.width + c)
        self.availables.append(self.width * self.height)

    def do_move(self, move):
        if move not in self.availables:
            raise ValueError("illegal")
        if move == self.width * self.height:
            if not self.pass_count:
                self.banned_before = self.banned
            self.pass_count += 1
            self.banned = None
            if self.pass_count == 2 and self.limit is not None and self._open_points():
                self.pass_count = 0
                self.banned = self.banned_before
        else:
            self.grid, dead, self.banned = self._attempt(*divmod(move, self.width), self.current_player)
            self.captures[self.current_player] += dead
            self.seen.add(self.grid.tobytes())
            self.pass_count = 0
        self.last_move = move
        self.actions_done += 1
        self.current_player = 3 - self.current_player
        self._refresh()

    def _regions(self):
        done = set()
        for r, c in zip(*np.where(self.grid == 0)):
            if (r, c) not in done:
                region, edge = self._group(self.grid, (r, c))
                done |= region
                yield region, {int(self.grid[p]) for p in edge}

    def score(self):
        total = {p: int((self.grid == p).sum()) for p in (1, 2)}
        for region, colours in self._regions():
            if len(colours) == 1:
                total[colours.pop()] += len(region)
        return total[self.first_player] - total[3 - self.first_player] - self.komi

    def _open_points(self):
        return any(
            self._attempt(*p, colour) is not None
            for region, colours in self._regions()
            if len(colours) != 1
            for p in region
            for colour in (1, 2)
        )

    def game_end(self):
        if self.pass_count == 2:
            score = self.score()
            return True, -1 if score == 0 else self.first_player if score > 0 else 3 - self.first_player
        return (self.limit is not None and self.actions_done >= self.limit), -1

    def for_search(self, depth_limit):
        board = self.copy()
        board.limit, board.actions_done = depth_limit, 0
        board._refresh()
        return board

    def get_current_player(self):
        return self.current_player

    def copy(self):
        return copy.deepcopy(self)
