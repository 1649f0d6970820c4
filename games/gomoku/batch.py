"""Many games of one m,n,k-game side by side as arrays, with the rules of `Board.game_board.Board`.

The players are 1 and 2. Player 1 moves first and the two alternate; there is no swap. A move is `h * width + w`, where h counts
rows from the bottom. G is the number of games and A = width * height the number of points. Feature planes are for the side to
move.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from games.protocol import NO_MOVE, NOBODY
from games.side_by_side import SideBySide

PLANES = 9
# The planes leave out up to 3 of each player's latest moves, and the players alternate.
RECENT = 6
# (plane, number of moves ago) for each stone that a plane leaves out. Move 0 is the latest one, made by the opponent.
MISSING = tuple((2 * back + ago % 2, ago) for ago in range(RECENT) for back in range(1, 4) if ago // 2 < back)


class Geometry:
    """Tables for one board size, shared by all games on it.

    Attributes:
        width, height, n_in_row: the board's size and the length of a winning row.
        points: A, the number of points.
        rays: [A, 8, n_in_row - 1] the points in line with each point, nearest first, in eight directions. Direction d + 4 is
            opposite to d. The number A stands for points off the board.
        picture: [A + 1] the index of each move in a flattened plane, where row 0 is the top row; A maps to A.
    """

    def __init__(self, width: int, height: int, n_in_row: int) -> None:
        if n_in_row < 1 or min(width, height) < n_in_row:
            raise ValueError(
                f"expected a board of at least n_in_row by n_in_row points, and n_in_row of at least 1; "
                f"got width {width}, height {height}, n_in_row {n_in_row}"
            )
        self.width, self.height, self.n_in_row = width, height, n_in_row
        self.points = width * height
        h, w = np.divmod(np.arange(self.points), width)
        steps = np.array([(0, 1), (1, 0), (1, 1), (1, -1), (0, -1), (-1, 0), (-1, -1), (-1, 1)])
        distance = np.arange(1, n_in_row)
        to_h = h[:, None, None] + steps[:, :1] * distance
        to_w = w[:, None, None] + steps[:, 1:] * distance
        on_board = (to_h >= 0) & (to_h < height) & (to_w >= 0) & (to_w < width)
        self.rays = np.where(on_board, to_h * width + to_w, self.points)
        self.picture = np.append((height - 1 - h) * width + w, self.points)


class GomokuBatch(SideBySide):
    """G games side by side, all at the start.

    Args:
        games: G, the number of games.
        width, height, n_in_row: the board's size and the length of a winning row.

    Attributes:
        geometry: the board's tables.
        stones: [G, A + 1] int8, 0 for an empty point, otherwise the player. The last column stands for points off the board
            and stays 0.
        recent: [G, 6] the latest moves, newest first, padded with NO_MOVE.
        length: [G] the number of stones on the board.
        winner: [G] int8, the player who has won, or NOBODY.
        over: [G] bool, whether a player has won or the board is full.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ("stones", "recent", "length", "winner", "over")

    def __init__(self, games: int, width: int, height: int, n_in_row: int) -> None:
        self.geometry = Geometry(width, height, n_in_row)
        self.stones = np.zeros((games, self.geometry.points + 1), dtype=np.int8)
        self.recent = np.full((games, RECENT), NO_MOVE)
        self.length = np.zeros(games, dtype=np.int64)
        self.winner = np.full(games, NOBODY, dtype=np.int8)
        self.over = np.zeros(games, dtype=bool)

    @property
    def legal(self) -> np.ndarray:
        """The empty points, [G, A] bool, even in games that are over."""
        return self.stones[:, :-1] == 0

    def take(self, games: Any) -> GomokuBatch:
        """Return an independent copy of some games, given by indices or a mask."""
        some = GomokuBatch.__new__(GomokuBatch)
        some.geometry = self.geometry
        for name in self.FIELDS:
            setattr(some, name, getattr(self, name)[games].copy())
        return some

    def for_search(self, depth_limit: int) -> GomokuBatch:
        """Return a copy; searches play by the same rules."""
        return self.take(slice(None))

    def restart(self, games: Any) -> None:
        """Clear the boards of some games, given by indices or a mask."""
        self.stones[games] = 0
        self.recent[games] = NO_MOVE
        self.length[games] = 0
        self.winner[games] = NOBODY
        self.over[games] = False

    def play(self, moves: Any) -> None:
        """Play one move in every game.

        Args:
            moves: [G] empty points.

        Raises:
            ValueError: a game is over, or a move is not an empty point; no game is changed.
        """
        moves = np.asarray(moves)
        for wrong, what in (
            (self.over, "a game that is not over"),
            ((moves < 0) | (moves >= self.geometry.points), f"a move among 0..{self.geometry.points - 1}"),
            (self.stones[np.arange(len(self)), moves.clip(0, self.geometry.points)] != 0, "an empty point"),
        ):
            if wrong.any():
                game = int(wrong.argmax())
                raise ValueError(f"expected {what}; got move {moves[game]} in game {game}")
        self.play_lines(moves[:, None], np.ones(len(self), dtype=np.int64))

    def play_lines(self, lines: np.ndarray, lengths: np.ndarray) -> None:
        """Play several moves in every game without checking them; only the last move of a line may end its game.

        Args:
            lines: [G, D] moves in order; all after the first `lengths[g]` are ignored.
            lengths: [G] the number of moves to play in each game, from 1 to D.
        """
        games, depth = np.arange(len(self)), np.arange(lines.shape[1])
        off_board = self.geometry.points
        played = depth < lengths[:, None]
        players = 1 + (self.length[:, None] + depth) % 2
        self.stones[games[:, None], np.where(played, lines, off_board)] = players
        self.stones[:, off_board] = 0
        # Oldest first, the moves are `recent` reversed and then the line; take the newest from the end of the line.
        moves_in_order = np.concatenate([self.recent[:, ::-1], lines], axis=1)
        self.recent = moves_in_order[games[:, None], lengths[:, None] + np.arange(RECENT - 1, -1, -1)]
        self.length += lengths
        last = self.recent[:, 0]
        mover = self.stones[games, last]
        won = self._completes_a_row(last, mover)
        self.winner[won] = mover[won]
        self.over = won | (self.length == off_board)

    def _completes_a_row(self, moves: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return [G] bool, whether the player's stone at `moves` [G] is part of a row of n_in_row or more."""
        if self.geometry.n_in_row == 1:
            return np.ones(len(self), dtype=bool)
        rays = self.geometry.rays[moves]
        own = self.stones[np.arange(len(self))[:, None, None], rays] == players[:, None, None]
        run = np.logical_and.accumulate(own, axis=2).sum(axis=2)
        return (1 + run[:, :4] + run[:, 4:] >= self.geometry.n_in_row).any(axis=1)

    def feature_planes(self) -> np.ndarray:
        """Return `Board.current_state` of each game, [G, 9, H, W] float32, for the side to move, top row first."""
        geometry, games = self.geometry, np.arange(len(self))
        own = self.side_to_move[:, None]
        stones = np.empty_like(self.stones)
        stones[:, geometry.picture] = self.stones
        planes = np.empty((len(self), PLANES, geometry.points + 1), dtype=np.float32)
        planes[:, 0:8:2] = (stones == 3 - own)[:, None]
        planes[:, 1:8:2] = (stones == own)[:, None]
        plane, ago = np.array(MISSING).T
        recent = geometry.picture[self.recent]  # NO_MOVE picks the last entry, which is off the board
        planes[games[:, None], plane, recent[:, ago]] = 0
        planes[:, 8] = (self.length % 2 == 0)[:, None]
        return np.ascontiguousarray(planes[:, :, :-1]).reshape(len(self), PLANES, geometry.height, geometry.width)
