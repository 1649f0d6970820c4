"""The referee of one game: asks the two seats for their moves in turn, checks every answer and names how the game ended.

This module referees Gomoku; a game of games/ goes to `arena.match.board_referee`.

A game is undecided if the machine was so busy that nobody can tell whether an answer was late. It is then played again from
its first move, with the same seed and opening, at most REPEATS times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from arena.engine.engine_process import EngineFailure, GameOffer
from arena.engine.protocols import open_engine
from arena.engine.stopwatch import Spent
from arena.match.game_record import GameEnd, GameRecord, SeatFault, seat_seed
from arena.match.setup import GameTask
from arena.rules import OPEN, Action, IllegalAction, Position, Termination, to_line

REPEATS = 2


def play_game(
    task: GameTask,
    *,
    on_action: Callable[[Position, Action], None] | None = None,
    stopping: threading.Event | None = None,
) -> GameRecord:
    """Play one game between two engines, and play it again if it is undecided.

    Args:
        task: the game.
        on_action: receives the position after each action, and the action; only in Gomoku.
        stopping: when set, the game ends with MatchStopped and without a record.
    """
    for repeats in range(REPEATS + 1):
        game = _Game(task, on_action, stopping).play() if task.game is None else _play_board_game(task, stopping)
        record = replace(game, repeats=repeats)
        if record.is_decided:
            break
    return record


def _play_board_game(task: GameTask, stopping: threading.Event | None) -> GameRecord:
    # Imported late, as the rules in `arena.match.board_game`.
    from arena.match.board_referee import play_board_game

    return play_board_game(task, stopping)


class _Game:
    """One attempt at a game; see `play_game`."""

    def __init__(
        self,
        task: GameTask,
        on_action: Callable[[Position, Action], None] | None,
        stopping: threading.Event | None,
    ) -> None:
        self._task, self._on_action = task, on_action
        self._position = Position(size=task.size, free_opening=task.free_opening)
        self._spent: list[Spent] = []
        self._engines = []
        for seat, spec in enumerate((task.black, task.white)):
            seed = None if task.seed is None else seat_seed(task.seed, seat)
            self._engines.append(open_engine(spec, task.limits, GameOffer(seed, task.opening, task.size), stopping))

    def play(self) -> GameRecord:
        """Play to the end. Whatever happens, the engines are closed."""
        started_s = time.monotonic()
        try:
            end = self._play_to_end()
        finally:
            for engine in self._engines:
                engine.close()
        return self._record(end, time.monotonic() - started_s)

    def _play_to_end(self) -> GameEnd:
        try:
            self._start_engines()
            self._play_actions()
        except SeatFault as fault:
            return fault.end
        winner = self._position.winner
        return GameEnd(Termination.DRAW) if winner is None else GameEnd(Termination.FIVE, winner)

    def _start_engines(self) -> None:
        for seat, engine in enumerate(self._engines):
            try:
                engine.start(seat)
            except EngineFailure as failure:
                raise SeatFault(seat, failure.termination, str(failure)) from failure

    def _play_actions(self) -> None:
        position, action = self._position, OPEN
        while not position.is_over:
            seat = position.turn
            engine = self._engines[seat]
            try:
                action = engine.ask(action)
                position.play(action)
            except EngineFailure as failure:
                raise SeatFault(seat, failure.termination, str(failure), failure.answer) from failure
            except IllegalAction as fault:
                raise SeatFault(seat, fault.termination, str(fault), to_line(action)) from fault
            finally:
                self._spent.append(engine.spent)
            if self._on_action is not None:
                self._on_action(position, action)

    def _record(self, end: GameEnd, seconds: float) -> GameRecord:
        task, position = self._task, self._position
        return GameRecord.of(
            task,
            end,
            position.actions,
            self._spent,
            names=(self._engines[0].name, self._engines[1].name),
            seconds=seconds,
            swapped=position.swapped,
        )
