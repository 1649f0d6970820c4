"""The rules: m,n,k-games on boards of any size, freestyle (n_in_row or more in a row wins). game_board.py has the game loop.

Coordinates: `h` counts rows from the bottom, `w` columns from the left, `move = h * width + w`. Values and feature planes are
from the point of view of the side to move. This module needs only the standard library and numpy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from operator import index
from typing import Any, Protocol

import numpy as np

HISTORY = 8
NO_MOVE = -1
SWAP_STONES = 3


class Player(Protocol):
    """What `Game` and the window expect of a player (duck-typed)."""

    player: Any

    def set_player_ind(self, p: int) -> None: ...

    def reset_player(self) -> None: ...

    def get_action(self, board: Board, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[int, Any]: ...


def as_integer(move: Any) -> int:
    """Return a move as an int; ValueError if it is not an integer."""
    try:
        if isinstance(move, bool):
            raise TypeError
        return index(move)
    except TypeError:
        raise ValueError(f"expected a move as an integer; got {move!r}") from None


class Board:
    """A position and the moves that led to it.

    Args:
        width, height: the number of columns and rows.
        n_in_row: how many stones in a row win.

    Attributes:
        players: [1, 2]; player 1 moves first unless `init_board` is called with 1.
        feature_planes: the number of planes in `current_state`, not counting the last one, which shows the side to move.
        states: dict move -> player, with an entry for each stone, in the order of play.
        availables: the empty points as a list of moves, in ascending order.
        states_sequence: deque of the last 8 `[move, player]`, newest first, padded with [-1, -1].
        current_player: the player to move.
        last_move: the last move; -1 before the first one.

    Only `init_board`, `do_move`, `play` and `swap_colours` change the position; treat the attributes as read-only. Only width,
    height and n_in_row may be set, before `init_board` is called. A board whose `states` somebody has filled, or from which
    stones were taken back, is a position like any other if all of the attributes above fit together. Moves after the end of
    the game are allowed, because a careless rollout makes them; the first player who completed a line remains the winner.
    """

    SWAP = "swap"  # what a player returns instead of a move to swap the colours

    def __init__(self, width: int = 11, height: int = 11, n_in_row: int = 5) -> None:
        self.width = width
        self.height = height
        self.n_in_row = n_in_row
        self.players = [1, 2]
        self.feature_planes = HISTORY
        self._reset(0)

    def init_board(self, start_player: int = 0) -> None:
        """Clear the board; `start_player` is the index in `players` of the player who moves first.

        Raises:
            ValueError: n_in_row is less than 1 or larger than a side of the board, or start_player is neither 0 nor 1.
        """
        if self.n_in_row < 1:
            raise ValueError(f"expected n_in_row of at least 1; got {self.n_in_row}")
        if self.width < self.n_in_row or self.height < self.n_in_row:
            raise ValueError(
                f"expected a board of at least {self.n_in_row} by {self.n_in_row} for {self.n_in_row} in a row; "
                f"got width {self.width}, height {self.height}"
            )
        if start_player not in (0, 1):
            raise ValueError(f"expected start_player 0 or 1; got {start_player!r}")
        self._reset(start_player)

    def _reset(self, start_player: int) -> None:
        self.current_player = self.players[start_player]
        self.states: dict[int, int] = {}
        self.availables: list[int] = list(range(self.width * self.height))
        self.states_sequence: deque[list[int]] = deque([[-1, -1] for _ in range(HISTORY)], maxlen=HISTORY)
        self.last_move = NO_MOVE
        self._clear_stones()

    def _clear_stones(self) -> None:
        self._winner = -1
        # One byte for each point, bottom row first; the rim of empty points stops every walk along a line.
        size = (self.width + 2) * (self.height + 2)
        self._stones = {player: bytearray(size) for player in self.players}
        self._seen = self.states  # the dict from which _stones was taken
        self._counted = 0  # the number of stones in _stones
        self._newest = NO_MOVE  # the latest of them
        self._newest_owner: int | None = None

    def _recount_if_changed(self) -> None:
        """Take the stones from `states` again if it is not what `do_move` left; this must cost next to nothing if it is."""
        states = self.states
        if len(states) != self._counted or states.get(self._newest) != self._newest_owner or states is not self._seen:
            self._recount()

    def _recount(self) -> None:
        self._clear_stones()
        for move, player in self.states.items():
            self._set_stone(move, player)

    def move_to_location(self, move: int) -> list[int]:
        """Convert a move to [h, w]."""
        return [move // self.width, move % self.width]

    def location_to_move(self, location: Sequence[int]) -> int:
        """Convert [h, w] to a move; return -1 for anything that is not a point of the board."""
        try:
            h, w = (index(part) for part in location)
        except (TypeError, ValueError):
            return NO_MOVE
        if 0 <= h < self.height and 0 <= w < self.width:
            return h * self.width + w
        return NO_MOVE

    def do_move(self, move: int) -> None:
        """Place a stone for the side to move and pass the turn.

        Raises:
            ValueError: the move is not an empty point; the position is unchanged.
        """
        if move.__class__ is not int:
            move = as_integer(move)
        states = self.states
        if move in states or not 0 <= move < self.width * self.height:
            what = "is taken" if move in states else f"is not among 0..{self.width * self.height - 1}"
            raise ValueError(f"expected an empty point; got move {move}, which {what}")
        if len(states) != self._counted:
            self._recount()
        free = self.availables
        place = bisect_left(free, move)  # list.remove would dominate the cost of a move on a large board
        if place < len(free) and free[place] == move:
            del free[place]
        else:  # a caller has shuffled the list
            free.remove(move)
        player = self.current_player
        first, second = self.players
        states[move] = player
        self.states_sequence.appendleft([move, player])
        self.last_move = move
        self.current_player = first if player == second else second
        self._set_stone(move, player)

    def _set_stone(self, move: int, player: int) -> None:
        self._counted += 1
        self._newest, self._newest_owner = move, player
        width, stones = self.width, self._stones[player]
        row = width + 2
        cell = (move // width + 1) * row + move % width + 1
        stones[cell] = 1
        if self._winner == -1:
            for step in (1, row, row + 1, row - 1):
                length, at = 1, cell + step
                while stones[at]:
                    length += 1
                    at += step
                at = cell - step
                while stones[at]:
                    length += 1
                    at -= step
                if length >= self.n_in_row:
                    self._winner = player
                    break

    def play(self, action: Any) -> None:
        """Carry out a player's action, which is a move or SWAP.

        Raises:
            ValueError: the action is not legal; the position is unchanged.
        """
        if isinstance(action, str) and action == self.SWAP:
            self.swap_colours()
        else:
            self.do_move(action)

    def swap_colours(self) -> None:
        """Change the colour of every stone and pass the turn; in a match, the second player may do this at the fourth ply.

        Raises:
            ValueError: the number of stones on the board is not three; the position is unchanged.
        """
        if len(self.states) != SWAP_STONES:
            raise ValueError(f"expected a swap with {SWAP_STONES} stones on the board; there are {len(self.states)}")
        self._recount_if_changed()
        first, second = self.players
        other = {first: second, second: first, -1: -1}
        self.states = {move: other[player] for move, player in self.states.items()}
        for pair in self.states_sequence:
            pair[1] = other[pair[1]]
        self._seen, self._newest_owner = self.states, self.states[self._newest]
        self._stones = {first: self._stones[second], second: self._stones[first]}
        self._winner = other[self._winner]
        self.current_player = other[self.current_player]

    def has_a_winner(self) -> tuple[bool, int]:
        """Return (True, player) if a player has n_in_row or more in a row, otherwise (False, -1)."""
        self._recount_if_changed()
        return self._winner != -1, self._winner

    def game_end(self) -> tuple[bool, int]:
        """Return (whether the game is over, winner or -1); for a full board without a winner this is (True, -1)."""
        self._recount_if_changed()
        if self._winner != -1:
            return True, self._winner
        return not self.availables, -1

    def get_current_player(self) -> int:
        """Return the player to move."""
        return self.current_player

    def current_state(self) -> np.ndarray:
        """Return the feature planes [9, height, width] float32, C-contiguous, for the side to move; row 0 is the top row.

        Plane 0 holds all stones of the opponent; planes 2, 4 and 6 leave out the opponent's last 1, 2 and 3 moves. Plane 1
        holds all stones of the side to move; planes 3, 5 and 7 leave out its last 1, 2 and 3 moves. Plane 8 is all ones if the
        number of stones on the board is even, otherwise all zeros.
        """
        self._recount_if_changed()
        width, row = self.width, self.width + 2
        own = self.current_player
        other = self.players[0] if own == self.players[1] else self.players[1]
        size = len(self._stones[own])
        even = len(self.states) % 2 == 0
        planes = (self._stones[other] + self._stones[own]) * 4 + (b"\1" if even else b"\0") * size
        # Each player has four planes, numbered 0 to 3 here; the player's k-th last move is missing from planes k to 3.
        first_plane = {other: 2, own: 3}
        for move, player in self.states_sequence:
            plane = first_plane.get(player, 8)
            if plane < 8:
                cell = (move // width + 1) * row + move % width + 1
                first_plane[player] = plane + 2
                for at in range(plane * size + cell, 8 * size, 2 * size):
                    planes[at] = 0
        with_rim = np.frombuffer(planes, dtype=np.uint8).reshape(self.feature_planes + 1, self.height + 2, row)
        return with_rim[:, -2:0:-1, 1:-1].astype(np.float32, order="C")

    def copy(self) -> Board:
        """Return an independent board in the same position."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update(self.__dict__)
        twin.players = self.players[:]
        twin.states = self.states.copy()
        twin._seen = twin.states if self._seen is self.states else self._seen
        twin.availables = self.availables[:]
        twin.states_sequence = deque([pair[:] for pair in self.states_sequence], maxlen=HISTORY)
        twin._stones = {player: stones[:] for player, stones in self._stones.items()}
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Board:
        return self.copy()
