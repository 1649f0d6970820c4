"""NoGo with incremental chains; the legal moves of both players are kept as sets."""

import numpy as np

from .chains import Group


class IllegalMove(ValueError):
    pass


class Board:
    def __init__(self, width=9, height=9):
        self.width, self.height, self.players = width, height, [1, 2]
        self._near = {}
        for h in range(height):
            for w in range(width):
                cross = ((h + 1, w), (h - 1, w), (h, w + 1), (h, w - 1))
                self._near[h * width + w] = [y * width + x for y, x in cross if y in range(height) and x in range(width)]
        self.init_board()

    def init_board(self, start_player=0):
        self.start_player = start_player
        self.current_player = self.players[start_player]
        self.last_move = -1
        self.states = {}
        self.owner = {}
        self.availables = self._list()

    def _list(self):
        return [p for p in self._near if p not in self.states and self._ok(p)]

    def _ok(self, point):
        breath = {q for q in self._near[point] if q not in self.owner}
        for group in {id(self.owner[q]): self.owner[q] for q in self._near[point] if q in self.owner}.values():
            if group.colour == self.current_player:
                breath |= group.breath
            elif len(group.breath) == 1:
                return False
        return bool(breath - {point})

    def do_move(self, move):
        if move not in self.availables:
            raise IllegalMove("not a legal move")
        new = Group(self.current_player, [move], {q for q in self._near[move] if q not in self.owner})
        for q in self._near[move]:
            group = self.owner.get(q)
            if group is None or group is new:
                continue
            group.breath.discard(move)
            if group.colour == new.colour:
                new.swallow(group)
                for stone in group.stones:
                    self.owner[stone] = new
        new.breath.discard(move)
        self.owner[move] = new
        self.states[move] = self.current_player
        self.last_move = move
        self.current_player = 1 if self.current_player == 2 else 2
        self.availables[:] = self._list()

    def game_end(self):
        if len(self.availables) > 0:
            return False, -1
        return True, 1 if self.current_player == 2 else 2

    has_a_winner = game_end

    def get_current_player(self):
        return self.current_player

    def current_state(self):
        planes = np.zeros((4, self.height * self.width))
        for point, colour in self.states.items():
            planes[0 if colour == self.current_player else 1, point] = 1
        if self.last_move >= 0:
            planes[2, self.last_move] = 1
        planes[3] = self.current_player == self.players[self.start_player]
        return np.flip(planes.reshape(4, self.height, self.width), axis=1)

    def copy(self):
        twin = Board(self.width, self.height)
        twin.start_player = self.start_player
        twin.current_player, twin.last_move = self.current_player, self.last_move
        twin.states = self.states.copy()
        twin.availables = self.availables.copy()
        groups = {}
        for stone, group in self.owner.items():
            if id(group) not in groups:
                groups[id(group)] = group.clone()
            twin.owner[stone] = groups[id(group)]
        return twin
