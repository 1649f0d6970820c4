"""An engine as a player on a `Board`: `python human_play.py --white minimax:PROGRAM` lets you play against it.

The engine speaks the line protocol, as in a match, and receives the opponent's moves and swap one by one. If a side swaps as
white, `swap_colours` is called on the board: every stone changes colour and black is to move.

If the position does not continue the engine's game, because moves were taken back or a game was opened, the engine is started
again with the position (GOMOKU_POSITION). An engine that does not take positions can only play from the first move.
"""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import Any

from arena.engine.engine_process import EngineFailure, EngineProcess, EngineSpec, GameOffer, Limits, MatchStopped
from arena.engine.protocols import open_engine
from arena.rules import FIVE, LARGEST_SIZE, SIZE, SWAP, SWAP_PLY, Action
from common.player_faults import PlayerFault

Board = Any
PRINCIPAL_LINE = re.compile(r"\bpv((?:\s+\d{1,2},\d{1,2})+)")


class EngineError(PlayerFault):
    """Raised when the engine breaks the protocol; the message is one sentence."""


class EnginePlayer:
    """A player that gets its moves from an engine.

    The board must have five in a row, and 15x15 points unless the engine can play on other square boards.

    Args:
        spec: how to start the engine.
        move_s: the number of seconds that the engine has for each move.

    Attributes:
        follows_swaps: true, since the engine is told of a swap as of any move: a session does not reset the player after one.
    """

    follows_swaps = True

    def __init__(self, spec: EngineSpec, move_s: float = 5.0) -> None:
        self.spec = replace(spec, env={"GOMOKU_REPORT": "1", **spec.env})
        self.limits = Limits(move_s=move_s)
        self.player: int | None = None
        self._stopping = threading.Event()
        self._engine: EngineProcess | None = None
        self._known: dict[int, int] = {}  # the stones after the engine's last answer

    def set_player_ind(self, p: int) -> None:
        self.player = p

    def report(self) -> tuple[str, tuple[Action, ...]]:
        """Return the engine's last line about its present or latest search, and the points x,y that stand in it after `pv`.

        Both are empty if the engine says nothing. This may be called while `get_action` runs in another thread.
        """
        engine = self._engine
        words = engine.report() if engine is not None else ""
        found = PRINCIPAL_LINE.search(words)
        points = [point.split(",") for point in found[1].split()] if found else []
        return words, tuple((int(x), int(y)) for x, y in points)

    def cancel(self) -> None:
        """Make `get_action`, which runs in another thread, end at once with an EngineError."""
        self._stopping.set()

    def reset_player(self) -> None:
        """End the engine, even if it is searching; the next move starts it again."""
        engine, self._engine = self._engine, None
        self._stopping.set()
        if engine is not None:
            engine.close()

    def try_board(self, width: int, height: int, n_in_row: int) -> None:
        """Start the engine on an empty board of this size and end it, so that what it refuses is known before a game.

        Raises:
            EngineError: the engine does not start, or cannot play on this board.
        """
        try:
            self._require_board(width, height, n_in_row)
            with open_engine(self.spec, self.limits, GameOffer(size=width)) as engine:
                engine.start(side=0)
        except ValueError as error:
            raise EngineError(str(error)) from None
        except EngineFailure as failure:
            raise EngineError(f"the engine {self.spec.path} {failure} ({failure.termination.value})") from failure

    def _require_board(self, width: int, height: int, n_in_row: int) -> None:
        if height != width or n_in_row != FIVE or not FIVE <= width <= LARGEST_SIZE:
            raise ValueError(f"expected a square board with {FIVE} in a row; got {width}x{height} with {n_in_row}")
        if width != SIZE and not self.spec.any_size:
            raise ValueError(
                f"expected a {SIZE}x{SIZE} board, the only one that {self.spec.path} can play on; got {width}x{width}"
            )

    def get_action(self, board: Board, is_selfplay: bool = False, print_probs_value: bool = False) -> tuple[Any, None]:
        """Get the engine's answer to the last move on the board.

        Returns:
            (move, None), or (board.SWAP, None) if the engine swaps.

        Raises:
            EngineError: the engine broke the protocol, or cannot begin in the middle of a game.
            ValueError: the engine cannot play on this board.
        """
        self._require_board(board.width, board.height, board.n_in_row)
        try:
            return self._answer(board), None
        except EngineError:
            self.reset_player()  # it does not know what is on the board, or may answer late
            raise

    def _answer(self, board: Board) -> Any:
        """Return the engine's move or board.SWAP.

        Raises:
            EngineError: see `get_action`.
        """
        try:
            question = self._question(board)
            if question is None:
                question = self._start(board)
            assert self._engine is not None
            answer = self._engine.ask(question)
            self._engine.standard_error()  # reads what an engine has said just before its answer
        except EngineFailure as failure:
            raise EngineError(f"the engine {self.spec.path} {failure} ({failure.termination.value})") from failure
        except MatchStopped:
            raise EngineError(f"the engine {self.spec.path} was ended") from None
        mover = board.get_current_player()
        if answer == SWAP:
            self._known = _others(board, board.states)
            return board.SWAP
        x, y = answer
        move = board.location_to_move([y, x])
        if move not in board.availables:
            raise EngineError(f'the engine {self.spec.path} answered "{x} {y}", which is not an empty point')
        self._known = {**board.states, move: mover}
        return move

    def _question(self, board: Board) -> Action | None:
        """Return what to send to the running engine; None if it has to be started for this position."""
        if self._engine is None or self._stopping.is_set() or not self._known:
            return None
        if board.states == _others(board, self._known):
            return SWAP
        before = dict(board.states)
        before.pop(board.last_move, None)
        return _point(board.last_move, board.width) if before == self._known else None

    def _start(self, board: Board) -> Action:
        """Start the engine for this position, and return the first question."""
        moves = [*board.states]
        first = board.states[moves[0]] if moves else board.current_player
        second = next(player for player in board.players if player != first)
        owners = [first if ply % 2 == 0 else second for ply in range(len(moves))]
        self.reset_player()
        if list(board.states.values()) != owners:
            raise EngineError(f"the engine {self.spec.path} cannot begin in a game in which the colours were swapped")
        position = tuple(_point(move, board.width) for move in moves[:-1])
        # After a swap, player 2 owns the first stone, and the engine must not swap again. If player 2 began, it need not.
        never_swaps = len(moves) >= SWAP_PLY - 1 and first != board.players[0]
        spec = replace(self.spec, env={**self.spec.env, "GOMOKU_NO_SWAP": "1"}) if never_swaps else self.spec
        self._stopping = threading.Event()
        self._known = {}
        self._engine = open_engine(spec, self.limits, GameOffer(size=board.width, position=position), self._stopping)
        self._engine.start(side=len(moves) % 2)
        if position and not self._engine.took_position:
            raise EngineError(
                f"the engine {self.spec.path} cannot start from a position (handout section 4.4), only from the first move"
            )
        return _point(moves[-1], board.width) if moves else SWAP


def _point(move: int, width: int) -> Action:
    return move % width, move // width


def _others(board: Board, stones: dict[int, int]) -> dict[int, int]:
    """Return the stones in the other player's colour."""
    return {move: sum(board.players) - player for move, player in stones.items()}
