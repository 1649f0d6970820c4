"""The referee of one game: asks the two seats for their moves in turn, checks every answer and names how the game ended.

A game is undecided if the machine was so busy that nobody can tell whether an answer was late. It is then played again from
its first move, with the same seed and opening, at most REPEATS times.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from arena.engine.engine_process import EngineFailure, GameOffer
from arena.engine.protocols import open_engine
from arena.engine.stopwatch import Spent
from arena.match.setup import GameTask
from arena.rules import OPEN, Action, IllegalAction, Position, Termination, to_line

REPEATS = 2
REFUSED_CAP = 200


@dataclass(frozen=True)
class GameRecord:
    """What happened in one game. Agents are numbered 0 and 1 as in the match; in a single game, agent 0 is black.

    Attributes:
        index: number of the game in its match, from 0.
        black: the agent that played black, which received `0` as its side.
        winner: the agent that won, or None for a draw or an undecided game.
        termination: why the game ended.
        faulty: the agent that lost by a fault, or None.
        detail: a description of the fault, or of why the game could not be decided; otherwise empty.
        moves: all actions as (x, y), with the swap as (-1, -1), starting with black's first stone.
        move_s: wall-clock seconds of each action, including one that was a fault.
        move_cpu_s: CPU seconds of each action, over all processes of the engine; zeros if the system does not report CPU time.
        withheld_s: for each action, the part of `move_s` in which the engine wanted a core that other programs had.
        names: the names by which the agents introduced themselves.
        seed: the game's seed.
        opening: the first stone that was offered to the engines, or None.
        size: rows and columns of the board.
        swapped: whether white swapped.
        seconds: wall-clock seconds of the whole game.
        repeats: how many earlier attempts at this game could not be decided.
        refused: the beginning of the answer that lost the game, which is not part of `moves`; otherwise empty.
    """

    index: int
    black: int
    winner: int | None
    termination: Termination
    faulty: int | None
    detail: str
    moves: tuple[Action, ...]
    move_s: tuple[float, ...]
    move_cpu_s: tuple[float, ...]
    withheld_s: tuple[float, ...]
    names: tuple[str, str]
    seed: int | None
    opening: Action | None
    size: int
    swapped: bool
    seconds: float
    repeats: int = 0
    refused: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether the game counts as a win, a loss or a draw."""
        return self.termination != Termination.UNDECIDED

    def to_json(self) -> dict[str, Any]:
        """Return plain values; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> GameRecord:
        """Make the record from plain values; the inverse of `to_json`.

        Raises:
            TypeError, KeyError, ValueError: the values are not those of a record.
        """
        return cls(
            **{
                **data,
                "termination": Termination(data["termination"]),
                "moves": tuple((int(x), int(y)) for x, y in data["moves"]),
                "move_s": tuple(float(s) for s in data["move_s"]),
                "move_cpu_s": tuple(float(s) for s in data["move_cpu_s"]),
                "withheld_s": tuple(float(s) for s in data["withheld_s"]),
                "opening": None if data["opening"] is None else (int(data["opening"][0]), int(data["opening"][1])),
                "names": (str(data["names"][0]), str(data["names"][1])),
            }
        )


@dataclass(frozen=True)
class GameEnd:
    """How a game ended, with seats instead of agents.

    Attributes:
        termination: why it ended.
        winner: the seat that won, or None.
        faulty: the seat that lost by a fault, or None.
        detail, refused: see GameRecord.
    """

    termination: Termination
    winner: int | None = None
    faulty: int | None = None
    detail: str = ""
    refused: str = ""


class SeatFault(Exception):
    """Raised when a seat's answer ends the game: it was a fault or, if UNDECIDED, nobody can tell whether it was late."""

    def __init__(self, seat: int, termination: Termination, sentence: str, refused: str = "") -> None:
        super().__init__(sentence)
        self.seat, self.termination, self.refused = seat, termination, refused.strip()[:REFUSED_CAP]

    @property
    def end(self) -> GameEnd:
        """How the game ends because of this: the other seat wins or, if UNDECIDED, nobody does."""
        if self.termination == Termination.UNDECIDED:
            return GameEnd(self.termination, detail=f"{('black', 'white')[self.seat]} {self}", refused=self.refused)
        return GameEnd(self.termination, 1 - self.seat, self.seat, str(self), self.refused)


def seat_seed(seed: int, seat: int) -> int:
    """Return a seat's GOMOKU_SEED. The seed of one seat does not reveal the seed of the other."""
    return random.Random(f"{seed}:{seat}").randrange(2**31)


def play_game(
    task: GameTask,
    *,
    on_action: Callable[[Position, Action], None] | None = None,
    stopping: threading.Event | None = None,
) -> GameRecord:
    """Play one game between two engines, and play it again if it is undecided.

    Args:
        task: the game.
        on_action: receives the position after each action, and the action.
        stopping: when set, the game ends with MatchStopped and without a record.
    """
    for repeats in range(REPEATS + 1):
        record = replace(_Game(task, on_action, stopping).play(), repeats=repeats)
        if record.is_decided:
            break
    return record


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
        names = (self._engines[0].name, self._engines[1].name)
        return GameRecord(
            index=task.index,
            black=task.black_agent,
            winner=self._agent(end.winner),
            termination=end.termination,
            faulty=self._agent(end.faulty),
            detail=end.detail,
            moves=tuple(position.actions),
            move_s=tuple(round(spent.wall_s, 4) for spent in self._spent),
            move_cpu_s=tuple(round(spent.cpu_s, 4) for spent in self._spent),
            withheld_s=tuple(round(spent.withheld_s, 4) for spent in self._spent),
            names=names if task.black_agent == 0 else (names[1], names[0]),
            seed=task.seed,
            opening=task.opening,
            size=position.size,
            swapped=position.swapped,
            seconds=round(seconds, 3),
            refused=end.refused,
        )

    def _agent(self, seat: int | None) -> int | None:
        """Return the agent in a seat; None for None."""
        return None if seat is None else (seat + self._task.black_agent) % 2
