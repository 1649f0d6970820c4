"""A compiled C++ engine as a player on a `Board`: `python human_play.py --player minimax` lets you play against it.

The engine speaks the line protocol, as in a match, and receives the opponent's moves one by one. If the engine swaps as white,
`swap_colours` is called on the board: every stone changes colour and black is to move. The human cannot swap.
"""

from __future__ import annotations

import threading
from typing import Any

from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, Limits, MatchStopped
from arena.engine.protocols import open_engine
from arena.rules import FIVE, SIZE, SWAP

Board = Any


class EngineError(RuntimeError):
    """Raised when the engine breaks the protocol; the message is one sentence."""


class EnginePlayer:
    """A player that gets its moves from an engine.

    The player recognises a new game by the number of stones at its first turn: none if the engine is black, one if it is
    white. The board must be 15x15 with five in a row.

    Args:
        spec: how to start the engine.
        move_s: the number of seconds that the engine has for each move.
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
        """End the engine, even if it is searching; the next game starts it again."""
        engine, self._engine = self._engine, None
        self._stopping.set()
        if engine is not None:
            engine.close()

    def get_action(self, board: Board, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[Any, None]:
        """Get the engine's answer to the last move on the board.

        Returns:
            (move, None), or (board.SWAP, None) if the engine swaps.

        Raises:
            EngineError: the engine broke the protocol.
            ValueError: the engine cannot play on this board, or this player did not play the game from the start.
        """
        if (board.width, board.height, board.n_in_row) != (SIZE, SIZE, FIVE):
            raise ValueError(
                f"expected a {SIZE}x{SIZE} board with {FIVE} in a row; got {board.width}x{board.height} with {board.n_in_row}"
            )
        try:
            if len(board.states) < 2:
                self._start(side=len(board.states))
            if self._engine is None:
                raise ValueError("expected to play from the first move; the game was already in progress")
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
            raise EngineError(f'the engine {self.spec.path} answered "{x} {y}", which is not an empty point')
        return move, None

    def _start(self, side: int) -> None:
        self.reset_player()
        self._stopping = threading.Event()
        self._engine = open_engine(self.spec, self.limits, stopping=self._stopping)
        self._engine.start(side)
