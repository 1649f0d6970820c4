"""One position of Go, scored by area as in the Tromp-Taylor rules.

Action A = width * height is a pass. Suicide is forbidden, and so is taking a ko back at once. With positional superko, no stone
may be played that repeats any earlier arrangement of stones. Two passes in a row end a game, and so does `move_limit`; either
way the board is scored as it stands. Black is the player who began; white receives the komi.

A search may play on where a game would end (`for_search`): a network that has not learnt to count passes early, and
its search would see little but games that two passes cut off. Two passes in a row, the first of which may be a real one, are
then taken back while any point is worth playing: the same side is to move in the same position, with the same ko. A point is
worth playing if it belongs to nobody under area scoring and one of the players may play there. What a search cannot end in
this way counts as a draw after `depth_limit` actions.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from games.chains import ChainPosition
from games.grid import Grid
from games.protocol import NO_MOVE, NOBODY

PLANES = 8


class GoPosition(ChainPosition):
    """See `games.protocol.Position`; made by `GoRules.position`.

    Args:
        grid: the tables of the board.
        komi: what white receives.
        superko: whether positional superko is forbidden, not only a simple ko.
        move_limit: the number of actions after which a game is over.

    Attributes:
        komi, superko, move_limit: see above.
        captures: dict player -> the number of stones that this player has captured.
    """

    def __init__(self, grid: Grid, komi: float, superko: bool, move_limit: int) -> None:
        self.komi, self.superko, self.move_limit = komi, superko, move_limit
        super().__init__(grid)

    def init_board(self, start_player: int = 0) -> None:
        """See `games.protocol.Position`."""
        super().init_board(start_player)
        self.captures = dict.fromkeys(self.players, 0)
        self._passes = 0
        self._ko = self._ko_before_passes = 0  # masks of at most one point
        self._earlier = {0}  # arrangements of stones, black's above white's in one number; kept only for superko
        self._depth_limit = 0  # of a search; 0 in a real game
        self._search_begin = 0

    def for_search(self, depth_limit: int) -> Self:
        """Return a copy from which a search plays on after two passes, as this module says; copies of it do the same.

        Args:
            depth_limit: the number of actions, counted from this position, after which a game is a draw; 0 for a copy that
                plays by the rules of real games.
        """
        twin = self.copy()
        twin._depth_limit = depth_limit
        twin._search_begin = len(self.moves)
        return twin

    @property
    def pass_action(self) -> int:
        """The number of the action that is a pass."""
        return self.grid.points

    @property
    def ko_point(self) -> int:
        """The point where the side to move may not take a ko back at once; NO_MOVE if there is none."""
        return self._ko.bit_length() - 1

    def _list_actions(self) -> list[int]:
        if self.game_end()[0]:
            return []
        return [*self.grid.moves(self.legal_points()), self.pass_action]

    def _find_legal(self) -> int:
        legal = self._may_play(self.current_player) & ~self._ko
        if self.superko:
            for move in self.grid.moves(legal):
                if self._arrangement_after(move) in self._earlier:
                    legal &= ~(1 << move)
        return legal

    def _may_play(self, player: int) -> int:
        """Return the mask of the empty points where a stone of this player has a liberty, ko or not."""
        breathing = self.grid.beside(self._empty)
        for _, liberties in self._chains[player]:
            if liberties & liberties - 1:
                breathing |= liberties
        for _, liberties in self._chains[3 - player]:
            if not liberties & liberties - 1:
                breathing |= liberties
        return self._empty & breathing

    def _arrangement(self) -> int:
        black = self.first_player
        return self.stones(black) << self.grid.points | self.stones(3 - black)

    def _arrangement_after(self, move: int) -> int:
        bit, player = 1 << move, self.current_player
        own, others = self.stones(player) | bit, self.stones(3 - player) & ~self.captured_by(move)
        black, white = (own, others) if player == self.first_player else (others, own)
        return black << self.grid.points | white

    def _play(self, move: int) -> None:
        if self.game_end()[0]:
            raise ValueError(f"expected a game that is not over; got move {move} after its end")
        if move != self.pass_action:
            super()._play(move)
            return
        if self._passes == 0:
            self._ko_before_passes = self._ko
        self._passes += 1
        self._ko = 0
        self._pass_turn(move)
        if self._passes == 2 and self._depth_limit and self.points_worth_playing():
            self._passes = 0
            self._ko = self._ko_before_passes

    def _after_stone(self, move: int, captured: int) -> None:
        player = self.current_player
        self._passes = 0
        self._ko = 0
        if captured:
            self.captures[player] += captured.bit_count()
            stones, liberties = self._chains[player][-1]
            if stones == 1 << move and liberties == captured and captured.bit_count() == 1:
                self._ko = captured  # here the opponent would take the new stone back at once
        if self.superko:
            self._earlier.add(self._arrangement())

    def areas(self) -> tuple[int, int]:
        """Return the masks of black's and white's areas: their stones, and the empty points that reach only these."""
        black, white = self.stones(self.first_player), self.stones(3 - self.first_player)
        near_black, near_white = self.grid.reach(black, self._empty), self.grid.reach(white, self._empty)
        return black | near_black & ~near_white, white | near_white & ~near_black

    def score(self) -> float:
        """Return black's area minus white's area and the komi."""
        black, white = self.areas()
        return black.bit_count() - white.bit_count() - self.komi

    def points_worth_playing(self) -> int:
        """Return the mask of the points that belong to nobody and where one of the players may play."""
        black, white = self.areas()
        return ~(black | white) & (self._may_play(1) | self._may_play(2))

    def game_end(self) -> tuple[bool, int]:
        """See `games.protocol.Position`."""
        if self._passes == 2 or len(self.moves) >= self.move_limit:
            score = self.score()
            if score == 0:
                return True, NOBODY
            return True, self.first_player if score > 0 else 3 - self.first_player
        if self._depth_limit and len(self.moves) - self._search_begin >= self._depth_limit:
            return True, NOBODY
        return False, NOBODY

    def current_state(self) -> np.ndarray:
        """Return the feature planes [8, height, width] float32.

        Planes 0 and 1 hold the stones of the opponent and of the side to move, planes 2 and 3 those of them whose chain has a
        single liberty, plane 4 the empty points where the side to move may not play, and plane 5 the last move. Plane 6 is all
        ones after a pass, and plane 7 is all ones if black is to move.
        """
        grid, player = self.grid, self.current_player
        masks = []
        for side in (3 - player, player):
            in_atari = 0
            for stones, liberties in self._chains[side]:
                if not liberties & liberties - 1:
                    in_atari |= stones
            masks.append((self.stones(side), in_atari))
        passed = self.last_move == self.pass_action
        last = 0 if passed or self.last_move == NO_MOVE else 1 << self.last_move
        planes = np.empty((PLANES, self.height, self.width), dtype=np.float32)
        sets = (masks[0][0], masks[1][0], masks[0][1], masks[1][1], self._empty & ~self.legal_points(), last)
        for number, mask in enumerate(sets):
            planes[number] = grid.plane(mask)
        planes[6] = passed
        planes[7] = player == self.first_player
        return planes

    def copy(self) -> Self:
        """Return an independent position."""
        twin = super().copy()
        twin.captures = self.captures.copy()
        if self.superko:
            twin._earlier = self._earlier.copy()
        return twin
