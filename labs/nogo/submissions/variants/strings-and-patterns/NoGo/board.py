"""NoGo on an immutable string: rows from the top, each ended by a newline, '.', 'x' and 'o'."""

import re
from functools import cached_property

import numpy as np


class Position:
    """An arrangement with a side to move; it never changes, so everything about it is computed once."""

    def __init__(self, text, width, side, turn, last):
        self.text, self.width, self.side, self.turn, self.last = text, width, side, turn, last

    def spot(self, point):
        h, w = divmod(point, self.width)
        rows = self.text.count("\n")
        return (rows - 1 - h) * (self.width + 1) + w

    def put(self, spot, letter):
        return self.text[:spot] + letter + self.text[spot + 1 :]

    def choked(self, text):
        """Whether some chain has no liberty: paint all chains with a liberty until nothing changes."""
        step = self.width + 1
        gap = f"(?s:.{{{step - 1}}})"
        for letter, paint in (("x", "X"), ("o", "O")):
            alive = f"[.{paint}]"
            pattern = re.compile(f"{letter}(?={alive})|(?<={alive}){letter}|{letter}(?={gap}{alive})|(?<={alive}{gap}){letter}")
            before = None
            while before != text:
                before = text
                text = pattern.sub(paint, text)
        return "x" in text or "o" in text

    @cached_property
    def legal(self):
        points = range(self.text.count("\n") * self.width)
        free = [p for p in points if self.text[self.spot(p)] == "."]
        return [p for p in free if not self.choked(self.put(self.spot(p), self.side))]

    def after(self, point):
        other = "o" if self.side == "x" else "x"
        return Position(self.put(self.spot(point), self.side), self.width, other, self.turn + 1, point)


class Board:
    def __init__(self, width=9, height=9):
        self.width, self.height = width, height
        self.init_board()

    players = [1, 2]

    def init_board(self, start_player=0):
        empty = ("." * self.width + "\n") * self.height
        self.position = Position(empty, self.width, "xo"[start_player], 0, -1)

    current_player = property(lambda self: " xo".index(self.position.side))
    last_move = property(lambda self: self.position.last)
    availables = property(lambda self: list(self.position.legal))

    @property
    def states(self):
        here = {}
        for point in range(self.width * self.height):
            letter = self.position.text[self.position.spot(point)]
            if letter != ".":
                here[point] = " xo".index(letter)
        return here

    def do_move(self, move):
        if move not in self.position.legal:
            raise ValueError(f"illegal move: {move}")
        self.position = self.position.after(move)

    def game_end(self):
        return (not self.position.legal, -1 if self.position.legal else 3 - self.current_player)

    def has_a_winner(self):
        return self.game_end()

    def get_current_player(self):
        return self.current_player

    def current_state(self):
        letters = np.array([list(row) for row in self.position.text.splitlines()])
        other = "o" if self.position.side == "x" else "x"
        planes = np.stack([letters == self.position.side, letters == other, letters == "?", letters != "?"]).astype(int)
        if self.last_move != -1:
            planes[2, self.height - 1 - self.last_move // self.width, self.last_move % self.width] = 1
        planes[3] *= 1 - self.position.turn % 2
        return planes

    def copy(self):
        other = Board.__new__(Board)
        other.width, other.height, other.position = self.width, self.height, self.position
        return other
