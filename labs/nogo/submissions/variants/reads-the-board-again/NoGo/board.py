"""NoGo by flood filling, without any state but the stones; an entry of 0 is no stone."""

import numpy as np


class Board:
    def __init__(self, width=9, height=9):
        self.width, self.height = width, height
        self.players = [1, 2]
        self.states = {}
        self.near = {}
        for p in range(width * height):
            row, column = divmod(p, width)
            self.near[p] = []
            if column > 0:
                self.near[p].append(p - 1)
            if column < width - 1:
                self.near[p].append(p + 1)
            if row > 0:
                self.near[p].append(p - width)
            if row < height - 1:
                self.near[p].append(p + width)
        self.init_board()

    def init_board(self, start_player=0):
        self.first = self.current_player = self.players[start_player]
        self.last_move = -1
        for p in self.states:
            self.states[p] = 0
        self.availables = [p for p in range(self.width * self.height) if self.allowed(p)]

    def breathes(self, stone):
        seen, todo = {stone}, [stone]
        while todo:
            for q in self.near[todo.pop()]:
                if not self.states.get(q):
                    return True
                if self.states[q] == self.states[stone] and q not in seen:
                    seen.add(q)
                    todo.append(q)
        return False

    def allowed(self, p):
        if self.states.get(p):
            return False
        self.states[p] = self.current_player
        fine = all(self.breathes(q) for q in [p, *self.near[p]] if self.states.get(q))
        del self.states[p]
        return fine

    def do_move(self, move):
        if move not in self.availables:
            self.states.setdefault(move, 0)
            raise ValueError("not legal")
        self.states[move] = self.current_player
        self.last_move = move
        self.current_player = 1 if self.current_player == 2 else 2
        self.availables = [p for p in range(self.width * self.height) if self.allowed(p)]

    def game_end(self):
        if len(self.availables) == 0:
            return True, 1 if self.current_player == 2 else 2
        return False, -1

    def has_a_winner(self):
        return self.game_end()

    def get_current_player(self):
        return self.current_player

    def current_state(self):
        state = np.zeros((4, self.height, self.width))
        for p, player in self.states.items():
            if player:
                state[int(player != self.current_player)][p // self.width][p % self.width] = 1
        if self.last_move >= 0:
            state[2][self.last_move // self.width][self.last_move % self.width] = 1
        if self.current_player == self.first:
            state[3] = 1
        return state[:, ::-1, :]

    def copy(self):
        other = Board(self.width, self.height)
        other.first, other.current_player, other.last_move = self.first, self.current_player, self.last_move
        other.states = {p: player for p, player in self.states.items() if player}
        other.availables = list(self.availables)
        return other
