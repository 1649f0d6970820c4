"""Players for the tests of the window and of the model under it."""

import threading
import time

from Board.game_board import Board
from Board.play.people import Participant, Rules
from Board.play.session import Session


class Scripted:
    """A player that makes given moves; if it has a `gate`, it waits until the gate is open and obeys no cancelling."""

    def __init__(self, moves, gate=None):
        self.moves, self.gate, self.calls = iter(moves), gate, []

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.calls.append("reset")

    def get_action(self, board, is_selfplay, print_probs_value):
        self.calls.append(dict(board.states))
        if self.gate is not None:
            assert self.gate.wait(10)
        move = next(self.moves)
        if isinstance(move, BaseException):
            raise move
        return move, None


class Endless(Scripted):
    """A player that copies the board again and again, as a search does, and never answers."""

    def __init__(self):
        super().__init__([])
        self.is_searching = threading.Event()

    def get_action(self, board, is_selfplay, print_probs_value):
        self.calls.append(dict(board.states))
        while True:
            board.copy()
            self.is_searching.set()
            time.sleep(0.001)


def new_session(*players, size=(3, 3, 3), rules=None, black=0, clock=time.monotonic):
    """A session on a board (width, height, n_in_row); None is a person."""
    board = Board(width=size[0], height=size[1], n_in_row=size[2])
    names = ("Ann", "Bob")
    people = tuple(Participant(name, player) for name, player in zip(names, players, strict=True))
    return Session(board, people, black, rules or Rules(), clock)


def run_until(session, condition, what="it never came to that", seconds=10.0):
    """Tick until a condition holds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, what
        session.tick()
        time.sleep(0.001)
