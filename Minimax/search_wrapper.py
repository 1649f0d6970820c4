"""A built C++ engine as a player at a `Board`, so that one can play against it: `python human_play.py --player minimax`.

The engine speaks the line protocol and believes to be in a match. The board's moves are told to it one by one, and where it
swaps as white, the board swaps: every stone changes its colour and black is to move. The human has no swap.
"""

from __future__ import annotations

import threading
from typing import Any

from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, Limits, MatchStopped
from arena.engine.protocols import open_engine
from arena.match.rules import FIVE, SIZE, SWAP

Board = Any


class EngineError(RuntimeError):
    """The engine did not play by the protocol; one sentence."""


class EnginePlayer:
    """A player whose moves are an engine's.

    A game is known by its first turn, on a board with no stone (the engine is black) or one (it is white). The board is
    15x15 with five in a row.

    Args:
        spec: how the engine is started.
        move_s: seconds for an answer.
    """

    def __init__(self, spec: EngineSpec, move_s: float = 5.0) -> None:
        self.spec = spec
        self.limits = Limits(move_s=move_s)
        self.player: int | None = None
        self._stopping = threading.Event()
        self._engine: EngineProcess | None = None

    def set_player_ind(self, p: int) -> None:
        self.player = p

    def reset_player(self) -> None:
        """End the engine, also in the middle of a thought; the next game starts it anew."""
        engine, self._engine = self._engine, None
        self._stopping.set()
        if engine is not None:
            engine.close()

    def get_action(self, board: Board, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[Any, None]:
        """The engine's answer to the board's last move.

        Returns:
            (move, None), or (board.SWAP, None) if the engine swaps.

        Raises:
            EngineError: the engine did not answer by the protocol.
            ValueError: the board is another than the engine's, or the game was not begun with this player.
        """
        if (board.width, board.height, board.n_in_row) != (SIZE, SIZE, FIVE):
            raise ValueError(
                f"expected a {SIZE}x{SIZE} board with {FIVE} in a row; got {board.width}x{board.height} with {board.n_in_row}"
            )
        try:
            if len(board.states) < 2:
                self._start(side=len(board.states))
            if self._engine is None:
                raise ValueError("expected to be asked from the first move on")
            last = SWAP if board.last_move == -1 else (board.last_move % SIZE, board.last_move // SIZE)
            answer = self._engine.ask(last)
        except EngineFailure as failure:
            raise EngineError(f"the engine {self.spec.path} {failure} ({failure.termination.value})") from failure
        except MatchStopped:
            raise EngineError(f"the engine {self.spec.path} was ended") from None
        if answer == SWAP:
            return board.SWAP, None
        x, y = answer
        move = board.location_to_move([y, x])
        if move not in board.availables:
            raise EngineError(f'the engine {self.spec.path} answered "{x} {y}", which is no empty point')
        return move, None

    def _start(self, side: int) -> None:
        self.reset_player()
        self._stopping = threading.Event()
        self._engine = open_engine(self.spec, self.limits, stopping=self._stopping)
        self._engine.start(side)
