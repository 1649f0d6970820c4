"""A GTP engine as a player on positions of games/, such as `python human_play.py --game go` seats at the board.

The engine receives the opponent's moves one by one. If the position does not continue the engine's game, because moves were
taken back or a game was opened, the engine is restarted and receives all moves. The caller must check whether its answers are
legal.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

from arena.engine.engine_process import EngineFailure, EngineSpec, Limits, MatchStopped
from arena.engine.gtp import parse_vertex, vertex
from arena.engine.gtp_engine import BoardOffer, GtpEngine
from Board.play.people import RESIGN
from common.player_faults import PlayerFault

PATIENCE = Limits(move_s=60.0, told_move_s=5.0)  # a person waits longer than a referee


class Names(Protocol):
    """The names of a game's actions; see `games.protocol.GameRules`."""

    def action_name(self, action: int) -> str: ...

    def action_of(self, name: str) -> int: ...


class GtpError(PlayerFault):
    """Raised when the engine cannot go on; the message is one sentence."""


class GtpPlayer:
    """A player that gets its moves from a GTP engine.

    Args:
        spec: how to start the engine.
        names: the game.
        offer: the size of the board and the komi.
        limits: the time that the engine has.
    """

    def __init__(self, spec: EngineSpec, names: Names, offer: BoardOffer, limits: Limits = PATIENCE) -> None:
        self.spec, self.limits = spec, limits
        self.player: int | None = None
        self._names, self._offer = names, offer
        self._stopping = threading.Event()
        self._engine: GtpEngine | None = None
        self._known: list[int] = []  # all moves that the engine has received or made

    def set_player_ind(self, p: int) -> None:
        self.player = p

    def cancel(self) -> None:
        """Make `get_action`, which runs in another thread, end at once with a GtpError."""
        self._stopping.set()

    def reset_player(self) -> None:
        """End the engine, even if it is searching; the next move starts it again."""
        engine, self._engine = self._engine, None
        self._stopping.set()
        if engine is not None:
            engine.close()

    def get_action(self, board: Any, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[Any, None]:
        """Send the engine the moves that it does not know yet and return its answer.

        Args:
            board: a position that knows its `moves`, with black to move first.

        Returns:
            (action, None), or (RESIGN, None).

        Raises:
            GtpError: the engine broke the protocol, refused a legal move, or gave an answer that is not an action of the game.
        """
        moves = list(board.moves)
        try:
            if self._engine is None or self._stopping.is_set() or self._known != moves[: len(self._known)]:
                self._start()
            assert self._engine is not None
            for ply in range(len(self._known), len(moves)):
                self._engine.play(ply % 2, self._point(moves[ply]))
            answer = self._engine.genmove(len(moves) % 2)
        except EngineFailure as failure:
            raise GtpError(f"the engine {self.spec.path} {failure} ({failure.termination.value})") from failure
        except MatchStopped:
            raise GtpError(f"the engine {self.spec.path} was ended") from None
        if answer is None:
            return RESIGN, None
        try:
            action = self._names.action_of(vertex(answer))
        except ValueError:
            raise GtpError(
                f'the engine {self.spec.path} answered "{vertex(answer)}", which is not a move of this game'
            ) from None
        self._known = [*moves, action]
        return action, None

    def _start(self) -> None:
        self.reset_player()
        self._stopping, self._known = threading.Event(), []
        self._engine = GtpEngine(self.spec, self.limits, self._offer, self._stopping)
        self._engine.start()

    def _point(self, action: int) -> tuple[int, int]:
        return parse_vertex(self._names.action_name(action), self._offer.size)
